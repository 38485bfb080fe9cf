package bench

import (
	"context"
	"testing"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	fc "k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// referenceQueueSet is one level of the reference, with the metrics that its controller gives it.
func referenceQueueSet(tb testing.TB, seats, queues, handSize, queueLength int) fq.QueueSet {
	tb.Helper()
	metrics.Register()
	clock := eventclock.Real{}
	name := tb.Name()
	demand := metrics.NewUnionGauge(fq.NewNamedIntegrator(clock, name),
		metrics.ApiserverSeatDemands.NewForLabelValuesSafe(0, 1, []string{name}))
	completer, err := queueset.NewQueueSetFactory(clock).BeginConstruction(
		fq.QueuingConfig{Name: name, DesiredNumQueues: queues, HandSize: handSize, QueueLengthLimit: queueLength},
		metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, []string{name}),
		metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, []string{name}), demand)
	if err != nil {
		tb.Fatal(err)
	}
	return completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: seats, ConcurrencyDenominator: seats})
}

var oneSeat = &fcrequest.WorkEstimate{InitialSeats: 1}

func nothing() {}

// runReference sends one request through a level of the reference.
func runReference(ctx context.Context, set fq.QueueSet, hash uint64, serve func()) bool {
	r, _ := set.StartRequest(ctx, oneSeat, hash, "alice", "schema", nil, nil, func(bool) {})
	if r == nil {
		return false
	}
	executed := false
	r.Finish(func() {
		executed = true
		serve()
	})
	return executed
}

// referenceServer is the reference's controller on its built-in objects and 600 seats, running.
func referenceServer(tb testing.TB) fc.Interface {
	tb.Helper()
	metrics.Register()
	var objects []runtime.Object
	for _, schemas := range [][]*flowcontrol.FlowSchema{bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas} {
		for _, schema := range schemas {
			objects = append(objects, schema)
		}
	}
	for _, levels := range [][]*flowcontrol.PriorityLevelConfiguration{
		bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations,
	} {
		for _, level := range levels {
			objects = append(objects, level)
		}
	}
	client := fake.NewSimpleClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	server := fc.New(factory, client.FlowcontrolV1(), 600)
	stop := make(chan struct{})
	tb.Cleanup(func() { close(stop) })
	factory.Start(stop)
	go func() { _ = server.Run(stop) }()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		level := ""
		handle(tb.Context(), server, aliceDigest, func(_ *flowcontrol.FlowSchema, pl *flowcontrol.PriorityLevelConfiguration, _ string) {
			level = pl.Name
		}, nothing)
		if level == "global-default" {
			return server
		}
		if time.Now().After(deadline) {
			tb.Fatalf("the reference still classifies to %q", level)
		}
	}
}

var aliceDigest = fc.RequestDigest{
	RequestInfo: &request.RequestInfo{IsResourceRequest: true, Verb: "list", APIVersion: "v1", Resource: "pods", Namespace: "dev"},
	User:        &user.DefaultInfo{Name: "alice", Groups: []string{"system:authenticated"}},
}

func note(*flowcontrol.FlowSchema, *flowcontrol.PriorityLevelConfiguration, string) {}

func handle(ctx context.Context, server fc.Interface, digest fc.RequestDigest,
	note func(*flowcontrol.FlowSchema, *flowcontrol.PriorityLevelConfiguration, string), serve func()) {
	server.Handle(ctx, digest, note, func() fcrequest.WorkEstimate { return fcrequest.WorkEstimate{InitialSeats: 1} },
		func(bool) {}, serve)
}
