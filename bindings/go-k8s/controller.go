// Package apfk8s is the dispatcher in the shape of k8s.io/apiserver's: a [Controller] goes wherever that module takes a
// flowcontrol.Interface, in its own filter for one, in place of what flowcontrol.New makes.
//
//	controller, err := apfk8s.New(informerFactory, 600)
//	...
//	handler = filters.WithPriorityAndFairness(handler, longRunning, controller, workEstimator, 15*time.Second)
//	go controller.Run(stop)
//
// It decides in exact mode: as the reference does, request by request. What it does not do is to write: the conditions of
// FlowSchemas (Dangling) stay as they are. Its metrics are those of the dispatcher ([Controller.Dispatcher]), not of the
// registry of k8s.io/component-base.
package apfk8s

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/server/mux"
	fc "k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/flowcontrol/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	apf "apf.invalid/bindings/go"
)

// The part of a level's seats that a request may be estimated at.
const widestPart = 0.15

// Controller admits requests, on the configuration that the API has.
type Controller struct {
	fc.WatchTracker
	fc.MaxSeatsTracker

	dispatcher *apf.Dispatcher
	objects    atomic.Pointer[objects]

	schemas listers.FlowSchemaLister
	levels  listers.PriorityLevelConfigurationLister
	synced  []cache.InformerSynced
	changed chan struct{}

	digest sync.Mutex
	// widths are the names that MaxSeatsTracker has.
	widths map[string]bool
}

var _ fc.Interface = (*Controller)(nil)

// New makes a controller on the informers of a factory, which is to be started afterwards. Until Run has read the API, the
// mandatory objects are in force.
func New(factory informers.SharedInformerFactory, seats int) (*Controller, error) {
	c, err := NewStatic(seats, nil, nil)
	if err != nil {
		return nil, err
	}
	flowcontrolInformers := factory.Flowcontrol().V1()
	schemas, levels := flowcontrolInformers.FlowSchemas(), flowcontrolInformers.PriorityLevelConfigurations()
	c.schemas, c.levels = schemas.Lister(), levels.Lister()
	tell := func(any) {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, after any) { tell(after) }, DeleteFunc: tell}
	for _, informer := range []cache.SharedIndexInformer{schemas.Informer(), levels.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			c.Close()
			return nil, err
		}
		c.synced = append(c.synced, informer.HasSynced)
	}
	return c, nil
}

// NewStatic makes a controller on these objects and the mandatory ones, for servers without an API to read them from.
func NewStatic(seats int, schemas []*flowcontrol.FlowSchema, levels []*flowcontrol.PriorityLevelConfiguration) (*Controller, error) {
	dispatcher, err := apf.New(apf.Options{
		Seats: int64(seats), Mode: apf.ModeExact, Config: apf.Config{MandatoryOnly: true}, QueueWaitLimit: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	c := &Controller{
		WatchTracker: fc.NewWatchTracker(), MaxSeatsTracker: fc.NewMaxSeatsTracker(), dispatcher: dispatcher,
		changed: make(chan struct{}, 1), widths: map[string]bool{},
	}
	if err := c.SetObjects(schemas, levels); err != nil {
		dispatcher.Close()
		return nil, err
	}
	return c, nil
}

// Dispatcher is what decides: for its statistics, metrics and dumps.
func (c *Controller) Dispatcher() *apf.Dispatcher { return c.dispatcher }

// Close ends the dispatcher.
func (c *Controller) Close() { c.dispatcher.Close() }

// Run keeps to the configuration that the API has, until the channel is closed.
func (c *Controller) Run(stop <-chan struct{}) error {
	if c.schemas == nil {
		<-stop
		return nil
	}
	if !cache.WaitForCacheSync(stop, c.synced...) {
		return errors.New("never achieved initial sync")
	}
	for {
		if err := c.readAPI(); err != nil {
			klog.Errorf("priority and fairness keeps to the configuration before: %v", err)
		}
		select {
		case <-c.changed:
		case <-stop:
			return nil
		}
	}
}

func (c *Controller) readAPI() error {
	schemas, err := c.schemas.List(labels.Everything())
	if err != nil {
		return err
	}
	levels, err := c.levels.List(labels.Everything())
	if err != nil {
		return err
	}
	return c.SetObjects(schemas, levels)
}

// SetObjects replaces the configuration. With an error nothing has changed.
func (c *Controller) SetObjects(schemas []*flowcontrol.FlowSchema, levels []*flowcontrol.PriorityLevelConfiguration) error {
	c.digest.Lock()
	defer c.digest.Unlock()
	text, err := manifest(schemas, levels)
	if err != nil {
		return err
	}
	if _, err := c.dispatcher.SetConfig(apf.Config{Text: text, Name: "API objects", Lenient: true, MandatoryOnly: true}); err != nil {
		return err
	}
	inForce := newObjects(schemas, levels)
	c.objects.Store(inForce)
	return c.setWidths(inForce)
}

// manifest has the objects as documents of JSON.
func manifest(schemas []*flowcontrol.FlowSchema, levels []*flowcontrol.PriorityLevelConfiguration) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, object := range schemas {
		named := *object
		named.APIVersion, named.Kind = flowcontrol.SchemeGroupVersion.String(), "FlowSchema"
		named.ManagedFields, named.Status = nil, flowcontrol.FlowSchemaStatus{}
		text.WriteString("---\n")
		if err := encoder.Encode(&named); err != nil {
			return "", err
		}
	}
	for _, object := range levels {
		named := *object
		named.APIVersion, named.Kind = flowcontrol.SchemeGroupVersion.String(), "PriorityLevelConfiguration"
		named.ManagedFields, named.Status = nil, flowcontrol.PriorityLevelConfigurationStatus{}
		text.WriteString("---\n")
		if err := encoder.Encode(&named); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

// setWidths tells the work estimator how wide a request of each level may be.
func (c *Controller) setWidths(inForce *objects) error {
	stats, err := c.dispatcher.Stats()
	if err != nil {
		return err
	}
	now := map[string]bool{}
	for name, level := range inForce.levels {
		numbers := stats.Level(name)
		if numbers == nil || level.Spec.Limited == nil {
			continue
		}
		handSize := int32(1)
		if queuing := level.Spec.Limited.LimitResponse.Queuing; queuing != nil {
			handSize = queuing.HandSize
		}
		nominal := numbers.NominalLimit
		width := max(1, min(math.Ceil(float64(nominal)*widestPart), float64(int32(nominal)/max(handSize, 1))))
		c.SetMaxSeats(name, uint64(width))
		now[name] = true
	}
	for name := range c.widths {
		if !now[name] {
			c.ForgetPriorityLevel(name)
		}
	}
	c.widths = now
	return nil
}

// Handle classifies a request, lets it wait for its turn, and executes it, or does not: see flowcontrol.Interface.
func (c *Controller) Handle(ctx context.Context, digest fc.RequestDigest,
	noteFn func(fs *flowcontrol.FlowSchema, pl *flowcontrol.PriorityLevelConfiguration, flowDistinguisher string),
	workEstimator func() fcrequest.WorkEstimate,
	queueNoteFn fq.QueueNoteFn,
	execFn func()) {
	noteFn(c.objects.Load().classify(digest))
	work := workEstimator()

	info := digest.RequestInfo
	request := apf.Request{
		User: digest.User.GetName(), Groups: digest.User.GetGroups(), Verb: info.Verb, OnWait: queueNoteFn,
		Cost: apf.Cost{Seats: work.InitialSeats, FinalSeats: work.FinalSeats, AdditionalLatency: work.AdditionalLatency},
	}
	if info.IsResourceRequest {
		request.APIGroup, request.APIVersion, request.Namespace = info.APIGroup, info.APIVersion, info.Namespace
		request.Resource, request.Subresource, request.Name = info.Resource, info.Subresource, info.Name
	} else {
		request.Path = info.Path
	}
	if ctx.Err() != nil {
		// Too late to wait, but not to be executed at once.
		ctx, request.WaitLimit = context.WithoutCancel(ctx), -1
	} else if deadline, found := ctx.Deadline(); found {
		// The engine's time-out, so that it counts as one.
		request.WaitLimit = time.Until(deadline)
		if request.WaitLimit == 0 {
			request.WaitLimit = -1
		}
	}
	permit, err := c.dispatcher.Acquire(ctx, &request)
	if err != nil {
		if !errors.Is(err, apf.ErrRejected) && ctx.Err() == nil {
			klog.Errorf("priority and fairness refuses a request: %v", err)
		}
		return
	}
	defer permit.Release()
	execFn()
}

// Install serves the dumps under the addresses that the reference has for them.
func (c *Controller) Install(m *mux.PathRecorderMux) {
	serve := func(table func(*http.Request) apf.Table) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			text, err := c.dispatcher.Dump(table(r))
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, text)
		}
	}
	always := func(table apf.Table) func(*http.Request) apf.Table {
		return func(*http.Request) apf.Table { return table }
	}
	const root = "/debug/api_priority_and_fairness/"
	m.UnlistedHandleFunc(root+"dump_priority_levels", serve(always(apf.TablePriorityLevels)))
	m.UnlistedHandleFunc(root+"dump_queues", serve(always(apf.TableQueues)))
	m.UnlistedHandleFunc(root+"dump_requests", serve(func(r *http.Request) apf.Table {
		if r.URL.Query().Get("includeRequestDetails") != "" {
			return apf.TableRequestsWithDetails
		}
		return apf.TableRequests
	}))
}
