package apf_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	apf "apf.invalid/bindings/go"
)

func TestCloseEndsThoseWhoWaitAndLeavesPermitsValid(t *testing.T) {
	noGoroutinesLeft(t)
	d := levelOf(t, 1, 1, 1, 100)
	held := acquire(t, d, by("a"))
	var waiting []<-chan result
	for range 50 {
		waiting = append(waiting, begin(t.Context(), d, by("a")))
	}
	waits(t, d, 50)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, done := range waiting {
		if r := within(t, done); !errors.Is(r.err, apf.ErrClosed) || r.permit != nil {
			t.Fatalf("got %v", r.err)
		}
	}
	if _, err := d.Acquire(t.Context(), by("a")); !errors.Is(err, apf.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := d.Stats(); !errors.Is(err, apf.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := d.SetConfig(apf.Config{}); !errors.Is(err, apf.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if held.Level() != "test" {
		t.Error("a permit has lost its names")
	}
	held.ReleaseEarly()
	held.Release()
	held.Release()
}

func TestCloseWhileEverythingMoves(t *testing.T) {
	noGoroutinesLeft(t)
	for range 30 {
		d, err := apf.New(apf.Options{Seats: serverSeats, Config: oneLevel(2, 4, 1, 100), QueueWaitLimit: 5 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		var workers sync.WaitGroup
		for i := range 20 {
			workers.Add(1)
			go func() {
				defer workers.Done()
				for {
					permit, err := d.Acquire(t.Context(), by(string(rune('a'+i))))
					if errors.Is(err, apf.ErrClosed) {
						return
					}
					if err != nil && !errors.Is(err, apf.ErrRejected) {
						t.Error(err)
						return
					}
					runtime.Gosched()
					permit.Release()
				}
			}()
		}
		for range 3 {
			workers.Add(1)
			go func() {
				defer workers.Done()
				time.Sleep(3 * time.Millisecond)
				d.Close()
			}()
		}
		workers.Wait()
	}
}

func TestAForgottenDispatcherIsClosed(t *testing.T) {
	noGoroutinesLeft(t)
	func() {
		d, err := apf.New(apf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		permit, err := d.Acquire(t.Context(), &apf.Request{User: "a", Verb: "get", Path: "/x"})
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		permit.Release()
	}()
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func TestReleasingTwiceCountsOnce(t *testing.T) {
	noGoroutinesLeft(t)
	d := levelOf(t, 5, 1, 1, 10)
	first, second := acquire(t, d, by("a")), acquire(t, d, by("a"))
	for range 3 {
		first.Release()
	}
	d.Close()
	// The second permit alone keeps the engine, and with it the goroutine that takes decisions.
	time.Sleep(50 * time.Millisecond)
	if goroutinesOfPackage() == "" {
		t.Fatal("the engine has gone while a permit is out")
	}
	second.Release()
}
