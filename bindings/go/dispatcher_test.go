package apf_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	apf "apf.invalid/bindings/go"
)

func TestTheHeaderIsTheRepositorys(t *testing.T) {
	repository, err := os.ReadFile("../../include/apf.h")
	if os.IsNotExist(err) {
		t.Skip("the repository is not around this module")
	}
	own, ownErr := os.ReadFile("apf.h")
	if err != nil || ownErr != nil {
		t.Fatal(err, ownErr)
	}
	if string(own) != string(repository) {
		t.Error("bindings/go/apf.h is not include/apf.h: `cargo xtask go-archive` copies it")
	}
}

func TestARequestIsClassifiedAdmittedAndReleased(t *testing.T) {
	noGoroutinesLeft(t)
	d := dispatcher(t, apf.Options{})
	permit := acquire(t, d, &apf.Request{User: "alice", Groups: []string{"system:authenticated"}, Verb: "list", Resource: "pods"})
	if permit.Level() != "global-default" || permit.FlowSchema() != "global-default" || permit.Seats() != 1 {
		t.Errorf("got level %q by %q with %d seats", permit.Level(), permit.FlowSchema(), permit.Seats())
	}
	url := acquire(t, d, &apf.Request{
		User: "system:kube-scheduler", Groups: []string{"system:authenticated"}, Verb: "PUT",
		URL: "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x?timeout=5s",
	})
	if url.Level() != "leader-election" {
		t.Errorf("got level %q", url.Level())
	}
	probe := acquire(t, d, &apf.Request{User: "system:anonymous", Groups: []string{"system:unauthenticated"}, Verb: "get", Path: "/healthz"})
	if probe.Level() != "exempt" {
		t.Errorf("got level %q", probe.Level())
	}
	for _, p := range []*apf.Permit{permit, url, probe} {
		p.Release()
		p.Release()
	}
	var none *apf.Permit
	none.Release()
	stats, err := d.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if l := stats.Level("global-default"); l.Dispatched != 1 || l.SeatsInUse != 0 {
		t.Errorf("dispatched %d, in use %d", l.Dispatched, l.SeatsInUse)
	}
	if permit.Level() != "global-default" {
		t.Error("a released permit has lost its names")
	}
}

func TestLongRequestsArriveWhole(t *testing.T) {
	d := levelOf(t, 5, 1, 1, 10)
	groups := make([]string, 40)
	for i := range groups {
		groups[i] = strings.Repeat("g", i*20)
	}
	groups[39] = "test"
	request := by(strings.Repeat("ü", 5000))
	request.Groups = groups
	request.Name = strings.Repeat("n", 253)
	permit := acquire(t, d, request)
	defer permit.Release()
	if permit.Level() != "test" {
		t.Errorf("got level %q", permit.Level())
	}
}

func TestRefusalsSayWhyAndForHowLong(t *testing.T) {
	d := levelOf(t, 1, 1, 1, 1)
	held := acquire(t, d, by("a"))
	_, err := d.TryAcquire(by("a"))
	if r := rejected(t, err); r.Reason != apf.ReasonConcurrencyLimit || r.RetryAfter != time.Second || r.Level != "test" ||
		r.FlowSchema != "test" || !errors.Is(err, apf.ErrRejected) {
		t.Errorf("got %+v", r)
	}
	waiting := begin(t.Context(), d, by("a"))
	waits(t, d, 1)
	_, err = d.Acquire(t.Context(), by("a"))
	if r := rejected(t, err); r.Reason != apf.ReasonQueueFull {
		t.Errorf("got %+v", r)
	}
	held.Release()
	r := within(t, waiting)
	if r.err != nil {
		t.Fatal(r.err)
	}
	limited := by("a")
	limited.WaitLimit = 30 * time.Millisecond
	begun := time.Now()
	_, err = d.Acquire(t.Context(), limited)
	if r := rejected(t, err); r.Reason != apf.ReasonTimeOut || r.Waited < 30*time.Millisecond || time.Since(begun) < 30*time.Millisecond {
		t.Errorf("got %+v after %v", r, time.Since(begun))
	}
	limited.WaitLimit = -1
	_, err = d.Acquire(t.Context(), limited)
	if r := rejected(t, err); r.Reason != apf.ReasonTimeOut {
		t.Errorf("got %+v", r)
	}
	r.permit.Release()
	idle(t, d)
}

func TestBadRequestsAreErrors(t *testing.T) {
	d := levelOf(t, 1, 1, 1, 1)
	for _, c := range []struct {
		change func(*apf.Request)
		want   error
	}{
		{func(r *apf.Request) { r.Resource = "" }, apf.ErrRequest},
		{func(r *apf.Request) { r.Path = "/healthz" }, apf.ErrRequest},
		{func(r *apf.Request) { r.User = "\xff" }, apf.ErrUTF8},
		{func(r *apf.Request) { r.Seats = 1 << 40 }, apf.ErrEstimate},
		{func(r *apf.Request) { r.AdditionalLatency = -1 }, apf.ErrEstimate},
	} {
		request := by("a")
		c.change(request)
		if permit, err := d.Acquire(t.Context(), request); !errors.Is(err, c.want) || permit != nil {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
	if _, err := d.AcquireClassified(t.Context(), &apf.Classified{Level: 1 << 30}); !errors.Is(err, apf.ErrLevel) {
		t.Errorf("got %v", err)
	}
	if _, err := d.Level("none"); !errors.Is(err, apf.ErrLevel) {
		t.Errorf("got %v", err)
	}
	if err := d.SetTime(1); !errors.Is(err, apf.ErrClock) {
		t.Errorf("got %v", err)
	}
	if _, err := apf.New(apf.Options{Seats: -1}); !errors.Is(err, apf.ErrSeats) || apf.ErrSeats.Name() != "seats" {
		t.Errorf("got %v, named %q", err, apf.ErrSeats.Name())
	}
	idle(t, d)
}

func TestContextsEndTheWait(t *testing.T) {
	noGoroutinesLeft(t)
	d := levelOf(t, 1, 1, 1, 10)
	held := acquire(t, d, by("a"))
	defer held.Release()

	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := begin(ctx, d, by("a"))
	waits(t, d, 1)
	why := errors.New("why")
	cancel(why)
	if r := within(t, waiting); !errors.Is(r.err, context.Canceled) || !errors.Is(r.err, why) || r.permit != nil {
		t.Errorf("got %v", r.err)
	}
	timed, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if _, err := d.Acquire(timed, by("a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := d.Acquire(timed, by("a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that is done already: %v", err)
	}
	if l := level(t, d); l.RequestsWaiting != 0 || l.Cancelled != 2 {
		t.Errorf("%d wait, %d cancelled", l.RequestsWaiting, l.Cancelled)
	}
}

func TestReleaseEarlyGivesTheSeatsBackAndTheEndNothingMore(t *testing.T) {
	d := levelOf(t, 1, 1, 1, 10)
	watch := by("a")
	watch.Verb = "watch"
	first := acquire(t, d, watch)
	first.ReleaseEarly()
	first.ReleaseEarly()
	second := acquire(t, d, watch)
	if l := level(t, d); l.SeatsInUse != 1 {
		t.Errorf("%d seats in use", l.SeatsInUse)
	}
	first.Release()
	first.ReleaseEarly()
	if l := level(t, d); l.SeatsInUse != 1 {
		t.Errorf("%d seats in use", l.SeatsInUse)
	}
	second.Release()
	second.ReleaseEarly()
	idle(t, d)
}

func TestReleaseAndReleaseEarlyAtOnceReleaseOnce(t *testing.T) {
	d := levelOf(t, 10, 1, 1, 10)
	for range 3000 {
		permit := acquire(t, d, by("a"))
		done := make(chan struct{})
		go func() {
			permit.ReleaseEarly()
			close(done)
		}()
		permit.Release()
		<-done
	}
	idle(t, d)
}

func TestAConfigurationIsReplacedWhileRequestsRun(t *testing.T) {
	d := levelOf(t, 1, 1, 1, 10)
	held := acquire(t, d, by("a"))
	waiting := begin(t.Context(), d, by("a"))
	waits(t, d, 1)
	if warnings, err := d.SetConfig(oneLevel(2, 1, 1, 10)); err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	if r := within(t, waiting); r.err != nil {
		t.Fatal(r.err)
	} else {
		r.permit.Release()
	}
	held.Release()
	idle(t, d)
}

func TestABadConfigurationNamesFileLineObjectFieldAndRule(t *testing.T) {
	bad := apf.Config{Name: "bad.yaml", Text: `apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: odd}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: -3, limitResponse: {type: Reject}}
`}
	check := func(err error) {
		t.Helper()
		var config *apf.ConfigError
		if !errors.As(err, &config) || !errors.Is(err, apf.ErrConfiguration) || len(config.Problems) != 1 {
			t.Fatalf("got %v", err)
		}
		p := config.Problems[0]
		if p.File != "bad.yaml" || p.Line != 6 || p.Kind != "PriorityLevelConfiguration" || p.Name != "odd" ||
			p.Field != "spec.limited.nominalConcurrencyShares" || p.Rule != "Invalid value" || p.Value != "-3" || p.Severity != apf.Error {
			t.Errorf("got %+v", p)
		}
		if !strings.Contains(err.Error(), p.Text) {
			t.Errorf("got %q", err)
		}
	}
	_, err := apf.New(apf.Options{Config: bad})
	check(err)
	d := levelOf(t, 1, 1, 1, 10)
	_, err = d.SetConfig(bad)
	check(err)
	if l := level(t, d); l.NominalLimit != 1 {
		t.Errorf("a refused configuration has changed the limit to %d", l.NominalLimit)
	}
	bad.Text = strings.ReplaceAll(bad.Text, "-3", "3, colour: red")
	bad.Lenient = true
	lenient := dispatcher(t, apf.Options{Config: bad})
	if w := lenient.Warnings(); len(w) != 1 || w[0].Severity != apf.Warning || w[0].Rule != "Unknown field" {
		t.Errorf("got %+v", w)
	}
}

func TestNumbersAreShownAsKubeApiserverDoes(t *testing.T) {
	d := dispatcher(t, apf.Options{
		Seats: serverSeats, Config: oneLevel(1, 2, 1, 10), KeepDetails: true, QueueWaitLimit: time.Minute,
	})
	held := acquire(t, d, by("a"))
	ctx, cancel := context.WithCancel(t.Context())
	waiting := begin(ctx, d, by("b"))
	waits(t, d, 1)
	for table, want := range map[apf.Table]string{
		apf.TablePriorityLevels: "PriorityLevelName", apf.TableQueues: "PriorityLevelName", apf.TableRequests: "FlowSchemaName",
		apf.TableRequestsWithDetails: "UserName",
	} {
		if text, err := d.Dump(table); err != nil || !strings.Contains(text, want) || !strings.Contains(text, "test") {
			t.Errorf("table %d: %v\n%s", table, err, text)
		}
	}
	text, err := d.Prometheus()
	if err != nil || !strings.Contains(text, `apiserver_flowcontrol_current_inqueue_requests{flow_schema="test",priority_level="test"} 1`) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := d.Dump(77); !errors.Is(err, apf.ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
	cancel()
	within(t, waiting)
	held.Release()
	stats, err := d.Stats()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats.Schemas {
		if s.Name == "test" && (s.Arrived != 2 || s.Dispatched != 1 || s.Cancelled != 1 || s.Executed.Count() != 1) {
			t.Errorf("got %+v", s)
		}
	}
}

func TestTheManualClockMovesWhenTold(t *testing.T) {
	d := dispatcher(t, apf.Options{
		Seats: serverSeats, Config: oneLevel(1, 1, 1, 10), Clock: apf.ClockManual, QueueWaitLimit: 5 * time.Second,
	})
	held := acquire(t, d, by("a"))
	waiting := begin(t.Context(), d, by("a"))
	waits(t, d, 1)
	if due, err := d.NextTimer(); err != nil || due != 5*time.Second {
		t.Fatalf("next timer at %v: %v", due, err)
	}
	if err := d.SetTime(5*time.Second - 1); err != nil {
		t.Fatal(err)
	}
	waits(t, d, 1)
	if err := d.SetTime(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	if r := rejected(t, within(t, waiting).err); r.Reason != apf.ReasonTimeOut || r.Waited != 5*time.Second {
		t.Errorf("got %+v", r)
	}
	if now, err := d.Now(); err != nil || now != 5*time.Second {
		t.Errorf("now %v, %v", now, err)
	}
	held.Release()
	idle(t, d)
}

func TestOnWaitIsToldOfTheWaitAloneAndMayPanic(t *testing.T) {
	noGoroutinesLeft(t)
	d := levelOf(t, 1, 1, 1, 10)
	var told []bool
	request := by("a")
	request.OnWait = func(waits bool) { told = append(told, waits) }
	held := acquire(t, d, request)
	if len(told) != 0 {
		t.Errorf("got %v", told)
	}
	waiting := begin(t.Context(), d, request)
	waits(t, d, 1)
	held.Release()
	r := within(t, waiting)
	if len(told) != 2 || !told[0] || told[1] {
		t.Errorf("got %v", told)
	}
	for _, when := range []bool{true, false} {
		func() {
			defer func() {
				if reason := recover(); reason != "on purpose" {
					t.Errorf("got %v", reason)
				}
			}()
			panicking := by("a")
			panicking.OnWait = func(waits bool) {
				if !waits || when {
					r.permit.Release()
				}
				if waits == when {
					panic("on purpose")
				}
				r.permit.Release()
			}
			permit, err := d.Acquire(t.Context(), panicking)
			t.Errorf("got %v, %v", permit, err)
		}()
		idle(t, d)
		r.permit = acquire(t, d, by("a"))
	}
	r.permit.Release()
	idle(t, d)
}
