package main

import (
	"bufio"
	"container/list"
	"context"
	"fmt"
	"reflect"
	"unsafe"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// syncTime is the queue set's own step that advances R and does nothing else. No exported call does only that.
//
//go:linkname syncTime k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset.(*queueSet).syncTimeLocked
func syncTime(set unsafe.Pointer, ctx context.Context)

// layout holds the offsets of the unexported fields that make up a level's state. They are looked up by name and type once, so that
// a release of the module that renames one fails at the start, and reading the state after each event costs no reflection.
type layout struct {
	currentR, robinIndex, enqueues, queues            uintptr
	requestsWaiting, requestsExecuting                uintptr
	seatsInUse, seatsWaiting, rejected, cancelled     uintptr
	desiredQueues                                     uintptr
	queueFIFO, queueNextR, queueExecuting, queueIndex uintptr
	queueSeats                                        uintptr
	fifoList, sumInitial, sumMax, sumWork             uintptr
	requestQueue                                      uintptr
	setType, requestType                              reflect.Type
}

// probeLayout finds the offsets on a queue set with one queue.
func probeLayout() *layout {
	clock := &traceClock{}
	gauges := metrics.RatioedGaugePair{RequestsWaiting: noGauge{}, RequestsExecuting: noGauge{}}
	completer, err := queueset.NewQueueSetFactory(clock).BeginConstruction(
		fq.QueuingConfig{DesiredNumQueues: 1, HandSize: 1, QueueLengthLimit: 1}, gauges, noGauge{}, noGauge{})
	if err != nil {
		panic(err)
	}
	set := reflect.ValueOf(completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: 1, ConcurrencyDenominator: 1})).Elem()
	queue := set.FieldByName("queues").Index(0).Elem()
	fifo := queue.FieldByName("requestsWaiting").Elem().Elem()
	sum, _ := fifo.Type().FieldByName("sum")
	config, _ := set.Type().FieldByName("qCfg")
	requestType := queue.FieldByName("requestsExecuting").Type().Key().Elem()

	integer, seatSeconds := reflect.TypeFor[int](), reflect.TypeFor[fcrequest.SeatSeconds]()
	t := set.Type()
	return &layout{
		currentR:          offset(t, "currentR", seatSeconds),
		robinIndex:        offset(t, "robinIndex", integer),
		enqueues:          offset(t, "enqueues", integer),
		queues:            offset(t, "queues", reflect.SliceOf(reflect.PointerTo(queue.Type()))),
		requestsWaiting:   offset(t, "totRequestsWaiting", integer),
		requestsExecuting: offset(t, "totRequestsExecuting", integer),
		seatsInUse:        offset(t, "totSeatsInUse", integer),
		seatsWaiting:      offset(t, "totSeatsWaiting", integer),
		rejected:          offset(t, "totRequestsRejected", integer),
		cancelled:         offset(t, "totRequestsCancelled", integer),
		desiredQueues:     config.Offset + offset(config.Type, "DesiredNumQueues", integer),
		queueFIFO:         offset(queue.Type(), "requestsWaiting", queue.FieldByName("requestsWaiting").Type()),
		queueNextR:        offset(queue.Type(), "nextDispatchR", seatSeconds),
		queueExecuting:    offset(queue.Type(), "requestsExecuting", queue.FieldByName("requestsExecuting").Type()),
		queueIndex:        offset(queue.Type(), "index", integer),
		queueSeats:        offset(queue.Type(), "seatsInUse", integer),
		fifoList:          offset(fifo.Type(), "List", reflect.TypeFor[*list.List]()),
		sumInitial:        sum.Offset + offset(sum.Type, "InitialSeatsSum", integer),
		sumMax:            sum.Offset + offset(sum.Type, "MaxSeatsSum", integer),
		sumWork:           sum.Offset + offset(sum.Type, "TotalWorkSum", seatSeconds),
		requestQueue:      offset(requestType, "queue", reflect.PointerTo(queue.Type())),
		setType:           t,
		requestType:       requestType,
	}
}

func offset(t reflect.Type, name string, want reflect.Type) uintptr {
	field, ok := t.FieldByName(name)
	if !ok || field.Type != want {
		panic(fmt.Sprintf("%v has no field %s of type %v: this program was written for another release of k8s.io/apiserver", t, name, want))
	}
	return field.Offset
}

// view reads the state of one queue set. The driver is single-threaded, so the set's lock is free whenever it is used.
type view struct {
	*layout
	set unsafe.Pointer
}

func (l *layout) view(set fq.QueueSet) view {
	value := reflect.ValueOf(set)
	if value.Type().Elem() != l.setType {
		panic(fmt.Sprintf("%v is not the queue set that was probed", value.Type()))
	}
	return view{layout: l, set: value.UnsafePointer()}
}

func read[T any](base unsafe.Pointer, at uintptr) T { return *(*T)(unsafe.Add(base, at)) }

func (v view) desiredQueues() int { return read[int](v.set, v.layout.desiredQueues) }

// queueOf is the index of a request's queue, or -1 if it has none.
func (v view) queueOf(r fq.Request) int {
	value := reflect.ValueOf(r)
	if value.Type().Elem() != v.requestType {
		panic(fmt.Sprintf("%v is not the request type that was probed", value.Type()))
	}
	queue := read[unsafe.Pointer](value.UnsafePointer(), v.requestQueue)
	if queue == nil {
		return -1
	}
	return read[int](queue, v.queueIndex)
}

// queueState is one queue as the digest sees it.
type queueState struct {
	nextR, work                     uint64
	waiting, initialSeats, maxSeats int
	executing, seatsInUse           int
	list                            *list.List
}

func (v view) allQueues() []unsafe.Pointer { return read[[]unsafe.Pointer](v.set, v.queues) }

func (v view) queue(q unsafe.Pointer) queueState {
	// An interface value is a type word and a data word; the data is the pointer to the list.
	fifo := read[[2]unsafe.Pointer](q, v.queueFIFO)[1]
	waiting := read[*list.List](fifo, v.fifoList)
	return queueState{
		nextR:        read[uint64](q, v.queueNextR),
		waiting:      waiting.Len(),
		initialSeats: read[int](fifo, v.sumInitial),
		maxSeats:     read[int](fifo, v.sumMax),
		work:         read[uint64](fifo, v.sumWork),
		executing:    len(read[map[unsafe.Pointer]struct{}](q, v.queueExecuting)),
		seatsInUse:   read[int](q, v.queueSeats),
		list:         waiting,
	}
}

const (
	digestStart      = 0xcbf29ce484222325
	digestMultiplier = 0x9e3779b97f4a7c15
)

// digest folds the whole state, word by word in the documented order, into 64 bits.
func (d *driver) digest() uint64 {
	v, h := d.view, uint64(digestStart)
	add := func(words ...uint64) {
		for _, word := range words {
			h = (h ^ word) * digestMultiplier
			h ^= h >> 29
		}
	}
	count := func(at uintptr) uint64 { return uint64(read[int](v.set, at)) }
	queues := v.allQueues()
	add(read[uint64](v.set, v.currentR), count(v.robinIndex), count(v.enqueues),
		count(v.requestsWaiting), count(v.requestsExecuting), count(v.seatsInUse), count(v.seatsWaiting),
		count(v.rejected), count(v.cancelled), d.log.epochAdvances, d.log.failedEpochAdvances, uint64(len(queues)))
	for _, pointer := range queues {
		q := v.queue(pointer)
		add(q.nextR, uint64(q.waiting), uint64(q.initialSeats), uint64(q.maxSeats), q.work, uint64(q.executing), uint64(q.seatsInUse))
	}
	return h
}

// writeState prints what the digest folds, and the waiting requests of each queue, oldest first.
func (d *driver) writeState(out *bufio.Writer) {
	v := d.view
	count := func(at uintptr) int { return read[int](v.set, at) }
	queues := v.allQueues()
	fmt.Fprintf(out, "| R=%d robin=%d enqueues=%d queues=%d\n",
		read[uint64](v.set, v.currentR), count(v.robinIndex), count(v.enqueues), len(queues))
	fmt.Fprintf(out, "| waiting=%d executing=%d seatsInUse=%d seatsWaiting=%d rejected=%d cancelled=%d epochs=%d failedEpochs=%d\n",
		count(v.requestsWaiting), count(v.requestsExecuting), count(v.seatsInUse), count(v.seatsWaiting),
		count(v.rejected), count(v.cancelled), d.log.epochAdvances, d.log.failedEpochAdvances)
	ids := map[unsafe.Pointer]uint64{}
	for id, r := range d.requests {
		ids[reflect.ValueOf(r.request).UnsafePointer()] = id
	}
	for i, pointer := range queues {
		q := v.queue(pointer)
		fmt.Fprintf(out, "| queue %d: nextDispatchR=%d waiting=%d initialSeats=%d maxSeats=%d work=%d executing=%d seatsInUse=%d",
			i, q.nextR, q.waiting, q.initialSeats, q.maxSeats, q.work, q.executing, q.seatsInUse)
		for e := q.list.Front(); e != nil; e = e.Next() {
			fmt.Fprintf(out, " %d", ids[reflect.ValueOf(e.Value).UnsafePointer()])
		}
		fmt.Fprintln(out)
	}
}
