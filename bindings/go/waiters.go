package apf

// #include "bridge.h"
import "C"

import (
	"sync"
	"sync/atomic"
)

// waiters are the goroutines whose requests wait in queues, by ticket. A decision may come before its goroutine knows that
// it waits: then it is kept here for it.
type waiters struct {
	shards [16]struct {
		lock    sync.Mutex
		waiting map[ticket]*waiter
		_       [48]byte // a cache line each
	}
	// count is how many wait.
	count atomic.Int64
}

// waiter is where one goroutine waits for its decision.
type waiter struct {
	// told has room for one, so that whoever tells it does not wait.
	told     chan struct{}
	decision C.apf_go_decision
	// closed is set when the dispatcher was closed instead.
	closed bool
}

var waiterPool = sync.Pool{New: func() any { return &waiter{told: make(chan struct{}, 1)} }}

func (w *waiters) init() {
	for i := range w.shards {
		w.shards[i].waiting = make(map[ticket]*waiter)
	}
}

func (w *waiters) shard(t ticket) *struct {
	lock    sync.Mutex
	waiting map[ticket]*waiter
	_       [48]byte
} {
	return &w.shards[t[0]%uint64(len(w.shards))]
}

// wait makes the request of this ticket known. The waiter has been told already if its decision came before.
func (w *waiters) wait(t ticket) *waiter {
	w.count.Add(1)
	made := waiterPool.Get().(*waiter)
	shard := w.shard(t)
	shard.lock.Lock()
	if early, found := shard.waiting[t]; found {
		delete(shard.waiting, t)
		shard.lock.Unlock()
		waiterPool.Put(made)
		return early
	}
	shard.waiting[t] = made
	shard.lock.Unlock()
	return made
}

// decided tells whoever waits for this decision.
func (w *waiters) decided(decision *C.apf_go_decision) {
	t := ticketOf(decision)
	shard := w.shard(t)
	shard.lock.Lock()
	waiting, found := shard.waiting[t]
	if found {
		delete(shard.waiting, t)
	} else {
		waiting = waiterPool.Get().(*waiter)
		shard.waiting[t] = waiting
	}
	waiting.decision = *decision
	waiting.told <- struct{}{}
	shard.lock.Unlock()
}

// forget takes a waiter that will not be told off the list.
func (w *waiters) forget(t ticket) {
	shard := w.shard(t)
	shard.lock.Lock()
	delete(shard.waiting, t)
	shard.lock.Unlock()
}

// done gives back a waiter that has been told and has read its decision, or will not be told.
func (w *waiters) done(one *waiter) {
	w.count.Add(-1)
	one.closed = false
	waiterPool.Put(one)
}

// tickets are those that wait now.
func (w *waiters) tickets() []ticket {
	var all []ticket
	for i := range w.shards {
		shard := &w.shards[i]
		shard.lock.Lock()
		for t := range shard.waiting {
			all = append(all, t)
		}
		shard.lock.Unlock()
	}
	return all
}

// tellClosed tells whoever waits for this ticket, which has been cancelled.
func (w *waiters) tellClosed(t ticket) {
	shard := w.shard(t)
	shard.lock.Lock()
	if waiting, found := shard.waiting[t]; found {
		delete(shard.waiting, t)
		waiting.closed = true
		waiting.told <- struct{}{}
	}
	shard.lock.Unlock()
}
