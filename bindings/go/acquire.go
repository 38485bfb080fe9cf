package apf

// #include "bridge.h"
import "C"

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Acquire admits a request: at once, or after it has waited for its turn. The permit is to be released.
//
// A refusal is a [*RejectedError], which is [ErrRejected]. When the context is done before the request is admitted, the error
// wraps the context's error and its cause; a context that is done already admits nothing. [ErrClosed] when the dispatcher
// has been closed, also while the request waits. Any other error is a [Status]: the request is none.
//
// Blocks the goroutine while the request waits.
func (d *Dispatcher) Acquire(ctx context.Context, request *Request) (*Permit, error) {
	// Small enough to be inlined, so that the permit is on the stack of a caller that keeps it to itself.
	return d.acquire(ctx, request, new(Permit))
}

// TryAcquire admits a request if that is possible at once. Otherwise it is refused, reason `concurrency-limit`, which counts
// as every refusal does. Does not block.
func (d *Dispatcher) TryAcquire(request *Request) (*Permit, error) {
	return d.tryAcquire(request, new(Permit))
}

// AcquireClassified is [Dispatcher.Acquire] for a host with a classification of its own. [ErrLevel] when there is no level
// of this number any more: find it again. In the statistics such requests belong to a FlowSchema called `(host)`.
func (d *Dispatcher) AcquireClassified(ctx context.Context, request *Classified) (*Permit, error) {
	return d.acquireClassified(ctx, request, new(Permit))
}

// TryAcquireClassified is [Dispatcher.TryAcquire] for a host with a classification of its own.
func (d *Dispatcher) TryAcquireClassified(request *Classified) (*Permit, error) {
	return d.tryAcquireClassified(request, new(Permit))
}

func isDone(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

func (d *Dispatcher) acquire(ctx context.Context, request *Request, permit *Permit) (*Permit, error) {
	if isDone(ctx) {
		return nil, contextError(ctx)
	}
	if !d.core.enter() {
		return nil, ErrClosed
	}
	var decision C.apf_go_decision
	d.core.submitToWait(request, &decision)
	if decision.kind == C.APF_OUTCOME_ADMITTED {
		permit.begin(d, &decision)
		return permit, nil
	}
	if err := d.undecided(ctx, request.OnWait, &decision, permit); err != nil {
		return nil, err
	}
	return permit, nil
}

func (d *Dispatcher) tryAcquire(request *Request, permit *Permit) (*Permit, error) {
	if !d.core.enter() {
		return nil, ErrClosed
	}
	var decision C.apf_go_decision
	d.core.submit(request, false, &decision)
	if decision.kind == C.APF_OUTCOME_ADMITTED {
		permit.begin(d, &decision)
		return permit, nil
	}
	return nil, d.refused(&decision)
}

func (d *Dispatcher) acquireClassified(ctx context.Context, request *Classified, permit *Permit) (*Permit, error) {
	if isDone(ctx) {
		return nil, contextError(ctx)
	}
	if !d.core.enter() {
		return nil, ErrClosed
	}
	var decision C.apf_go_decision
	d.core.submitClassifiedToWait(request, &decision)
	if decision.kind == C.APF_OUTCOME_ADMITTED {
		permit.begin(d, &decision)
		return permit, nil
	}
	if err := d.undecided(ctx, request.OnWait, &decision, permit); err != nil {
		return nil, err
	}
	return permit, nil
}

func (d *Dispatcher) tryAcquireClassified(request *Classified, permit *Permit) (*Permit, error) {
	if !d.core.enter() {
		return nil, ErrClosed
	}
	var decision C.apf_go_decision
	d.core.submitClassified(request, false, &decision)
	if decision.kind == C.APF_OUTCOME_ADMITTED {
		permit.begin(d, &decision)
		return permit, nil
	}
	return nil, d.refused(&decision)
}

// undecided is the rest of the way of a request that was not admitted at once.
//
//go:noinline
func (d *Dispatcher) undecided(ctx context.Context, onWait func(bool), decision *C.apf_go_decision, permit *Permit) error {
	if decision.status != C.APF_OK || decision.kind != C.APF_OUTCOME_QUEUED {
		return d.refused(decision)
	}
	if onWait == nil {
		return d.wait(ctx, ticketOf(decision), permit)
	}
	return d.waitAndTell(ctx, onWait, ticketOf(decision), permit)
}

func (d *Dispatcher) waitAndTell(ctx context.Context, onWait func(bool), t ticket, permit *Permit) error {
	told, done := false, false
	defer func() {
		if done {
			return
		}
		// onWait has panicked: the request is given up.
		if !told {
			ended, end := context.WithCancel(ctx)
			end()
			_ = d.wait(ended, t, permit)
		}
		permit.Release()
	}()
	onWait(true)
	told = true
	err := d.wait(ctx, t, permit)
	onWait(false)
	done = true
	return err
}

// refused ends the use of the engine by a request that is not admitted.
//
//go:noinline
func (d *Dispatcher) refused(decision *C.apf_go_decision) error {
	defer runtime.KeepAlive(d)
	c := d.core
	defer c.leave()
	if decision.status != C.APF_OK {
		return Status(decision.status)
	}
	return &RejectedError{
		Reason:     reasonOf(decision.reason),
		RetryAfter: time.Duration(decision.retry_after_seconds) * time.Second,
		Level:      c.names.of(decision.level, C.uint64_t(decision.level_length)).text,
		FlowSchema: c.names.of(decision.flow_schema, C.uint64_t(decision.flow_schema_length)).text,
		Waited:     time.Duration(decision.waited_ns),
	}
}

// wait parks the goroutine until its request is decided or its context is done.
//
//go:noinline
func (d *Dispatcher) wait(ctx context.Context, t ticket, permit *Permit) error {
	c := d.core
	w := c.waiters.wait(t)
	if c.closed.Load() && c.cancelInTurn(t) == C.APF_OK {
		// Close may not have seen it.
		c.waiters.forget(t)
		c.waiters.done(w)
		c.leave()
		return ErrClosed
	}
	var cancelled bool
	select {
	case <-w.told:
	case <-ctx.Done():
		if c.cancelInTurn(t) == C.APF_OK {
			c.waiters.forget(t)
			c.waiters.done(w)
			c.leave()
			runtime.KeepAlive(d)
			return contextError(ctx)
		}
		// Its decision has been made and is on its way here.
		<-w.told
		cancelled = true
	}
	if w.closed {
		c.waiters.done(w)
		c.leave()
		return ErrClosed
	}
	decision := &w.decision
	if decision.status == C.APF_OK && decision.kind == C.APF_OUTCOME_ADMITTED {
		if !cancelled {
			permit.begin(d, decision)
			c.waiters.done(w)
			return nil
		}
		c.finish(t)
		c.waiters.done(w)
		c.leave()
		runtime.KeepAlive(d)
		return contextError(ctx)
	}
	err := d.refused(decision)
	c.waiters.done(w)
	return err
}

// Permit is the right to run of a request that was admitted. Release it, best by defer.
//
// Its methods may be called from any goroutine, and more than once. It must not be copied.
type Permit struct {
	dispatcher        *Dispatcher
	ticket            ticket
	level, flowSchema *name
	seats             uint64
	waited            time.Duration
	state             atomic.Uint32
}

const (
	running uint32 = iota
	// releasing: a call of ReleaseEarly is under way.
	releasing
	// released: its seats are back, it goes on.
	released
	over
)

func (p *Permit) begin(d *Dispatcher, decision *C.apf_go_decision) {
	names := &d.core.names
	p.dispatcher = d
	p.ticket = ticketOf(decision)
	p.level = names.of(decision.level, C.uint64_t(decision.level_length))
	p.flowSchema = names.of(decision.flow_schema, C.uint64_t(decision.flow_schema_length))
	p.seats = uint64(decision.seats)
	p.waited = time.Duration(decision.waited_ns)
}

// Release ends the request: its seats come back, now or after its additional latency. A second call does nothing; nor does
// one of a nil permit. Does not block.
func (p *Permit) Release() {
	if p == nil || p.dispatcher == nil {
		return
	}
	switch p.state.Swap(over) {
	case over:
		return
	case releasing:
		return // ReleaseEarly sees it and ends the request
	}
	p.end()
}

func (p *Permit) end() {
	c := p.dispatcher.core
	c.finish(p.ticket)
	c.leave()
	runtime.KeepAlive(p.dispatcher)
}

// ReleaseEarly gives the seats back although the request goes on: for watches, whose cost ends with their initialisation.
// The permit is to be released all the same when it ends. A second call does nothing. Does not block.
func (p *Permit) ReleaseEarly() {
	if p == nil || p.dispatcher == nil || !p.state.CompareAndSwap(running, releasing) {
		return
	}
	p.dispatcher.core.finishEarly(p.ticket)
	if !p.state.CompareAndSwap(releasing, released) {
		p.end() // it was released meanwhile
	}
}

// Level is the priority level that the request was classified to.
func (p *Permit) Level() string { return p.level.text }

// FlowSchema is what it was classified by.
func (p *Permit) FlowSchema() string { return p.flowSchema.text }

// Seats are those that it holds, the larger of its initial and final ones.
func (p *Permit) Seats() uint64 { return p.seats }

// Waited is for how long it had a place in a queue before it was admitted.
func (p *Permit) Waited() time.Duration { return p.waited }
