package bench

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apf "apf.invalid/bindings/go"
)

const ownProcess = "APF_BENCH_MEMORY_OF"

// What a waiting request takes, all in all: each side in a process of its own.
func TestMemoryOfAWaitingRequest(t *testing.T) {
	const requests = 20_000
	if side := os.Getenv(ownProcess); side != "" {
		t.Logf("%s: %d bytes of memory for each of %d waiting requests", side, memoryOf(t, side, requests)/requests, requests)
		return
	}
	for _, side := range []string{"apf", "reference"} {
		alone := exec.Command(os.Args[0], "-test.run=^TestMemoryOfAWaitingRequest$", "-test.v")
		alone.Env = append(os.Environ(), ownProcess+"="+side)
		output, err := alone.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		for line := range strings.Lines(string(output)) {
			if strings.Contains(line, "bytes of memory") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}

func memoryOf(t *testing.T, side string, requests int) uint64 {
	ctx, cancel := context.WithCancel(t.Context())
	var request func(i int)
	var waiting func() int
	end := make(chan struct{})
	if side == "apf" {
		d := dispatcher(t, apf.Options{Seats: 1000, Config: configuration(1, requests), QueueWaitLimit: time.Hour})
		request = func(i int) {
			r := alice()
			r.User = strconv.Itoa(i % 1000)
			permit, err := d.Acquire(ctx, r)
			if err == nil {
				<-end
				permit.Release()
			}
		}
		waiting = func() int {
			stats, err := d.Stats()
			if err != nil {
				t.Fatal(err)
			}
			return int(stats.Level("test").RequestsWaiting)
		}
	} else {
		set := referenceQueueSet(t, 1, 64, 6, requests)
		request = func(i int) {
			runReference(ctx, set, uint64(i%1000)*0x9e3779b97f4a7c15, func() { <-end })
		}
		waiting = func() int { return set.Dump(false).Waiting }
	}
	runtime.GC()
	before := resident(t)
	var all sync.WaitGroup
	for i := range requests {
		all.Add(1)
		go func() {
			defer all.Done()
			request(i)
		}()
	}
	for deadline := time.Now().Add(time.Minute); waiting() < requests-1; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d wait", waiting())
		}
	}
	runtime.GC()
	taken := resident(t) - before
	cancel()
	close(end)
	all.Wait()
	return taken
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
