package apf_test

// Cases from public reports, of this kind of library and of others.

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apf "apf.invalid/bindings/go"
)

// golang/go issue 37852: the waiter at the front leaves, and those behind it would fit.
func TestH1AWaiterThatLeavesLetsTheNextStart(t *testing.T) {
	d := levelOf(t, 4, 1, 1, 10)
	first, second := acquire(t, d, by("a")), acquire(t, d, by("a"))
	ctx, leave := context.WithCancel(t.Context())
	wide := by("a")
	wide.Seats = 4
	front := begin(ctx, d, wide)
	waits(t, d, 1)
	next := begin(t.Context(), d, by("a"))
	waits(t, d, 2)
	leave()
	r := within(t, next)
	if r.err != nil {
		t.Fatal(r.err)
	}
	if r := within(t, front); !errors.Is(r.err, context.Canceled) {
		t.Fatalf("got %v", r.err)
	}
	for _, permit := range []*apf.Permit{first, second, r.permit} {
		permit.Release()
	}
	idle(t, d)
}

// agronholm/anyio issue 947 and others: cancelled between the grant and the wake-up.
func TestH2AGrantThatMeetsACancellationIsPassedOn(t *testing.T) {
	d := levelOf(t, 1, 1, 1, 10)
	var granted, cancelled int
	rounds := 4000
	if testing.Short() {
		rounds = 1000
	}
	for i := range rounds {
		held := acquire(t, d, by("a"))
		ctx, cancel := context.WithCancel(t.Context())
		first := begin(ctx, d, by("a"))
		waits(t, d, 1)
		second := begin(t.Context(), d, by("a"))
		waits(t, d, 2)
		var both sync.WaitGroup
		both.Add(2)
		go func() {
			defer both.Done()
			spin(i % 60)
			cancel()
		}()
		go func() {
			defer both.Done()
			spin(60 - i%60)
			held.Release()
		}()
		both.Wait()
		r := within(t, first)
		if r.err == nil {
			granted++
			r.permit.Release()
		} else if errors.Is(r.err, context.Canceled) {
			cancelled++
		} else {
			t.Fatal(r.err)
		}
		if r := within(t, second); r.err != nil {
			t.Fatal(r.err)
		} else {
			r.permit.Release()
		}
		idle(t, d)
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d granted, %d cancelled", granted, cancelled)
}

var sink atomic.Uint64

func spin(turns int) {
	for range turns {
		sink.Add(1)
	}
}

// golang/go issues 24608 and 36530: whoever has just been granted or refused may call everything, at once, also while
// timers run out and the configuration changes.
func TestH9EveryCallIsAllowedFromWhereverADecisionArrives(t *testing.T) {
	noGoroutinesLeft(t)
	d := levelOf(t, 1, 1, 1, 50)
	var workers sync.WaitGroup
	for i := range 20 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			request := by("a")
			request.WaitLimit = time.Duration(i+1) * time.Millisecond
			for range 20 {
				permit, err := d.Acquire(t.Context(), request)
				if err != nil && !errors.Is(err, apf.ErrRejected) {
					t.Error(err)
				}
				another, err := d.TryAcquire(request)
				if err != nil && !errors.Is(err, apf.ErrRejected) {
					t.Error(err)
				}
				another.Release()
				if _, err := d.Dump(apf.TableRequests); err != nil {
					t.Error(err)
				}
				if _, err := d.SetConfig(oneLevel(1+i%2, 1, 1, 50)); err != nil {
					t.Error(err)
				}
				if _, err := d.Stats(); err != nil {
					t.Error(err)
				}
				permit.Release()
			}
		}()
	}
	done := make(chan struct{})
	go func() {
		workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		t.Fatal("deadlock")
	}
	idle(t, d)
}

// aio-libs/aiohttp issue 9670: time-outs and releases in the same tick.
func TestH12TimeOutsAndReleasesTogetherKeepTheBooks(t *testing.T) {
	noGoroutinesLeft(t)
	d := levelOf(t, 2, 4, 2, 50)
	seconds := 2
	if testing.Short() {
		seconds = 1
	}
	var stop atomic.Bool
	var served, ended atomic.Uint64
	var clients sync.WaitGroup
	for i := range 50 {
		clients.Add(1)
		go func() {
			defer clients.Done()
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for !stop.Load() {
				limit := time.Millisecond + time.Duration(random.IntN(int(4*time.Millisecond)))
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				request := by(string(rune('a' + i%7)))
				if i%2 == 0 {
					request.WaitLimit = limit // the engine's timer instead of the context's
				}
				permit, err := d.Acquire(ctx, request)
				if err == nil {
					served.Add(1)
					time.Sleep(time.Duration(random.IntN(int(time.Millisecond))))
					permit.Release()
				} else {
					ended.Add(1)
					if !errors.Is(err, apf.ErrRejected) && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				}
				cancel()
			}
		}()
	}
	for range seconds * 4 {
		before := served.Load()
		time.Sleep(250 * time.Millisecond)
		if served.Load() == before {
			t.Error("nothing was served for 250 ms")
		}
	}
	stop.Store(true)
	clients.Wait()
	idle(t, d)
	if served.Load() == 0 || ended.Load() == 0 {
		t.Errorf("%d served, %d ended by time: the case has not happened", served.Load(), ended.Load())
	}
}

// Everything at once, with garbage collections forced: no seat and no goroutine is lost.
func TestRandomCancelsDeadlinesPanicsAndCollectionsLoseNothing(t *testing.T) {
	noGoroutinesLeft(t)
	length := soak(t)
	var stop atomic.Bool
	var background sync.WaitGroup
	background.Add(1)
	go func() {
		defer background.Done()
		for !stop.Load() {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}()
	var served, refused, gone, panicked atomic.Uint64
	for begun, round := time.Now(), uint64(0); time.Since(begun) < length; round++ {
		d := levelOf(t, 3, 8, 2, 10)
		var workers sync.WaitGroup
		until := time.Now().Add(min(length, time.Second))
		for i := range 64 {
			workers.Add(1)
			go func() {
				defer workers.Done()
				random := rand.New(rand.NewPCG(round, uint64(i)))
				for time.Now().Before(until) {
					what := oneRandomRequest(d, random, string(rune('a'+i%11)))
					switch {
					case what == nil:
						served.Add(1)
					case errors.Is(what, apf.ErrRejected):
						refused.Add(1)
					case errors.Is(what, context.Canceled), errors.Is(what, context.DeadlineExceeded):
						gone.Add(1)
					case errors.Is(what, errPanicked):
						panicked.Add(1)
					case errors.Is(what, apf.ErrClosed):
						return
					default:
						t.Error(what)
					}
				}
			}()
		}
		if round%2 == 1 {
			time.Sleep(time.Duration(rand.IntN(int(time.Second))))
			d.Close()
			workers.Wait()
			continue
		}
		workers.Wait()
		eventually(t, "lingering seats are back", func() bool { return level(t, d).SeatsInUse == 0 })
		idle(t, d)
		d.Close()
	}
	stop.Store(true)
	background.Wait()
	t.Logf("%d served, %d refused, %d gone, %d panicked", served.Load(), refused.Load(), gone.Load(), panicked.Load())
	if served.Load() == 0 || refused.Load() == 0 || gone.Load() == 0 || panicked.Load() == 0 {
		t.Error("something has not happened")
	}
}

var errPanicked = errors.New("panicked")

func oneRandomRequest(d *apf.Dispatcher, random *rand.Rand, user string) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch random.IntN(4) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(int(2*time.Millisecond))))
		defer cancel()
	case 1:
		time.AfterFunc(time.Duration(random.IntN(int(time.Millisecond))), cancel)
	}
	request := by(user)
	request.Seats = uint64(1 + random.IntN(3))
	if random.IntN(4) == 0 {
		request.FinalSeats, request.AdditionalLatency = 1, time.Duration(random.IntN(int(time.Millisecond)))
	}
	if random.IntN(3) == 0 {
		request.WaitLimit = time.Duration(random.IntN(int(time.Millisecond)))
	}
	permit, err := d.Acquire(ctx, request)
	if err != nil {
		return err
	}
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	defer permit.Release()
	if random.IntN(3) == 0 {
		time.Sleep(time.Duration(random.IntN(int(300 * time.Microsecond))))
	}
	switch random.IntN(8) {
	case 0:
		panic("a handler's")
	case 1:
		permit.ReleaseEarly()
	}
	return nil
}
