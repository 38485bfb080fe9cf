// Package apfhttp puts priority and fairness before the handlers of a net/http server, as kube-apiserver's filter does.
//
//	handler = apfhttp.New(apfhttp.Options{Dispatcher: dispatcher, User: userOf})(handler)
//
// It belongs behind authentication, and before whatever the handlers share. A request holds its seats until its handler
// returns, also by a panic, which goes on. A watch holds them until [WatchInitialized]. Other long-running requests pass
// by without being admitted.
package apfhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apf "apf.invalid/bindings/go"
)

// Names of the headers that every admitted and every refused request has.
const (
	FlowSchemaUIDHeader    = "X-Kubernetes-PF-FlowSchema-UID"
	PriorityLevelUIDHeader = "X-Kubernetes-PF-PriorityLevel-UID"
)

const longestWait = time.Minute

// Options say how requests are admitted. Dispatcher and User are needed.
type Options struct {
	Dispatcher *apf.Dispatcher

	// User says who asks, after authentication and impersonation. A request without a user is answered 500, for there is
	// nothing to classify by.
	User func(*http.Request) (name string, groups []string, ok bool)

	// Info says what is asked for; nil means NewRequestInfo. An error is answered 500.
	Info func(*http.Request) (*RequestInfo, error)

	// Cost says how many seats a request takes; nil means one. Its WaitLimit does not count.
	Cost func(*http.Request, *RequestInfo) apf.Cost

	// LongRunning says which requests are, nil means the function LongRunning. Those but watches are not admitted.
	LongRunning func(*http.Request, *RequestInfo) bool

	// UIDs are those of a FlowSchema and a level, for the headers; nil means empty ones, as of objects that are only imagined.
	UIDs func(flowSchema, priorityLevel string) (schemaUID, levelUID string)

	// RequestTimeout is how long a request may take; 0 means 60 s. It may wait for a quarter of it, or of what its own
	// deadline or its parameter `timeout` leaves, but not for more than a minute. The middleware does not enforce it.
	RequestTimeout time.Duration

	// Received is when the request came; nil means that it has just come.
	Received func(*http.Request) time.Time
}

type middleware struct {
	Options
	next http.Handler
}

// New makes the middleware.
func New(options Options) func(http.Handler) http.Handler {
	if options.Info == nil {
		options.Info = NewRequestInfo
	}
	if options.LongRunning == nil {
		options.LongRunning = LongRunning
	}
	if options.RequestTimeout == 0 {
		options.RequestTimeout = time.Minute
	}
	return func(next http.Handler) http.Handler { return &middleware{options, next} }
}

// ServeHTTP admits the request and serves it.
func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, err := m.Info(r)
	if err != nil || info == nil {
		internalError(w, r)
		return
	}
	user, groups, ok := m.User(r)
	if !ok {
		internalError(w, r)
		return
	}
	isWatch := info.Verb == "watch"
	if !isWatch && m.LongRunning(r, info) {
		m.next.ServeHTTP(w, r)
		return
	}
	limit, err := m.waitLimit(r, isWatch)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := info.request(user, groups)
	if m.Cost != nil {
		request.Cost = m.Cost(r, info)
	}
	request.WaitLimit = limit
	permit, err := m.Dispatcher.Acquire(r.Context(), &request)
	if err != nil {
		m.refuse(w, r, err)
		return
	}
	defer permit.Release()
	m.setUIDs(w, permit.FlowSchema(), permit.Level())
	m.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), admittedKey{}, admitted{permit, isWatch})))
}

// waitLimit is for how long the request may still wait: never 0, which would be no limit.
func (m *middleware) waitLimit(r *http.Request, isWatch bool) (time.Duration, error) {
	now := time.Now()
	received := now
	if m.Received != nil {
		received = m.Received(r)
	}
	limit := m.RequestTimeout / 4
	if deadline, found := r.Context().Deadline(); found {
		limit = deadline.Sub(received) / 4
	} else if !isWatch && r.URL.RawQuery != "" {
		if asked := r.URL.Query().Get("timeout"); asked != "" {
			timeout, err := time.ParseDuration(asked)
			if err != nil {
				return 0, fmt.Errorf("invalid timeout specified in the request URL: %v", err)
			}
			if timeout > 0 && timeout < m.RequestTimeout {
				limit = timeout / 4
			}
		}
	}
	left := received.Add(min(limit, longestWait)).Sub(now)
	if left <= 0 {
		return -1, nil
	}
	return left, nil
}

func (m *middleware) setUIDs(w http.ResponseWriter, flowSchema, priorityLevel string) {
	var schema, level string
	if m.UIDs != nil {
		schema, level = m.UIDs(flowSchema, priorityLevel)
	}
	w.Header().Set(FlowSchemaUIDHeader, schema)
	w.Header().Set(PriorityLevelUIDHeader, level)
}

func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, err error) {
	retryAfter := time.Second
	var rejected *apf.RejectedError
	switch {
	case errors.As(err, &rejected):
		m.setUIDs(w, rejected.FlowSchema, rejected.Level)
		retryAfter = rejected.RetryAfter
	case r.Context().Err() != nil:
		// The client has gone, or the request's own deadline has come.
	case errors.Is(err, apf.ErrClosed):
		http.Error(w, "The server is shutting down.", http.StatusServiceUnavailable)
		return
	default:
		internalError(w, r)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}

func internalError(w http.ResponseWriter, r *http.Request) {
	http.Error(w, fmt.Sprintf("Internal Server Error: %q", r.RequestURI), http.StatusInternalServerError)
}

type admittedKey struct{}

type admitted struct {
	permit  *apf.Permit
	isWatch bool
}

// WatchInitialized gives the seats of a watch back: its handler calls it when all that there is has been sent, and what is
// new follows. It may be called more than once. For other requests, and without the middleware, it does nothing.
func WatchInitialized(ctx context.Context) {
	if a, found := ctx.Value(admittedKey{}).(admitted); found && a.isWatch {
		a.permit.ReleaseEarly()
	}
}

// Permit is that of the request whose context this is, to read from; nil for one that was not admitted.
func Permit(ctx context.Context) *apf.Permit {
	a, _ := ctx.Value(admittedKey{}).(admitted)
	return a.permit
}
