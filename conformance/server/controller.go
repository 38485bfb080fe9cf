package main

import (
	"context"
	"fmt"
	"reflect"
	"sort"
	"time"
	"unsafe"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	fc "k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/apiserver/pkg/util/shufflesharding"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
)

// The controller's own loop adjusts on the real clock, so these are called one at a time
// instead. They are methods of an unexported type: the receiver travels as a bare pointer.

//go:linkname lockAndDigestConfigObjects k8s.io/apiserver/pkg/util/flowcontrol.(*configController).lockAndDigestConfigObjects
func lockAndDigestConfigObjects(controller unsafe.Pointer, levels []*flowcontrol.PriorityLevelConfiguration, schemas []*flowcontrol.FlowSchema) []statusUpdate

//go:linkname updateBorrowing k8s.io/apiserver/pkg/util/flowcontrol.(*configController).updateBorrowing
func updateBorrowing(controller unsafe.Pointer)

//go:linkname startRequest k8s.io/apiserver/pkg/util/flowcontrol.(*configController).startRequest
func startRequest(controller unsafe.Pointer, ctx context.Context, digest fc.RequestDigest,
	note func(*flowcontrol.FlowSchema, *flowcontrol.PriorityLevelConfiguration, string),
	estimate func() fcrequest.WorkEstimate, queued fq.QueueNoteFn) (*flowcontrol.FlowSchema, *flowcontrol.PriorityLevelConfiguration, bool, fq.Request, time.Time)

//go:linkname maybeReap k8s.io/apiserver/pkg/util/flowcontrol.(*configController).maybeReap
func maybeReap(controller unsafe.Pointer, level string)

// statusUpdate has the layout of the unexported type that a digestion returns; checkLayout
// compares the two.
type statusUpdate struct {
	flowSchema *flowcontrol.FlowSchema
	condition  flowcontrol.FlowSchemaCondition
	oldValue   flowcontrol.FlowSchemaCondition
}

// controller is one simulated server.
type controller struct {
	clock    *stepClock
	recorder *recorder
	value    fc.Interface
	pointer  unsafe.Pointer
}

func newController(client kubernetes.Interface, serverLimit int) *controller {
	clock := newStepClock()
	rec := &recorder{inner: queueset.NewQueueSetFactory(clock)}
	value := fc.NewTestable(fc.TestableConfig{
		Name:                   "conformance",
		Clock:                  clock,
		AsFieldManager:         fc.ConfigConsumerAsFieldManager,
		FoundToDangling:        func(found bool) bool { return !found },
		InformerFactory:        kubeinformers.NewSharedInformerFactory(client, 0),
		FlowcontrolClient:      client.FlowcontrolV1(),
		ServerConcurrencyLimit: serverLimit,
		ReqsGaugeVec:           metrics.PriorityLevelConcurrencyGaugeVec,
		ExecSeatsGaugeVec:      metrics.PriorityLevelExecutionSeatsGaugeVec,
		QueueSetFactory:        rec,
	})
	return &controller{clock: clock, recorder: rec, value: value, pointer: reflect.ValueOf(value).UnsafePointer()}
}

// work is the queue that tells the controller's worker to digest.
func (c *controller) work() workqueue.TypedRateLimitingInterface[int] {
	return unlocked(c.fields().FieldByName("configQueue")).Interface().(workqueue.TypedRateLimitingInterface[int])
}

// takeWork takes what is in the work queue and says whether there was any.
func (c *controller) takeWork() bool {
	queue := c.work()
	if queue.Len() == 0 {
		return false
	}
	item, _ := queue.Get()
	queue.Done(item)
	return true
}

// close stops the goroutines of the work queue.
func (c *controller) close() { c.work().ShutDown() }

func (c *controller) fields() reflect.Value { return reflect.ValueOf(c.value).Elem() }

// unlocked makes the value of an unexported field usable.
func unlocked(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// levels returns the state of every level by name.
func (c *controller) levels() map[string]reflect.Value {
	found := map[string]reflect.Value{}
	for states := c.fields().FieldByName("priorityLevelStates").MapRange(); states.Next(); {
		found[states.Key().String()] = states.Value().Elem()
	}
	return found
}

func (c *controller) level(name string) (levelState, bool) {
	state, ok := c.levels()[name]
	if !ok {
		return levelState{}, false
	}
	return c.readLevel(name, state), true
}

func (c *controller) readLevel(name string, state reflect.Value) levelState {
	number := func(field string) int { return int(state.FieldByName(field).Int()) }
	stats := state.FieldByName("seatDemandStats")
	set := unlocked(state.FieldByName("queues")).Interface().(*recordingSet)
	return levelState{
		Name:          name,
		Quiescing:     state.FieldByName("quiescing").Bool(),
		NominalCL:     number("nominalCL"),
		MinCL:         number("minCL"),
		MaxCL:         number("maxCL"),
		CurrentCL:     number("currentCL"),
		MaxSeats:      c.value.GetMaxSeats(name),
		AppliedCL:     set.dispatching.ConcurrencyLimit,
		Queues:        set.queuing.DesiredNumQueues,
		HandSize:      set.queuing.HandSize,
		QueueLength:   set.queuing.QueueLengthLimit,
		HighWatermark: int(stats.FieldByName("highWatermark").Int()),
		Average:       stats.FieldByName("avg").Float(),
		Deviation:     stats.FieldByName("stdDev").Float(),
		Smoothed:      stats.FieldByName("smoothed").Float(),
		Seats:         set.occupied(),
	}
}

func (s *recordingSet) occupied() occupiedSeats {
	fields := reflect.ValueOf(s.QueueSet).Elem()
	number := func(field string) int { return int(fields.FieldByName(field).Int()) }
	return occupiedSeats{
		Waiting:      number("totRequestsWaiting"),
		SeatsWaiting: number("totSeatsWaiting"),
		Executing:    number("totRequestsExecuting"),
		SeatsInUse:   number("totSeatsInUse"),
	}
}

func (c *controller) allLevels() []levelState {
	all := []levelState{}
	for name, state := range c.levels() {
		all = append(all, c.readLevel(name, state))
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

func (c *controller) schemas() []string {
	names := []string{}
	list := c.fields().FieldByName("flowSchemas")
	for i := range list.Len() {
		names = append(names, list.Index(i).Elem().FieldByName("Name").String())
	}
	return names
}

// waits tells whether a request still waits: one that was let through has a start time.
func waits(req fq.Request) bool {
	return reflect.ValueOf(req).Elem().FieldByName("startTime").IsZero()
}

// queueOf returns the index of the request's queue, -1 when it is in none.
func queueOf(req fq.Request) int {
	queue := reflect.ValueOf(req).Elem().FieldByName("queue")
	if queue.IsNil() {
		return -1
	}
	return int(queue.Elem().FieldByName("index").Int())
}

// deal returns the hand of a flow, nil for a level that does not deal.
func deal(config fq.QueuingConfig, flowHash uint64) []int {
	if config.DesiredNumQueues < 1 {
		return nil
	}
	dealer, err := shufflesharding.NewDealer(config.DesiredNumQueues, config.HandSize)
	if err != nil {
		return nil
	}
	return dealer.DealIntoHand(flowHash, make([]int, 0, config.HandSize))
}

// checkLayout refuses to run against a reference whose private parts have moved: a mismatch would
// read garbage rather than fail.
func checkLayout(c *controller) error {
	want := []struct {
		field string
		kind  reflect.Kind
	}{
		{"priorityLevelStates", reflect.Map}, {"flowSchemas", reflect.Slice}, {"configQueue", reflect.Interface},
	}
	for _, field := range want {
		if got := c.fields().FieldByName(field.field); got.Kind() != field.kind {
			return fmt.Errorf("the controller's field %s is %v, not %v", field.field, got.Kind(), field.kind)
		}
	}
	return nil
}
