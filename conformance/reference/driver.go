package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
	_ "unsafe" // for linkname

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

type requestState uint8

const (
	waiting requestState = iota
	executing
	over
)

// request is the driver's side of one request of the trace.
type request struct {
	id      uint64
	state   requestState
	caller  callerContext
	request fq.Request
}

// driver holds one queue set and the trace's requests.
type driver struct {
	clock    *traceClock
	queues   fq.QueueSet
	demand   fq.Integrator
	view     view
	log      *logSink
	requests map[uint64]*request

	// arriving is the request inside StartRequest, whose fq.Request is not known yet.
	arriving   *request
	cancelling bool

	decisions    []decision
	demandReport string
	out          []byte
}

// decision is one word of an event's line. A queue below 0 is not printed.
type decision struct {
	what  string
	id    uint64
	queue int
}

const noQueue = -1

func newDriver(level levelSpec, layout *layout, log *logSink) *driver {
	d := &driver{clock: &traceClock{now: level.start}, log: log, requests: map[uint64]*request{}}
	d.demand = fq.NewNamedIntegrator(d.clock, "trace")
	gauges := metrics.RatioedGaugePair{RequestsWaiting: noGauge{}, RequestsExecuting: noGauge{}}
	completer, err := queueset.NewQueueSetFactory(d.clock).BeginConstruction(level.queuing(), gauges, noGauge{}, d.demand)
	if err != nil {
		panic(err) // the reader has checked the hand
	}
	d.queues = completer.Complete(level.dispatching())
	d.view = layout.view(d.queues)
	return d
}

func (l levelSpec) queuing() fq.QueuingConfig {
	return fq.QueuingConfig{Name: "trace", DesiredNumQueues: l.queues, QueueLengthLimit: l.queueLengthLimit, HandSize: l.handSize}
}

func (l levelSpec) dispatching() fq.DispatchingConfig {
	return fq.DispatchingConfig{ConcurrencyLimit: l.limit, ConcurrencyDenominator: max(l.limit, 1)}
}

// applyGuarded applies an event and returns the message of a panic of the queue set, or "".
func (d *driver) applyGuarded(ev *event) (message string) {
	defer func() {
		if reason := recover(); reason != nil {
			message = fmt.Sprint(reason)
		}
	}()
	d.decisions, d.demandReport = d.decisions[:0], ""
	d.clock.advance(ev.at)
	d.apply(ev)
	return ""
}

func (d *driver) apply(ev *event) {
	switch ev.kind {
	case arrive:
		d.arrive(ev)
	case finish:
		r := d.requests[ev.id]
		if r == nil || r.state != executing {
			d.decide("skip", ev.id, noQueue)
			return
		}
		r.state = over
		r.request.Finish(func() {})
		delete(d.requests, ev.id)
	case cancel:
		r := d.requests[ev.id]
		if r == nil || r.state != waiting {
			d.decide("skip", ev.id, noQueue)
			return
		}
		r.state = over
		r.caller.cancel()
		d.cancelling = true
		r.request.Finish(func() { panic("a cancelled request was executed") })
		d.cancelling = false
		d.decide("cancel", r.id, noQueue)
		delete(d.requests, ev.id)
	case reconfigure:
		completer, err := d.queues.BeginConfigChange(ev.level.queuing())
		if err != nil {
			panic(err) // the reader has checked the hand
		}
		completer.Complete(ev.level.dispatching())
	case touch:
		syncTime(d.view.set, context.Background())
	case demand:
		d.demandReport = demandWord(d.demand.Reset())
	}
}

func (d *driver) arrive(ev *event) {
	r := &request{id: ev.id}
	d.arriving = r
	estimate := &fcrequest.WorkEstimate{
		InitialSeats: ev.initialSeats, FinalSeats: ev.finalSeats, AdditionalLatency: time.Duration(ev.latency),
	}
	queueless := d.view.desiredQueues() < 1
	r.request, _ = d.queues.StartRequest(&r.caller, estimate, ev.hash, "", "", nil, nil, func(queued bool) { d.noteQueued(r, queued) })
	d.arriving = nil
	switch {
	case r.request == nil && queueless:
		d.decide("reject-concurrency-limit", r.id, noQueue)
		return
	case r.request == nil:
		d.decide("reject-queue-full", r.id, noQueue)
		return
	case queueless:
		r.state = executing
		d.decide("run", r.id, noQueue)
	case r.state == executing:
		for i := range d.decisions {
			if d.decisions[i].id == r.id {
				d.decisions[i].queue = d.view.queueOf(r.request)
			}
		}
	default:
		d.decide("wait", r.id, d.view.queueOf(r.request))
	}
	d.requests[r.id] = r
}

// noteQueued is called by the queue set, under its lock, when a request enters or leaves a queue.
func (d *driver) noteQueued(r *request, queued bool) {
	if queued || d.cancelling {
		return
	}
	r.state = executing
	queue := noQueue // of a request that is still arriving; arrive fills it in
	if d.arriving != r {
		queue = d.view.queueOf(r.request)
	}
	d.decide("run", r.id, queue)
}

func (d *driver) decide(what string, id uint64, queue int) {
	d.decisions = append(d.decisions, decision{what, id, queue})
}

// demandWord is a demand period as four f64 bit patterns: seconds, average, deviation, high watermark.
func demandWord(results fq.IntegratorResults) string {
	word := "demand"
	for _, x := range []float64{results.Duration, results.Average, results.Deviation, results.Max} {
		if math.IsNaN(x) {
			x = 0 // as the controller that reads them does
		}
		word += fmt.Sprintf(":%016x", math.Float64bits(x))
	}
	return word
}

// line is the event's line: its number, what it decided, the digest of the state after it.
func (d *driver) line(number int) []byte {
	out := strconv.AppendInt(d.out[:0], int64(number), 10)
	for _, decided := range d.decisions {
		out = append(out, ' ')
		out = append(out, decided.what...)
		out = append(out, ':')
		out = strconv.AppendUint(out, decided.id, 10)
		if decided.queue >= 0 {
			out = append(out, '@')
			out = strconv.AppendInt(out, int64(decided.queue), 10)
		}
	}
	if d.demandReport != "" {
		out = append(out, ' ')
		out = append(out, d.demandReport...)
	}
	out = append(out, " = "...)
	out = fmt.Appendf(out, "%016x\n", d.digest())
	d.out = out
	return out
}

// callerContext is the least context that can be cancelled: a request's own, in place of one goroutine-safe tree per request.
type callerContext struct{ done <-chan struct{} }

var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (c *callerContext) cancel()                          { c.done = closed }
func (c *callerContext) Done() <-chan struct{}            { return c.done }
func (c *callerContext) Deadline() (t time.Time, ok bool) { return }
func (c *callerContext) Value(any) any                    { return nil }
func (c *callerContext) Err() error {
	if c.done == nil {
		return nil
	}
	return context.Canceled
}

// noGauge drops what the queue set reports to gauges that nobody reads here.
type noGauge struct{}

func (noGauge) Set(float64)            {}
func (noGauge) Inc()                   {}
func (noGauge) Dec()                   {}
func (noGauge) Add(float64)            {}
func (noGauge) SetToCurrentTime()      {}
func (noGauge) SetDenominator(float64) {}
