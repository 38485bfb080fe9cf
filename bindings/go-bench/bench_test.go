// Package bench holds the Go package against the reference and against a plain semaphore, side by side: slices of a few
// milliseconds in turn, so that what else the machine does meets all of them. `times` is the median of the ratios.
//
//	go test -bench . -benchtime 1x
package bench

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	apf "apf.invalid/bindings/go"
)

const rounds = 41

// peer runs a number of requests.
type peer struct {
	name string
	run  func(requests int)
}

// sideBySide reports nanoseconds a request for each peer, and how many times longer each takes than the first.
func sideBySide(b *testing.B, slice time.Duration, peers ...peer) {
	b.Helper()
	counts := make([]int, len(peers))
	for i, p := range peers {
		count := 100
		for {
			begun := time.Now()
			p.run(count)
			took := time.Since(begun)
			if took >= slice/2 || count > 10_000_000 {
				counts[i] = max(100, int(float64(count)*float64(slice)/float64(took)))
				break
			}
			count *= 2
		}
	}
	b.ResetTimer()
	times := make([][]float64, len(peers))
	ratios := make([][]float64, len(peers))
	for range rounds {
		var first float64
		for i, p := range peers {
			begun := time.Now()
			p.run(counts[i])
			each := float64(time.Since(begun).Nanoseconds()) / float64(counts[i])
			if i == 0 {
				first = each
			}
			times[i] = append(times[i], each)
			ratios[i] = append(ratios[i], each/first)
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	for i, p := range peers {
		b.ReportMetric(median(times[i]), p.name+"-ns")
		if i > 0 {
			b.ReportMetric(median(ratios[i]), p.name+"-times")
		}
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// configuration has a level with 64 queues, and these seats of a thousand.
func configuration(seats, queueLength int) apf.Config {
	return apf.Config{MandatoryOnly: true, Text: fmt.Sprintf(`
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: test}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: %d
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: %d}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: filler}
spec: {type: Limited, limited: {nominalConcurrencyShares: %d, limitResponse: {type: Reject}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: test}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: test}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: User, user: {name: "*"}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"]}]
`, seats, queueLength, 995-seats)}
}

func dispatcher(tb testing.TB, options apf.Options) *apf.Dispatcher {
	tb.Helper()
	d, err := apf.New(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	return d
}

func alice() *apf.Request {
	return &apf.Request{
		User: "alice", Groups: []string{"system:authenticated"}, Verb: "list", APIVersion: "v1", Resource: "pods", Namespace: "dev",
	}
}

func levelNumber(tb testing.TB, d *apf.Dispatcher) uint32 {
	tb.Helper()
	number, err := d.Level("test")
	if err != nil {
		tb.Fatal(err)
	}
	return number
}

// The reference's StartRequest gets the flow's hash, and so does AcquireClassified; Acquire classifies besides.
func BenchmarkAdmitted(b *testing.B) {
	d := dispatcher(b, apf.Options{Seats: 1000, Config: configuration(245, 50)})
	classified := &apf.Classified{Level: levelNumber(b, d), FlowHash: 0x123456789abcdef}
	request := alice()
	set := referenceQueueSet(b, 245, 64, 6, 50)
	weighted := semaphore.NewWeighted(245)
	ctx := b.Context()
	allocations := testing.AllocsPerRun(1000, func() {
		permit, err := d.Acquire(ctx, request)
		if err != nil {
			b.Fatal(err)
		}
		permit.Release()
	})
	ofReference := testing.AllocsPerRun(1000, func() { runReference(ctx, set, classified.FlowHash, nothing) })
	defer func() {
		b.ReportMetric(allocations, "apf-allocs")
		b.ReportMetric(ofReference, "reference-allocs")
	}()
	sideBySide(b, 5*time.Millisecond,
		peer{"apf", func(requests int) {
			for range requests {
				permit, err := d.AcquireClassified(ctx, classified)
				if err != nil {
					b.Fatal(err)
				}
				permit.Release()
			}
		}},
		peer{"apf-classifying", func(requests int) {
			for range requests {
				permit, err := d.Acquire(ctx, request)
				if err != nil {
					b.Fatal(err)
				}
				permit.Release()
			}
		}},
		peer{"reference", func(requests int) {
			for range requests {
				if !runReference(ctx, set, classified.FlowHash, nothing) {
					b.Fatal("not executed")
				}
			}
		}},
		peer{"semaphore", func(requests int) {
			for range requests {
				if weighted.Acquire(ctx, 1) != nil {
					b.Fatal("not acquired")
				}
				weighted.Release(1)
			}
		}})
}

// Classification and admission on the built-in objects.
func BenchmarkWholePath(b *testing.B) {
	d := dispatcher(b, apf.Options{})
	request := alice()
	server := referenceServer(b)
	ctx := b.Context()
	sideBySide(b, 5*time.Millisecond,
		peer{"apf", func(requests int) {
			for range requests {
				permit, err := d.Acquire(ctx, request)
				if err != nil {
					b.Fatal(err)
				}
				permit.Release()
			}
		}},
		peer{"reference", func(requests int) {
			for range requests {
				handle(ctx, server, aliceDigest, note, nothing)
			}
		}})
}

const (
	goroutines   = 200
	contestSeats = 4
)

// crowd runs as many requests as said from 200 goroutines.
func crowd(requests int, one func(goroutine int)) {
	var left atomic.Int64
	left.Store(int64(requests))
	var all sync.WaitGroup
	for i := range goroutines {
		all.Add(1)
		go func() {
			defer all.Done()
			for left.Add(-1) >= 0 {
				one(i)
				runtime.Gosched() // the next request is another client's
			}
		}()
	}
	all.Wait()
}

// busy is half a microsecond of work, roughly.
func busy() {
	for begun := time.Now(); time.Since(begun) < 500*time.Nanosecond; {
	}
}

// 200 goroutines, 4 seats, requests of half a microsecond.
func BenchmarkSaturated(b *testing.B) {
	d := dispatcher(b, apf.Options{Seats: 1000, Config: configuration(contestSeats, 1000)})
	number := levelNumber(b, d)
	set := referenceQueueSet(b, contestSeats, 64, 6, 1000)
	weighted := semaphore.NewWeighted(contestSeats)
	ctx := b.Context()
	hash := func(goroutine int) uint64 { return uint64(goroutine%20+1) * 0x9e3779b97f4a7c15 }
	requests := [20]*apf.Request{}
	for i := range requests {
		requests[i] = alice()
		requests[i].User = fmt.Sprintf("user-%d", i)
	}
	sideBySide(b, 30*time.Millisecond,
		peer{"apf", func(count int) {
			crowd(count, func(i int) {
				permit, err := d.AcquireClassified(ctx, &apf.Classified{Level: number, FlowHash: hash(i)})
				if err != nil {
					b.Error(err)
					return
				}
				busy()
				permit.Release()
			})
		}},
		peer{"apf-classifying", func(count int) {
			crowd(count, func(i int) {
				permit, err := d.Acquire(ctx, requests[i%len(requests)])
				if err != nil {
					b.Error(err)
					return
				}
				busy()
				permit.Release()
			})
		}},
		peer{"reference", func(count int) {
			crowd(count, func(i int) {
				if !runReference(ctx, set, hash(i), busy) {
					b.Error("not executed")
				}
			})
		}},
		peer{"semaphore", func(count int) {
			crowd(count, func(int) {
				if err := weighted.Acquire(ctx, 1); err != nil {
					b.Error(err)
					return
				}
				busy()
				weighted.Release(1)
			})
		}})
}
