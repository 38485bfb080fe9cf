package apf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	apf "apf.invalid/bindings/go"
)

// oneLevel is a configuration in which the level "test" has exactly `limit` seats of `serverSeats`, and lends and borrows
// none; every request of a user of the group "test" goes there, by user.
func oneLevel(limit, queues, handSize, queueLength int) apf.Config {
	response := "{type: Reject}"
	if queues > 0 {
		response = fmt.Sprintf("{type: Queue, queuing: {queues: %d, handSize: %d, queueLengthLimit: %d}}", queues, handSize, queueLength)
	}
	// catch-all has 5 shares; with as many shares as seats, each share is one seat.
	return apf.Config{Name: "one level", MandatoryOnly: true, Text: fmt.Sprintf(`
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: test}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: %d, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: %s}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: filler}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: %d, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: test}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: test}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: test}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"]}]
    nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
`, limit, response, serverSeats-5-limit)}
}

const serverSeats = 100_000

func dispatcher(t testing.TB, options apf.Options) *apf.Dispatcher {
	t.Helper()
	d, err := apf.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// levelOf is a dispatcher whose level "test" has these seats and queues.
func levelOf(t testing.TB, limit, queues, handSize, queueLength int) *apf.Dispatcher {
	t.Helper()
	return dispatcher(t, apf.Options{
		Seats: serverSeats, Config: oneLevel(limit, queues, handSize, queueLength), QueueWaitLimit: time.Minute,
	})
}

func by(user string) *apf.Request {
	return &apf.Request{User: user, Groups: []string{"test"}, Verb: "list", Resource: "pods", Namespace: "dev"}
}

func acquire(t testing.TB, d *apf.Dispatcher, request *apf.Request) *apf.Permit {
	t.Helper()
	permit, err := d.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return permit
}

func level(t testing.TB, d *apf.Dispatcher) *apf.LevelStats {
	t.Helper()
	stats, err := d.Stats()
	if err != nil {
		t.Fatal(err)
	}
	found := stats.Level("test")
	if found == nil {
		t.Fatal("there is no level test")
	}
	return found
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// waits has as many requests wait as said.
func waits(t testing.TB, d *apf.Dispatcher, count uint64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d requests wait", count), func() bool { return level(t, d).RequestsWaiting == count })
}

// idle fails if anything is held or waits.
func idle(t testing.TB, d *apf.Dispatcher) {
	t.Helper()
	l := level(t, d)
	if l.SeatsInUse != 0 || l.RequestsExecuting != 0 || l.RequestsWaiting != 0 {
		t.Errorf("held after the end: %d seats, %d executing, %d waiting", l.SeatsInUse, l.RequestsExecuting, l.RequestsWaiting)
	}
}

// noGoroutinesLeft fails if goroutines of this package, or waiting in it, are left when the test is over and its
// dispatchers are closed. To be called first, so that its clean-up runs last.
func noGoroutinesLeft(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		var left string
		for range 200 {
			if left = goroutinesOfPackage(); left == "" {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("goroutines left:\n%s", left)
	})
}

func goroutinesOfPackage() string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 2); err != nil {
		return err.Error()
	}
	var left []string
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if strings.Contains(stack, "apf.invalid/bindings/go.") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

type result struct {
	permit *apf.Permit
	err    error
}

// begin acquires in a goroutine of its own.
func begin(ctx context.Context, d *apf.Dispatcher, request *apf.Request) <-chan result {
	done := make(chan result, 1)
	go func() {
		permit, err := d.Acquire(ctx, request)
		done <- result{permit, err}
	}()
	return done
}

func within(t testing.TB, done <-chan result) result {
	t.Helper()
	select {
	case r := <-done:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("no decision within 20 s")
		panic("not reached")
	}
}

func rejected(t testing.TB, err error) *apf.RejectedError {
	t.Helper()
	var rejected *apf.RejectedError
	if !errors.As(err, &rejected) {
		t.Fatalf("got %v, not a rejection", err)
	}
	return rejected
}
