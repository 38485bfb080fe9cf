package apf_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apf "apf.invalid/bindings/go"
)

var soakFor = flag.Duration("soak", 0, "how long the random test runs")

const ownProcess = "APF_TEST_OWN_PROCESS"

func soak(t *testing.T) time.Duration {
	if *soakFor != 0 {
		return *soakFor
	}
	if testing.Short() {
		return time.Second
	}
	return 4 * time.Second
}

func threads(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc")
	}
	for line := range strings.Lines(string(status)) {
		if count, found := strings.CutPrefix(line, "Threads:"); found {
			n, err := strconv.Atoi(strings.TrimSpace(count))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no count of threads")
	return 0
}

func resident(t *testing.T) uint64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc")
	}
	pages, err := strconv.ParseUint(strings.Fields(string(statm))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestAHundredThousandWaitOnAHandfulOfThreads(t *testing.T) {
	if os.Getenv(ownProcess) == "" {
		// Threads that other tests have needed stay with the process.
		alone := exec.Command(os.Args[0], "-test.run=^TestAHundredThousandWaitOnAHandfulOfThreads$", "-test.v")
		alone.Env = append(os.Environ(), ownProcess+"=1")
		output, err := alone.CombinedOutput()
		if err != nil {
			t.Error(err)
		}
		t.Logf("%s", output)
		return
	}
	noGoroutinesLeft(t)
	const requests = 100_000
	d := levelOf(t, 1, 64, 2, requests)
	held := acquire(t, d, by("a"))
	runtime.GC()
	before := resident(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var lock sync.Mutex
	outcomes := map[string]int{}
	for i := range requests {
		all.Add(1)
		request := by("user-" + strconv.Itoa(i%1000))
		go func() {
			defer all.Done()
			permit, err := d.Acquire(ctx, request)
			outcome := "granted"
			if errors.Is(err, context.Canceled) {
				outcome = "cancelled"
			} else if err != nil {
				outcome = err.Error()
			}
			lock.Lock()
			outcomes[outcome]++
			lock.Unlock()
			permit.Release()
		}()
	}
	eventually(t, "all wait", func() bool { return level(t, d).RequestsWaiting == requests })
	runtime.GC()
	memory := resident(t) - before
	if n := threads(t); n >= 20 {
		t.Errorf("%d threads", n)
	}
	begun := processorTime()
	time.Sleep(time.Second)
	used := processorTime() - begun
	if used > 50*time.Millisecond {
		t.Errorf("%v of a processor in a second of waiting", used)
	}
	t.Logf("%d requests wait: %d threads, %d bytes each, %v of a processor in a second", requests, threads(t), memory/requests, used)

	// Half of them are granted, one after the other, and the rest leaves at once.
	held.Release()
	eventually(t, "half are granted", func() bool { return level(t, d).Dispatched > requests/2 })
	cancel()
	all.Wait()
	if n := threads(t); n >= 20 {
		t.Errorf("%d threads after the end", n)
	}
	if outcomes["granted"]+outcomes["cancelled"] != requests || outcomes["cancelled"] == 0 {
		t.Errorf("got %v", outcomes)
	}
	t.Logf("%v", outcomes)
	idle(t, d)
}

func TestTenThousandTimeOutsAtOnceAllArrive(t *testing.T) {
	d := dispatcher(t, apf.Options{
		Seats: serverSeats, Config: oneLevel(1, 1, 1, 20_000), Clock: apf.ClockManual, QueueWaitLimit: 5 * time.Second,
	})
	held := acquire(t, d, by("a"))
	defer held.Release()
	var waiting []<-chan result
	for range 10_000 {
		waiting = append(waiting, begin(t.Context(), d, by("a")))
	}
	waits(t, d, 10_000)
	if err := d.SetTime(6 * time.Second); err != nil {
		t.Fatal(err)
	}
	for _, done := range waiting {
		if r := rejected(t, within(t, done).err); r.Reason != apf.ReasonTimeOut {
			t.Fatalf("got %+v", r)
		}
	}
}

// What a release lets start beyond what its own call hands on comes through the descriptor.
func TestOneReleaseCanLetManyStart(t *testing.T) {
	d := levelOf(t, 100, 1, 1, 1000)
	wide := by("a")
	wide.Seats = 100
	held := acquire(t, d, wide)
	var waiting []<-chan result
	for range 100 {
		waiting = append(waiting, begin(t.Context(), d, by("a")))
	}
	waits(t, d, 100)
	held.Release()
	for _, done := range waiting {
		r := within(t, done)
		if r.err != nil {
			t.Fatal(r.err)
		}
		defer r.permit.Release()
	}
}

func TestAcquireAndReleaseAllocateNothing(t *testing.T) {
	d := levelOf(t, 10, 1, 1, 10)
	request := by("a")
	number, err := d.Level("test")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		permit, err := d.Acquire(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		permit.Release()
		permit, err = d.TryAcquireClassified(&apf.Classified{Level: number, FlowHash: 7})
		if err != nil {
			t.Fatal(err)
		}
		permit.ReleaseEarly()
		permit.Release()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
