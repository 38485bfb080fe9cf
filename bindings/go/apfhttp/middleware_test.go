package apfhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apf "apf.invalid/bindings/go"
	"apf.invalid/bindings/go/apfhttp"
)

const oneSeat = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: test}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 1
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 1}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: everything}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: test}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: User, user: {name: "*"}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"]}]
    nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
`

func dispatcher(t *testing.T) *apf.Dispatcher {
	t.Helper()
	d, err := apf.New(apf.Options{Seats: 6, Config: apf.Config{Text: oneSeat, MandatoryOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func alice(*http.Request) (string, []string, bool) {
	return "alice", []string{"system:authenticated"}, true
}

func uids(schema, level string) (string, string) { return "uid-of-" + schema, "uid-of-" + level }

func free(t *testing.T, d *apf.Dispatcher) {
	t.Helper()
	stats, err := d.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if l := stats.Level("test"); l.SeatsInUse != 0 || l.RequestsWaiting != 0 || l.RequestsExecuting != 0 {
		t.Errorf("%d seats in use, %d executing, %d waiting", l.SeatsInUse, l.RequestsExecuting, l.RequestsWaiting)
	}
}

func seatsInUse(t *testing.T, d *apf.Dispatcher) uint64 {
	t.Helper()
	stats, err := d.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats.Level("test").SeatsInUse
}

func do(t *testing.T, handler http.Handler, method, target string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, nil))
	return w.Result()
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnAdmittedRequestHoldsItsSeatUntilTheHandlerReturns(t *testing.T) {
	d := dispatcher(t)
	handler := apfhttp.New(apfhttp.Options{Dispatcher: d, User: alice, UIDs: uids})(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			permit := apfhttp.Permit(r.Context())
			if permit.Level() != "test" || seatsInUse(t, d) != 1 {
				t.Errorf("level %q, %d seats in use", permit.Level(), seatsInUse(t, d))
			}
			apfhttp.WatchInitialized(r.Context()) // of no effect
			if seatsInUse(t, d) != 1 {
				t.Error("a request that is no watch has given its seat back")
			}
			w.WriteHeader(http.StatusTeapot)
		}))
	response := do(t, handler, "GET", "/api/v1/namespaces/dev/pods/p")
	if response.StatusCode != http.StatusTeapot || response.Header.Get(apfhttp.FlowSchemaUIDHeader) != "uid-of-everything" ||
		response.Header.Get(apfhttp.PriorityLevelUIDHeader) != "uid-of-test" {
		t.Errorf("got %d %v", response.StatusCode, response.Header)
	}
	free(t, d)
}

func TestARefusalLooksAsKubeApiservers(t *testing.T) {
	d := dispatcher(t)
	var served bool
	handler := apfhttp.New(apfhttp.Options{Dispatcher: d, User: alice, UIDs: uids, RequestTimeout: 40 * time.Millisecond})(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
	held, err := d.Acquire(t.Context(), &apf.Request{User: "bob", Verb: "get", Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	response := do(t, handler, "GET", "/api/v1/pods") // waits for a quarter of its time
	if waited := time.Since(begun); waited < 10*time.Millisecond {
		t.Errorf("waited for %v", waited)
	}
	if served || response.StatusCode != 429 || body(t, response) != "Too many requests, please try again later.\n" ||
		response.Header.Get("Retry-After") != "1" || response.Header.Get("X-Content-Type-Options") != "nosniff" ||
		response.Header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		response.Header.Get(apfhttp.FlowSchemaUIDHeader) != "uid-of-everything" {
		t.Errorf("got %d %v", response.StatusCode, response.Header)
	}
	if response := do(t, handler, "GET", "/api/v1/pods?timeout=soon"); response.StatusCode != 400 {
		t.Errorf("got %d", response.StatusCode)
	}
	// A deadline that has nearly come leaves a quarter of its rest.
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/api/v1/pods", nil))
	if w.Code != 429 || ctx.Err() != nil {
		t.Errorf("got %d, context %v", w.Code, ctx.Err())
	}
	held.Release()
	free(t, d)
}

func TestAPanicGoesOnAndTheSeatComesBack(t *testing.T) {
	d := dispatcher(t)
	handler := apfhttp.New(apfhttp.Options{Dispatcher: d, User: alice})(http.HandlerFunc(
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	for range 100 {
		func() {
			defer func() {
				if reason := recover(); reason != http.ErrAbortHandler {
					t.Errorf("got %v", reason)
				}
			}()
			do(t, handler, "GET", "/x")
		}()
	}
	free(t, d)
}

func TestAWatchGivesItsSeatBackWhenItIsInitialized(t *testing.T) {
	d := dispatcher(t)
	var inside int
	handler := apfhttp.New(apfhttp.Options{Dispatcher: d, User: alice})(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			inside++
			if seatsInUse(t, d) != 1 {
				t.Errorf("%d seats in use", seatsInUse(t, d))
			}
			apfhttp.WatchInitialized(r.Context())
			apfhttp.WatchInitialized(r.Context())
			if seatsInUse(t, d) != 0 {
				t.Errorf("%d seats in use", seatsInUse(t, d))
			}
		}))
	do(t, handler, "GET", "/api/v1/pods?watch=1")
	do(t, handler, "GET", "/api/v1/watch/pods")
	if inside != 2 {
		t.Errorf("%d watches", inside)
	}
	free(t, d)
}

func TestLongRunningRequestsPassBy(t *testing.T) {
	d := dispatcher(t)
	held, err := d.Acquire(t.Context(), &apf.Request{User: "bob", Verb: "get", Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	var served int
	handler := apfhttp.New(apfhttp.Options{Dispatcher: d, User: alice})(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			served++
			if apfhttp.Permit(r.Context()) != nil {
				t.Error("it has a permit")
			}
		}))
	for _, target := range []string{
		"/api/v1/namespaces/dev/pods/p/exec", "/api/v1/namespaces/dev/pods/p/log", "/api/v1/proxy/nodes/n", "/debug/pprof/heap",
	} {
		if response := do(t, handler, "GET", target); response.Header.Values(apfhttp.FlowSchemaUIDHeader) != nil {
			t.Errorf("%s has UIDs", target)
		}
	}
	if served != 4 {
		t.Errorf("%d served", served)
	}
}

func TestWhatCannotBeClassifiedIsAServersError(t *testing.T) {
	d := dispatcher(t)
	nobody := func(*http.Request) (string, []string, bool) { return "", nil, false }
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") })
	for target, user := range map[string]func(*http.Request) (string, []string, bool){
		"/api/v1/pods?x=1": nobody, "/api/v1/watch": alice,
	} {
		response := do(t, apfhttp.New(apfhttp.Options{Dispatcher: d, User: user})(next), "GET", target)
		if response.StatusCode != 500 || body(t, response) != "Internal Server Error: \""+target+"\"\n" {
			t.Errorf("got %d", response.StatusCode)
		}
	}
	d.Close()
	if response := do(t, apfhttp.New(apfhttp.Options{Dispatcher: d, User: alice})(next), "GET", "/x"); response.StatusCode != 503 {
		t.Errorf("got %d", response.StatusCode)
	}
}

func TestRequestInfo(t *testing.T) {
	for _, c := range []struct {
		method, target string
		want           apfhttp.RequestInfo
	}{
		{"GET", "/healthz", apfhttp.RequestInfo{Verb: "get"}},
		{"HEAD", "/healthz", apfhttp.RequestInfo{Verb: "head"}},
		{"GET", "/apis/apps/v1", apfhttp.RequestInfo{Verb: "get"}},
		{"GET", "/api/v1/", apfhttp.RequestInfo{Verb: "get"}},
		{"GET", "/api/v1/nodes", apfhttp.RequestInfo{Verb: "list", Resource: "nodes"}},
		{"GET", "/api/v1/pods?watch=true", apfhttp.RequestInfo{Verb: "watch", Resource: "pods"}},
		{"GET", "/api/v1/pods?watch=0", apfhttp.RequestInfo{Verb: "list", Resource: "pods"}},
		{"GET", "/api/v1/pods?watch", apfhttp.RequestInfo{Verb: "watch", Resource: "pods"}},
		{"GET", "/api/v1/namespaces/foo", apfhttp.RequestInfo{Verb: "get", Namespace: "foo", Resource: "namespaces", Name: "foo"}},
		{"PUT", "/api/v1/namespaces/foo/finalize", apfhttp.RequestInfo{Verb: "update", Namespace: "foo", Resource: "namespaces",
			Subresource: "finalize", Name: "foo"}},
		{"POST", "/api/v1/namespaces", apfhttp.RequestInfo{Verb: "create", Resource: "namespaces"}},
		{"GET", "/api/v1/namespaces/foo/pods/p/log", apfhttp.RequestInfo{Verb: "get", Namespace: "foo", Resource: "pods",
			Subresource: "log", Name: "p"}},
		{"GET", "/api/v1/namespaces/foo/pods?fieldSelector=metadata.name=p", apfhttp.RequestInfo{Verb: "list", Namespace: "foo",
			Resource: "pods", Name: "p"}},
		{"DELETE", "/apis/apps/v1/namespaces/foo/deployments", apfhttp.RequestInfo{Verb: "deletecollection", APIGroup: "apps",
			Namespace: "foo", Resource: "deployments"}},
		{"GET", "/api/v1/watch/namespaces/foo/pods", apfhttp.RequestInfo{Verb: "watch", Namespace: "foo", Resource: "pods"}},
		{"HEAD", "/api/v1/namespaces/foo/pods/p", apfhttp.RequestInfo{Verb: "get", Namespace: "foo", Resource: "pods", Name: "p"}},
		{"OPTIONS", "/api/v1/pods", apfhttp.RequestInfo{Verb: "", Resource: "pods"}},
		{"GET", "/api/v1/proxy/nodes/n/x", apfhttp.RequestInfo{Verb: "proxy", Resource: "nodes", Name: "n"}},
	} {
		r := httptest.NewRequest(c.method, c.target, nil)
		got, err := apfhttp.NewRequestInfo(r)
		if err != nil {
			t.Errorf("%s %s: %v", c.method, c.target, err)
			continue
		}
		want := c.want
		want.Path = r.URL.Path
		if want.Resource != "" {
			want.IsResourceRequest, want.APIVersion = true, "v1"
		}
		if *got != want {
			t.Errorf("%s %s:\ngot  %+v\nwant %+v", c.method, c.target, *got, want)
		}
	}
}

func TestAClientThatGoesGivesItsPlaceUp(t *testing.T) {
	d := dispatcher(t)
	held, err := d.Acquire(t.Context(), &apf.Request{User: "bob", Verb: "get", Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(apfhttp.New(apfhttp.Options{Dispatcher: d, User: alice})(http.HandlerFunc(
		func(http.ResponseWriter, *http.Request) { t.Error("served") })))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		request, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/x", nil)
		if err == nil {
			_, err = http.DefaultClient.Do(request)
		}
		done <- err
	}()
	waiting := func() uint64 {
		stats, err := d.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return stats.Level("test").RequestsWaiting
	}
	for waiting() != 1 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("no error")
	}
	for waiting() != 0 {
		time.Sleep(time.Millisecond)
	}
	held.Release()
	free(t, d)
}
