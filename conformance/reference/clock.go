package main

import (
	"container/heap"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
)

// traceClock is the clock of a trace: it stands still between events, and runs what is due in the caller's own goroutine,
// so that releases at one instant have one order. Its times are nanoseconds since the trace's origin.
type traceClock struct {
	now      uint64
	inserted uint64
	timers   timerHeap
}

var _ eventclock.Interface = (*traceClock)(nil)

// goTime maps the trace's origin to the Unix epoch; only differences matter to the queue set.
func goTime(ns uint64) time.Time { return time.Unix(0, int64(ns)) }

func (c *traceClock) Now() time.Time                  { return goTime(c.now) }
func (c *traceClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Sleep is part of the interface; the queue set never sleeps.
func (c *traceClock) Sleep(time.Duration) { panic("the queue set slept") }

func (c *traceClock) EventAfterDuration(f eventclock.EventFunc, d time.Duration) {
	heap.Push(&c.timers, timer{due: c.now + uint64(d), order: c.inserted, call: f})
	c.inserted++
}

// EventAfterTime is part of the interface; the queue set asks for durations only.
func (c *traceClock) EventAfterTime(eventclock.EventFunc, time.Time) {
	panic("the queue set asked for an absolute time")
}

// advance runs what is due up to t, each at its own time and in the order of insertion within one instant, then sets the time to t,
// which may be earlier than before.
func (c *traceClock) advance(t uint64) {
	for len(c.timers) > 0 && c.timers[0].due <= t {
		next := heap.Pop(&c.timers).(timer)
		c.now = next.due
		next.call(c.Now())
	}
	c.now = t
}

type timer struct {
	due, order uint64
	call       eventclock.EventFunc
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].order < h[j].order
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = timer{}
	*h = old[:len(old)-1]
	return last
}
