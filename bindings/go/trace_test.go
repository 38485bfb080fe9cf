package apf_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apf "apf.invalid/bindings/go"
)

// Random traces of the conformance tests, through this package on its manual clock, decide as the core does: the core's
// lines for them, in the default mode, lie beside them. APF_TRACES is another folder of such pairs.
func TestTracesAreDecidedAsByTheCore(t *testing.T) {
	folder := os.Getenv("APF_TRACES")
	if folder == "" {
		folder = "testdata"
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.trace"))
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	total, decisions := 0, map[string]int{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := newReplay(t, file)
			defer r.end()
			total += r.run(decisions)
		})
	}
	t.Logf("%d events of %d traces, decisions %v: 0 differences", total, len(files), decisions)
	for _, word := range []string{"run", "wait", "cancel", "reject-queue-full", "reject-concurrency-limit"} {
		if decisions[word] < 20 {
			t.Errorf("%s happened %d times", word, decisions[word])
		}
	}
}

type replay struct {
	t        *testing.T
	d        *apf.Dispatcher
	level    uint32
	trace    *bufio.Scanner
	expected []string
	now      uint64
	requests map[string]*traced
	waiting  []*traced
	words    []string
}

type traced struct {
	id     string
	cancel context.CancelFunc
	done   chan result
	permit *apf.Permit
	waits  bool
}

func newReplay(t *testing.T, file string) *replay {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	expected, err := os.ReadFile(strings.TrimSuffix(file, ".trace") + ".expected")
	if err != nil {
		t.Fatal(err)
	}
	d, err := apf.New(apf.Options{
		Seats: serverSeats, Config: apf.Config{MandatoryOnly: true}, Clock: apf.ClockManual, QueueWaitLimit: 200 * 365 * 24 * time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &replay{
		t: t, d: d, trace: bufio.NewScanner(strings.NewReader(string(text))), expected: strings.Split(string(expected), "\n"),
		requests: map[string]*traced{},
	}
}

func (r *replay) end() {
	for _, request := range r.requests {
		request.cancel()
		if request.waits {
			request.permit = (<-request.done).permit
		}
		request.permit.Release()
	}
	r.d.Close()
}

// run compares events until the trace ends or does what a server's configuration cannot say; it returns how many.
func (r *replay) run(decisions map[string]int) int {
	for event := 0; r.trace.Scan(); {
		fields := strings.Fields(r.trace.Text())
		switch fields[0] {
		case "apf-trace", "seed", "mode":
			continue
		case "start":
			r.advance(fields[1])
			continue
		case "level":
			if !r.configure(fields[1:]) {
				return event
			}
			number, err := r.d.Level("test")
			if err != nil {
				r.t.Fatal(err)
			}
			r.level = number
			continue
		case "end":
			return event
		}
		r.words = nil
		if !r.advance(fields[0]) {
			return event
		}
		switch fields[1] {
		case "arrive":
			r.collect()
			r.arrive(fields[2:])
		case "finish":
			r.collect()
			r.finish(fields[2])
		case "cancel":
			r.collect()
			r.cancel(fields[2])
		case "reconfigure":
			if !r.configure(fields[2:]) {
				return event
			}
		}
		r.collect()
		r.compare(event)
		for _, word := range r.words {
			kind, _, _ := strings.Cut(word, ":")
			decisions[kind]++
		}
		if event++; r.t.Failed() {
			return event
		}
	}
	return 0
}

// compare holds what has happened to the core's line. Requests that start in one event are goroutines, which tell in any
// order; so do the words here.
func (r *replay) compare(event int) {
	line, _, _ := strings.Cut(r.expected[event], " =")
	var want []string
	for _, word := range strings.Fields(line)[1:] {
		word, _, _ = strings.Cut(word, "@")
		if !strings.HasPrefix(word, "demand:") {
			want = append(want, word)
		}
	}
	slices.Sort(want)
	got := slices.Sorted(slices.Values(r.words))
	if !slices.Equal(got, want) {
		r.t.Errorf("event %d, %q: got %v, the core %v", event+1, r.trace.Text(), got, want)
	}
}

// advance moves the clock; it says false for a step back, which the dispatcher's clock does not take.
func (r *replay) advance(at string) bool {
	to, err := strconv.ParseUint(at, 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	if to < r.now {
		return false
	}
	r.now = to
	if err := r.d.SetTime(time.Duration(to)); err != nil {
		r.t.Fatal(err)
	}
	return true
}

// configure makes the level; it says false for what only the core can have: another exempt level, queues without room.
func (r *replay) configure(fields []string) bool {
	var n [4]int
	for i := range n {
		value, err := strconv.Atoi(fields[i])
		if err != nil {
			r.t.Fatal(err)
		}
		n[i] = value
	}
	queues, handSize, queueLength, limit := n[0], n[1], n[2], n[3]
	if queues < 0 || queues > 0 && queueLength == 0 {
		return false
	}
	if _, err := r.d.SetConfig(oneLevel(limit, queues, handSize, queueLength)); err != nil {
		r.t.Fatal(err)
	}
	return true
}

func (r *replay) say(what, id string) { r.words = append(r.words, what+":"+id) }

func (r *replay) arrive(fields []string) {
	var n [4]uint64
	for i := range n {
		value, err := strconv.ParseUint(fields[i+1], 10, 64)
		if err != nil {
			r.t.Fatal(err)
		}
		n[i] = value
	}
	ctx, cancel := context.WithCancel(context.Background())
	request := &traced{id: fields[0], cancel: cancel, done: make(chan result, 1)}
	queued := make(chan struct{}, 1)
	go func() {
		permit, err := r.d.AcquireClassified(ctx, &apf.Classified{
			Level: r.level, FlowHash: n[0], Cost: apf.Cost{Seats: n[1], FinalSeats: n[2], AdditionalLatency: time.Duration(n[3])},
			OnWait: func(waits bool) {
				if waits {
					queued <- struct{}{}
				}
			},
		})
		request.done <- result{permit, err}
	}()
	select {
	case <-queued:
		r.say("wait", request.id)
		request.waits = true
		r.waiting = append(r.waiting, request)
		r.requests[request.id] = request
	case decided := <-request.done:
		var refused *apf.RejectedError
		switch {
		case decided.err == nil:
			r.say("run", request.id)
			request.permit = decided.permit
			r.requests[request.id] = request
		case errors.As(decided.err, &refused):
			r.say("reject-"+string(refused.Reason), request.id)
			cancel()
		default:
			r.t.Fatal(decided.err)
		}
	}
}

func (r *replay) finish(id string) {
	request := r.requests[id]
	if request == nil || request.waits {
		r.say("skip", id)
		return
	}
	delete(r.requests, id)
	request.cancel()
	request.permit.Release()
}

func (r *replay) cancel(id string) {
	request := r.requests[id]
	if request == nil || !request.waits {
		r.say("skip", id)
		return
	}
	delete(r.requests, id)
	r.waiting = slices.DeleteFunc(r.waiting, func(other *traced) bool { return other == request })
	request.cancel()
	if decided := <-request.done; !errors.Is(decided.err, context.Canceled) {
		r.t.Fatalf("%s: cancelled, got %v", id, decided.err)
	}
	r.say("cancel", id)
}

// collect takes in the requests that have begun to run: as many as the engine no longer has waiting.
func (r *replay) collect() {
	left := int(level(r.t, r.d).RequestsWaiting)
	for deadline := time.Now().Add(10 * time.Second); len(r.waiting) > left; {
		r.waiting = slices.DeleteFunc(r.waiting, func(request *traced) bool {
			select {
			case decided := <-request.done:
				if decided.err != nil {
					r.t.Fatalf("%s: %v", request.id, decided.err)
				}
				request.permit, request.waits = decided.permit, false
				r.say("run", request.id)
				return true
			default:
				return false
			}
		})
		if time.Now().After(deadline) {
			r.t.Fatal(fmt.Sprintf("%d have begun to run, and were not told", len(r.waiting)-left))
		}
	}
	if len(r.waiting) < left {
		r.t.Fatalf("%d wait, the engine says %d", len(r.waiting), left)
	}
}
