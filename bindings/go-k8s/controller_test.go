package apfk8s

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/user"
	endpointfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/mux"
	fc "k8s.io/apiserver/pkg/util/flowcontrol"
	fcmetrics "k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// running is a controller that reads these objects from an API.
func running(t *testing.T, seats int, objects ...runtime.Object) (*Controller, *fake.Clientset) {
	t.Helper()
	client := fake.NewSimpleClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	c, err := New(factory, seats)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	stop, ended := make(chan struct{}), make(chan error, 1)
	factory.Start(stop)
	go func() { ended <- c.Run(stop) }()
	t.Cleanup(func() {
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c, client
}

// oneLevel is a level of a user's own, which lends and borrows nothing. A queue length of 0 makes it reject.
func oneLevel(name string, shares, queueLength int32) []runtime.Object {
	response := flowcontrol.LimitResponse{Type: flowcontrol.LimitResponseTypeReject}
	if queueLength > 0 {
		response = flowcontrol.LimitResponse{Type: flowcontrol.LimitResponseTypeQueue,
			Queuing: &flowcontrol.QueuingConfiguration{Queues: 1, HandSize: 1, QueueLengthLimit: queueLength}}
	}
	zero := int32(0)
	return []runtime.Object{
		&flowcontrol.FlowSchema{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("schema-" + name)},
			Spec: flowcontrol.FlowSchemaSpec{
				MatchingPrecedence:         10,
				PriorityLevelConfiguration: flowcontrol.PriorityLevelConfigurationReference{Name: name},
				Rules: []flowcontrol.PolicyRulesWithSubjects{{
					Subjects:         []flowcontrol.Subject{{Kind: flowcontrol.SubjectKindUser, User: &flowcontrol.UserSubject{Name: name}}},
					NonResourceRules: []flowcontrol.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
					ResourceRules: []flowcontrol.ResourcePolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"},
						Resources: []string{"*"}, ClusterScope: true, Namespaces: []string{"*"}}},
				}},
			},
		},
		&flowcontrol.PriorityLevelConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("level-" + name)},
			Spec: flowcontrol.PriorityLevelConfigurationSpec{
				Type: flowcontrol.PriorityLevelEnablementLimited,
				Limited: &flowcontrol.LimitedPriorityLevelConfiguration{NominalConcurrencyShares: &shares, LendablePercent: &zero,
					BorrowingLimitPercent: &zero, LimitResponse: response},
			},
		},
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func known(t *testing.T, c *Controller, level string) {
	t.Helper()
	eventually(t, "level "+level, func() bool {
		stats, err := c.Dispatcher().Stats()
		return err == nil && stats.Level(level) != nil
	})
}

// served puts the reference's own filter, on this controller, before a handler.
func served(t *testing.T, c fc.Interface, name string, requestTimeout time.Duration, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	fcmetrics.Register()
	longRunning := filters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString("proxy"))
	infos := &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"), GrouplessAPIPrefixes: sets.NewString("api")}
	estimator := func(*http.Request, string, string) fcrequest.WorkEstimate {
		return fcrequest.WorkEstimate{InitialSeats: 1}
	}
	apf := filters.WithPriorityAndFairness(handler, longRunning, c, estimator, requestTimeout/4)
	var chain http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		apf.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), &user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}})))
	})
	chain = endpointfilters.WithRequestInfo(chain, infos)
	chain = filters.WithPanicRecovery(chain, infos)
	chain = endpointfilters.WithAuditInit(chain)
	server := httptest.NewServer(chain)
	t.Cleanup(server.Close)
	return server
}

func get(t *testing.T, url string) (*http.Response, error) {
	t.Helper()
	response, err := http.Get(url)
	if err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	return response, err
}

func inUse(t *testing.T, c *Controller, level string) (seats, waiting uint64) {
	t.Helper()
	stats, err := c.Dispatcher().Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats.Level(level).SeatsInUse, stats.Level(level).RequestsWaiting
}

func TestTheReferencesFilterExecutesAndRefuses(t *testing.T) {
	// 6 seats: catch-all has 5 of 6 shares, this level the sixth.
	c, _ := running(t, 6, oneLevel("alice", 1, 1)...)
	known(t, c, "alice")
	inside, end := make(chan struct{}, 10), make(chan struct{})
	var executing atomic.Int64
	server := served(t, c, "alice", 4*time.Second, func(w http.ResponseWriter, r *http.Request) {
		if executing.Add(1) > 1 {
			t.Error("two at a time")
		}
		inside <- struct{}{}
		<-end
		executing.Add(-1)
	})
	codes := make(chan *http.Response, 10)
	ask := func() {
		response, err := get(t, server.URL+"/api/v1/namespaces/default")
		if err != nil {
			t.Error(err)
		}
		codes <- response
	}
	go ask()
	<-inside
	go ask()
	eventually(t, "one waits", func() bool { _, waiting := inUse(t, c, "alice"); return waiting == 1 })
	ask() // its queue is full
	response := <-codes
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" ||
		response.Header.Get(flowcontrol.ResponseHeaderMatchedFlowSchemaUID) != "schema-alice" ||
		response.Header.Get(flowcontrol.ResponseHeaderMatchedPriorityLevelConfigurationUID) != "level-alice" {
		t.Errorf("got %d %v", response.StatusCode, response.Header)
	}
	end <- struct{}{}
	<-inside
	if response := <-codes; response.StatusCode != http.StatusOK {
		t.Errorf("got %d", response.StatusCode)
	}
	// The next one waits for as long as it may: a quarter of the request's time.
	begun := time.Now()
	ask()
	if response := <-codes; response.StatusCode != http.StatusTooManyRequests || time.Since(begun) < time.Second {
		t.Errorf("got %d after %v", response.StatusCode, time.Since(begun))
	}
	end <- struct{}{}
	<-codes
	stats, err := c.Dispatcher().Stats()
	if err != nil {
		t.Fatal(err)
	}
	// In exact mode a time-out counts as cancelled, as in the reference.
	if l := stats.Level("alice"); l.Dispatched != 2 || l.RejectedQueueFull != 1 || l.TimedOut+l.Cancelled != 1 || l.SeatsInUse != 0 {
		t.Errorf("got %+v", l)
	}
}

func TestTheReferencesFilterCountsAndEndsAWait(t *testing.T) {
	c, _ := running(t, 6, oneLevel("alice", 1, 10)...)
	known(t, c, "alice")
	end := make(chan struct{})
	server := served(t, c, "alice", time.Minute, func(http.ResponseWriter, *http.Request) { <-end })
	first := make(chan struct{})
	go func() {
		_, _ = get(t, server.URL+"/x")
		close(first)
	}()
	eventually(t, "one executes", func() bool { seats, _ := inUse(t, c, "alice"); return seats == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/x", nil)
		if err == nil {
			_, err = http.DefaultClient.Do(r)
		}
		gone <- err
	}()
	eventually(t, "one waits", func() bool { _, waiting := inUse(t, c, "alice"); return waiting == 1 })
	cancel()
	if err := <-gone; err == nil {
		t.Error("no error")
	}
	eventually(t, "none waits", func() bool { _, waiting := inUse(t, c, "alice"); return waiting == 0 })
	close(end)
	<-first
}

func TestTheReferencesFilterSurvivesPanics(t *testing.T) {
	c, _ := running(t, 6, oneLevel("alice", 1, 10)...)
	known(t, c, "alice")
	server := served(t, c, "alice", time.Minute, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("on purpose")
		}
	})
	for range 20 {
		if response, err := get(t, server.URL+"/panic"); err == nil && response.StatusCode != http.StatusInternalServerError {
			t.Errorf("got %d", response.StatusCode)
		}
		if response, err := get(t, server.URL+"/fine"); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("got %v, %v", response, err)
		}
	}
	eventually(t, "all seats are back", func() bool { seats, _ := inUse(t, c, "alice"); return seats == 0 })
}

func TestAWatchHoldsItsSeatUntilItIsInitialized(t *testing.T) {
	c, _ := running(t, 6, oneLevel("alice", 1, 10)...)
	known(t, c, "alice")
	const watches = 20 // of one seat, one after the other
	var initialized sync.WaitGroup
	initialized.Add(watches)
	end := make(chan struct{})
	server := served(t, c, "alice", time.Minute, func(_ http.ResponseWriter, r *http.Request) {
		fc.WatchInitialized(r.Context())
		initialized.Done()
		<-end
	})
	var all sync.WaitGroup
	for range watches {
		all.Add(1)
		go func() {
			defer all.Done()
			if response, err := get(t, server.URL+"/api/v1/pods?watch=1"); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("got %v, %v", response, err)
			}
		}()
	}
	initialized.Wait() // all of them are open at once
	eventually(t, "all seats are back", func() bool { seats, _ := inUse(t, c, "alice"); return seats == 0 })
	close(end)
	all.Wait()
}

func TestTheConfigurationFollowsTheAPI(t *testing.T) {
	c, client := running(t, 600, oneLevel("alice", 1, 10)...)
	known(t, c, "alice")
	eventually(t, "width of alice", func() bool { return c.GetMaxSeats("alice") == 15 }) // 100 seats
	level := oneLevel("bob", 4, 10)[1].(*flowcontrol.PriorityLevelConfiguration)
	if _, err := client.FlowcontrolV1().PriorityLevelConfigurations().Create(t.Context(), level, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	known(t, c, "bob")
	eventually(t, "width of bob", func() bool { return c.GetMaxSeats("bob") == 36 }) // 240 seats
	if err := client.FlowcontrolV1().PriorityLevelConfigurations().Delete(t.Context(), "bob", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "bob is gone", func() bool { return c.GetMaxSeats("bob") == 0 })
}

func TestDumpsAreWhereTheReferenceHasThem(t *testing.T) {
	c, err := NewStatic(600, bootstrap.SuggestedFlowSchemas, bootstrap.SuggestedPriorityLevelConfigurations)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m := mux.NewPathRecorderMux("test")
	c.Install(m)
	for path, want := range map[string]string{
		"dump_priority_levels": "workload-low", "dump_queues": "workload-low", "dump_requests": "PriorityLevelName",
		"dump_requests?includeRequestDetails=1": "UserName",
	} {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest("GET", "/debug/api_priority_and_fairness/"+path, nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The same requests through the reference and through this: the same schema, level and distinguisher.
func TestRequestsAreClassifiedAsByTheReference(t *testing.T) {
	fcmetrics.Register()
	var all []runtime.Object
	for _, schemas := range [][]*flowcontrol.FlowSchema{bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas} {
		for _, schema := range schemas {
			all = append(all, schema)
		}
	}
	for _, levels := range [][]*flowcontrol.PriorityLevelConfiguration{
		bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations,
	} {
		for _, level := range levels {
			all = append(all, level)
		}
	}
	ours, _ := running(t, 600, all...)
	known(t, ours, "workload-low")
	client := fake.NewSimpleClientset(all...)
	factory := informers.NewSharedInformerFactory(client, 0)
	reference := fc.New(factory, client.FlowcontrolV1(), 600)
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	go func() { _ = reference.Run(stop) }()

	classified := func(c fc.Interface, digest fc.RequestDigest) (got string, executed bool) {
		c.Handle(t.Context(), digest, func(fs *flowcontrol.FlowSchema, pl *flowcontrol.PriorityLevelConfiguration, flow string) {
			got = fmt.Sprintf("%s %s %q", fs.Name, pl.Name, flow)
		}, func() fcrequest.WorkEstimate { return fcrequest.WorkEstimate{InitialSeats: 1} }, func(bool) {}, func() { executed = true })
		return got, executed
	}
	probe := fc.RequestDigest{RequestInfo: &request.RequestInfo{Verb: "get", Path: "/x"},
		User: &user.DefaultInfo{Name: "u", Groups: []string{user.AllAuthenticated}}}
	eventually(t, "the reference has read the API", func() bool {
		got, _ := classified(reference, probe)
		return strings.HasPrefix(got, "global-default")
	})

	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	seen := map[string]int{}
	for range 20_000 {
		digest := fc.RequestDigest{
			RequestInfo: &request.RequestInfo{
				IsResourceRequest: random.IntN(4) != 0,
				Path:              pick("/healthz", "/livez/etcd", "/readyz", "/metrics", "/healthzz"),
				Verb:              pick("get", "list", "update", "create", "watch", "patch", "delete", "head"),
				APIGroup:          pick("", "apps", "coordination.k8s.io", "events.k8s.io", "apiextensions.k8s.io"),
				Namespace:         pick("", "kube-system", "dev", "kube-node-lease"),
				Resource:          pick("pods", "nodes", "leases", "events", "endpoints", "configmaps"),
				Subresource:       pick("", "", "status", "proxy"),
			},
			User: &user.DefaultInfo{
				Name: pick("alice", "system:kube-scheduler", "system:kube-controller-manager", "system:node:n1",
					"system:serviceaccount:kube-system:gc", "system:serviceaccount:dev:default", ""),
				Groups: [][]string{{user.AllAuthenticated}, {user.AllUnauthenticated}, {"system:masters", user.AllAuthenticated},
					{"system:nodes", user.AllAuthenticated}, {"system:serviceaccounts", user.AllAuthenticated}, nil}[random.IntN(6)],
			},
		}
		want, _ := classified(reference, digest)
		got, executed := classified(ours, digest)
		if got != want || !executed {
			t.Fatalf("%+v %+v: got %s, want %s, executed %v", digest.RequestInfo, digest.User, got, want, executed)
		}
		seen[strings.Fields(got)[0]]++
	}
	if len(seen) < 10 {
		t.Errorf("only %v", seen)
	}
	// And the engine has counted each where it was said to go.
	stats, err := ours.Dispatcher().Stats()
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range stats.Schemas {
		if schema.Dispatched != uint64(seen[schema.Name]) {
			t.Errorf("%s: the engine dispatched %d, the classification was %d times", schema.Name, schema.Dispatched, seen[schema.Name])
		}
	}
}
