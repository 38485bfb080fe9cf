package reference

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	// The hand of the cases in benches/contention.
	contentionHand = 8
	// Requests that wait all the time in the crowded cases.
	crowd = 200
)

// BenchmarkUncontended is the counterpart of "uncontended" in benches/contention: one goroutine, hands of 8.
func BenchmarkUncontended(b *testing.B) {
	for _, queues := range []int{64, 128, 1024} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			// Hands of 8 out of 1024 queues are beyond what the reference deals.
			qs := newQueueSet(b, queues, min(contentionHand, widestHand(queues)), seats)
			ctx := context.Background()
			var sequence hashes
			executed := 0
			execute := func() { executed++ }
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				start(qs, ctx, sequence.next(), func(bool) {}).Finish(execute)
			}
			b.StopTimer()
			if executed != b.N {
				b.Fatalf("%d of %d requests were executed", executed, b.N)
			}
		})
	}
}

// widestHand is how many cards of 60 bits of hash a deck allows.
func widestHand(queues int) int {
	if queues > 128 {
		return 6
	}
	return contentionHand
}

// BenchmarkCrowded is the counterpart of "crowded" in benches/contention: 216 goroutines share 16 seats, so that 200 wait.
// A request that executes lets the others run once.
func BenchmarkCrowded(b *testing.B) {
	for _, queues := range []int{64, 128} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			qs := newQueueSet(b, queues, contentionHand, seats)
			ctx := context.Background()
			var turn, executed, queued atomic.Int64
			execute := func() { executed.Add(1); runtime.Gosched() }
			var done sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for g := range seats + crowd {
				done.Add(1)
				go func() {
					defer done.Done()
					sequence := hashes(g << 32)
					note := func(inQueue bool) {
						if inQueue {
							queued.Add(1)
						}
					}
					for turn.Add(1) <= int64(b.N) {
						start(qs, ctx, sequence.next(), note).Finish(execute)
					}
				}()
			}
			done.Wait()
			b.StopTimer()
			if executed.Load() != int64(b.N) {
				b.Fatalf("%d of %d requests were executed", executed.Load(), b.N)
			}
			b.ReportMetric(float64(queued.Load())/float64(b.N), "queued/op")
		})
	}
}
