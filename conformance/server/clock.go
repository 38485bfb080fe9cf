package main

import (
	"container/heap"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
)

// origin is what a case calls time 0; any instant works, because only differences count.
var origin = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// stepClock is a clock that moves only when told to, and runs what falls due on the caller's
// goroutine in the order (due time, insertion), so that a case has one outcome.
type stepClock struct {
	now  time.Time
	due  dueHeap
	next uint64
}

var _ eventclock.Interface = (*stepClock)(nil)

func newStepClock() *stepClock { return &stepClock{now: origin} }

func (c *stepClock) Now() time.Time                  { return c.now }
func (c *stepClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// Sleep is never reached: nothing that a case drives waits on the clock.
func (c *stepClock) Sleep(time.Duration) { panic("a case has no way to sleep") }

func (c *stepClock) EventAfterDuration(f eventclock.EventFunc, d time.Duration) {
	c.EventAfterTime(f, c.now.Add(d))
}

func (c *stepClock) EventAfterTime(f eventclock.EventFunc, t time.Time) {
	heap.Push(&c.due, dueEvent{at: t, order: c.next, run: f})
	c.next++
}

// advance moves to t, stopping at each due event on the way. It does not go back.
func (c *stepClock) advance(t time.Time) {
	for c.runDue(t) {
	}
	if t.After(c.now) {
		c.now = t
	}
}

// runDue moves to the first event that is due by t, if there is one, and runs it.
func (c *stepClock) runDue(t time.Time) bool {
	if len(c.due) == 0 || c.due[0].at.After(t) {
		return false
	}
	event := heap.Pop(&c.due).(dueEvent)
	if event.at.After(c.now) {
		c.now = event.at
	}
	event.run(c.now)
	return true
}

type dueEvent struct {
	at    time.Time
	order uint64
	run   eventclock.EventFunc
}

type dueHeap []dueEvent

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].order < h[j].order
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(dueEvent)) }
func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
