package apfhttp

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apf "apf.invalid/bindings/go"
)

// RequestInfo is what an HTTP request asks for, by its method and URL, as kube-apiserver derives it.
type RequestInfo struct {
	// IsResourceRequest: it is for an API resource. Otherwise only Path and Verb are set.
	IsResourceRequest bool
	// Path is that of the URL, decoded.
	Path string
	// Verb is the API's for a resource ("list"), else the HTTP method in lower case.
	Verb                                                         string
	APIGroup, APIVersion, Namespace, Resource, Subresource, Name string
}

// NewRequestInfo derives the info from a request. It is an error when the path ends right after /proxy or /watch.
func NewRequestInfo(r *http.Request) (*RequestInfo, error) {
	info := &RequestInfo{Path: strings.ToValidUTF8(r.URL.Path, "\uFFFD"), Verb: strings.ToLower(r.Method)}
	segments := strings.Split(strings.Trim(info.Path, "/"), "/")
	switch {
	case len(segments) >= 3 && segments[0] == "api":
		segments = segments[1:]
	case len(segments) >= 4 && segments[0] == "apis":
		info.APIGroup = segments[1]
		segments = segments[2:]
	default:
		return info, nil
	}
	info.IsResourceRequest = true
	info.APIVersion, segments = segments[0], segments[1:]

	if verb := segments[0]; verb == "proxy" || verb == "watch" {
		if segments = segments[1:]; len(segments) == 0 {
			return nil, fmt.Errorf("apfhttp: no resource follows the verb in the path %q", r.URL.Path)
		}
		info.Verb = verb
	} else {
		info.Verb = verbOf(r.Method)
	}
	if segments[0] == "namespaces" && len(segments) > 1 {
		info.Namespace = segments[1]
		if len(segments) > 2 && segments[2] != "status" && segments[2] != "finalize" {
			segments = segments[2:]
		}
	}
	info.Resource = segments[0]
	if len(segments) > 1 {
		info.Name = segments[1]
	}
	if len(segments) > 2 && info.Verb != "proxy" {
		info.Subresource = segments[2]
	}
	if info.Name == "" {
		switch info.Verb {
		case "get":
			info.readListOptions(r.URL.Query())
		case "delete":
			info.Verb = "deletecollection"
		}
	}
	return info, nil
}

func verbOf(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodGet, http.MethodHead:
		return "get"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

func (info *RequestInfo) readListOptions(query url.Values) {
	info.Verb = "list"
	// As the API's conversion reads a truth value: anything but false and 0, also nothing.
	if watch, found := query["watch"]; found && len(watch) > 0 && !strings.EqualFold(watch[0], "false") && watch[0] != "0" {
		info.Verb = "watch"
	}
	for _, selector := range strings.Split(query.Get("fieldSelector"), ",") {
		name, found := strings.CutPrefix(selector, "metadata.name=")
		name = strings.TrimPrefix(name, "=")
		if found && name != "" && name != "." && name != ".." && !strings.ContainsAny(name, `/%\`) {
			info.Name = name
		}
	}
}

// request is the info as the dispatcher takes it.
func (info *RequestInfo) request(user string, groups []string) apf.Request {
	request := apf.Request{User: user, Groups: groups, Verb: info.Verb}
	if !info.IsResourceRequest {
		request.Path = info.Path
		return request
	}
	request.APIGroup, request.APIVersion, request.Namespace = info.APIGroup, info.APIVersion, info.Namespace
	request.Resource, request.Subresource, request.Name = info.Resource, info.Subresource, info.Name
	return request
}

// LongRunning is kube-apiserver's answer to which requests are long-running: watches and proxied requests; exec, attach,
// port-forward, proxy and log of a resource; profiles.
func LongRunning(_ *http.Request, info *RequestInfo) bool {
	if !info.IsResourceRequest {
		return strings.HasPrefix(info.Path, "/debug/pprof/")
	}
	switch info.Verb {
	case "watch", "proxy":
		return true
	}
	switch info.Subresource {
	case "attach", "exec", "proxy", "log", "portforward":
		return true
	}
	return false
}
