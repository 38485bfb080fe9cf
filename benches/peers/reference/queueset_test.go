// Package reference measures the queue set of the Kubernetes API server on the same work that
// apf-core is measured on: see "saturated" and "idle" in benches/src/lib.rs.
package reference

import (
	"context"
	"fmt"
	"testing"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"
)

const (
	// The widest hand that the API allows with 4096 queues.
	handSize = 5
	// Limit of requests in one queue: high enough that nothing is rejected.
	queueLengthLimit = 1 << 20
	// Requests that wait per queue, on average, while the level is saturated.
	backlogPerQueue = 2
	// Seats of the saturated level, all taken all the time.
	seats = 16
)

var levels int

// newQueueSet makes a queue set as the API server makes it: real clock, registered metrics, seat-demand integrator.
func newQueueSet(b *testing.B, queues, hand, limit int) fq.QueueSet {
	metrics.Register()
	levels++
	name := fmt.Sprintf("level-%d", levels)
	labels := []string{name}
	clock := eventclock.Real{}
	completer, err := queueset.NewQueueSetFactory(clock).BeginConstruction(
		fq.QueuingConfig{Name: name, DesiredNumQueues: queues, QueueLengthLimit: queueLengthLimit, HandSize: hand},
		metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, labels),
		metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, labels),
		metrics.NewUnionGauge(fq.NewNamedIntegrator(clock, name), metrics.ApiserverSeatDemands.NewForLabelValuesSafe(0, 1, labels)),
	)
	if err != nil {
		b.Fatal(err)
	}
	return completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: limit, ConcurrencyDenominator: limit})
}

// hashes is the sequence of flow hashes (splitmix64), the same as on the other side.
type hashes uint64

func (state *hashes) next() uint64 {
	*state += 0x9e3779b97f4a7c15
	z := uint64(*state)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func start(qs fq.QueueSet, ctx context.Context, hash uint64, note fq.QueueNoteFn) fq.Request {
	work := request.WorkEstimate{InitialSeats: 1}
	req, _ := qs.StartRequest(ctx, &work, hash, "flow", "schema", "descr1", "descr2", note)
	return req
}

// BenchmarkIdle is one request at a time through a level in which nothing waits.
func BenchmarkIdle(b *testing.B) {
	for _, queues := range []int{64, 128, 1024, 4096} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			qs := newQueueSet(b, queues, handSize, seats)
			ctx := context.Background()
			var sequence hashes
			execute := func() {}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				start(qs, ctx, sequence.next(), func(bool) {}).Finish(execute)
			}
		})
	}
}

// BenchmarkSaturated finishes the request that has run longest, which starts another one, and lets a new one arrive.
func BenchmarkSaturated(b *testing.B) {
	for _, queues := range []int{64, 128, 1024, 4096} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			qs := newQueueSet(b, queues, handSize, seats)
			ctx := context.Background()
			var sequence hashes
			execute := func() {}
			running := make(chan fq.Request, 2*seats)
			arrive := func() {
				var req fq.Request
				started := false
				req = start(qs, ctx, sequence.next(), func(inQueue bool) {
					if inQueue {
						return
					}
					if req == nil {
						started = true
						return
					}
					running <- req
				})
				if started {
					running <- req
				}
			}
			for i := 0; i < seats+backlogPerQueue*queues; i++ {
				arrive()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				(<-running).Finish(execute)
				arrive()
			}
		})
	}
}
