package apf

// #include <stdlib.h>
// #include "bridge.h"
import "C"

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Mode says whose decisions the dispatcher reproduces.
type Mode int32

// The modes.
const (
	// ModeDefault is the documented behaviour.
	ModeDefault Mode = C.APF_MODE_DEFAULT
	// ModeExact is kube-apiserver's to the letter, quirks included.
	ModeExact Mode = C.APF_MODE_EXACT
)

// Hash says how flows are hashed.
type Hash int32

// The hashes.
const (
	// HashOfMode is the mode's: XXH3 by default, SHA-256 in exact mode.
	HashOfMode Hash = C.APF_HASH_OF_MODE
	// HashXXH3 is XXH3-64.
	HashXXH3 Hash = C.APF_HASH_XXH3
	// HashSHA256 puts a flow into the same queues as kube-apiserver.
	HashSHA256 Hash = C.APF_HASH_SHA256
)

// Clock says what time it is for a dispatcher.
type Clock int32

// The clocks.
const (
	// ClockFastest is the time stamp counter where the processor has an invariant one, else the monotonic clock.
	ClockFastest Clock = C.APF_CLOCK_FASTEST
	// ClockMonotonic is the operating system's.
	ClockMonotonic Clock = C.APF_CLOCK_MONOTONIC
	// ClockManual stands still until [Dispatcher.SetTime]: for tests and simulations.
	ClockManual Clock = C.APF_CLOCK_MANUAL
)

// Options are the settings of a dispatcher. The zero value has 600 seats and kube-apiserver's built-in objects.
type Options struct {
	// Seats of the server: how many requests of one seat it serves at a time, 1 to 2147483647; 0 means 600.
	Seats int64
	// Config has the FlowSchemas and PriorityLevelConfigurations.
	Config Config
	// QueueWaitLimit is how long a request may wait in a queue; 0 means 15 s.
	QueueWaitLimit time.Duration
	Mode           Mode
	Hash           Hash
	Clock          Clock
	// KeepDetails keeps of each request what dumps of requests show, at the price of a lock and several allocations a
	// request.
	KeepDetails bool
}

// Config is FlowSchemas and PriorityLevelConfigurations: the built-in ones, and own ones from a text, a file or a folder.
// The zero value is the built-in ones alone.
type Config struct {
	// Text is a manifest, YAML (also of several documents) or JSON; Name is what problems call it.
	Text, Name string
	// Path is that of a file or a folder of manifests.
	Path string
	// Lenient makes unknown fields and fields written twice warnings; otherwise they are errors.
	Lenient bool
	// MandatoryOnly leaves out the suggested objects of kube-apiserver.
	MandatoryOnly bool
}

// Dispatcher admits requests by the rules of API Priority and Fairness. All of its methods may be called from any number of
// goroutines at once. Make it with [New].
type Dispatcher struct {
	core *core
}

// core is what goroutines of the dispatcher's own hold on to, so that one that is forgotten can be closed.
type core struct {
	engine *C.apf_go
	closed atomic.Bool
	names  names
	// warnings are those of the first configuration.
	warnings []Problem

	_ [64]byte
	// users are the calls and permits that need the engine, and 1 until it is closed. Whoever takes away the last has it freed.
	users atomic.Int64
	_     [56]byte

	waiters waiters
	// gate has room for the goroutines that may submit at a time where requests wait, or leave.
	gate chan struct{}

	bell  *os.File
	end   sync.Once
	freed chan struct{}
}

// New makes a dispatcher. A configuration that is refused is a [*ConfigError].
//
// It is closed when it is no longer reachable, if not by [Dispatcher.Close].
func New(options Options) (*Dispatcher, error) {
	flat := C.apf_go_options{
		seats:               C.int64_t(options.Seats),
		queue_wait_limit_ns: C.uint64_t(options.QueueWaitLimit),
		mode:                C.int32_t(options.Mode),
		hash:                C.int32_t(options.Hash),
		clock:               C.int32_t(options.Clock),
	}
	if options.Seats == 0 {
		flat.seats = 600
	}
	if options.QueueWaitLimit <= 0 {
		flat.queue_wait_limit_ns = C.uint64_t(15 * time.Second)
	}
	if options.KeepDetails {
		flat.keep_details = 1
	}
	texts := options.Config.toC()
	defer texts.free()

	c := &core{freed: make(chan struct{}), gate: make(chan struct{}, runtime.GOMAXPROCS(0)+2)}
	c.users.Store(1)
	c.waiters.init()
	var descriptor C.int
	var found *C.apf_problems
	status := C.apf_go_new(&flat, texts.text, texts.name, texts.path, texts.strictness, texts.builtin, &c.engine,
		&descriptor, &found)
	problems := problemsOf(found)
	if status == C.APF_ERROR_CONFIGURATION {
		return nil, &ConfigError{problems}
	}
	if status != C.APF_OK {
		return nil, Status(status)
	}
	c.warnings = problems
	c.bell = os.NewFile(uintptr(descriptor), "apf decisions")
	ready, err := c.bell.SyscallConn()
	if err != nil {
		C.apf_go_free(c.engine)
		c.bell.Close()
		return nil, err
	}
	go func() {
		// Called when the descriptor may be readable, until its deadline has passed.
		_ = ready.Read(func(uintptr) bool {
			c.takeAll()
			return false
		})
		c.free()
	}()
	d := &Dispatcher{c}
	runtime.AddCleanup(d, (*core).close, c)
	return d, nil
}

// Warnings are what was found wrong with the configuration that New was given, without being an error.
func (d *Dispatcher) Warnings() []Problem { return d.core.warnings }

// enter says whether the engine may be used; if so, leave is to be called.
func (c *core) enter() bool {
	c.users.Add(1)
	if c.closed.Load() {
		c.leave()
		return false
	}
	return true
}

func (c *core) leave() {
	if c.users.Add(-1) == 0 {
		c.endSoon()
	}
}

//go:noinline
func (c *core) endSoon() {
	c.end.Do(func() {
		// The goroutine that takes decisions comes back and frees the engine.
		_ = c.bell.SetReadDeadline(time.Unix(1, 0))
	})
}

func (c *core) free() {
	for C.apf_go_free(c.engine) == C.APF_ERROR_BUSY {
		time.Sleep(100 * time.Microsecond) // a thread is in the last of its callbacks
	}
	c.bell.Close()
	close(c.freed)
}

// Close refuses new requests and ends those that wait with [ErrClosed]. Permits stay valid; the engine with its timer
// thread goes when the last of them has been released. It may be called more than once, and at any time.
//
// It waits until the goroutines of the waiting requests have been told, and, when no permit is out, until everything has
// been freed.
func (d *Dispatcher) Close() error {
	d.core.close()
	runtime.KeepAlive(d)
	return nil
}

func (c *core) close() {
	if c.closed.Swap(true) {
		return
	}
	for _, t := range c.waiters.tickets() {
		if c.cancel(t) == C.APF_OK {
			c.waiters.tellClosed(t)
		}
	}
	if c.users.Add(-1) == 0 {
		c.endSoon()
		<-c.freed
	}
}

// SetConfig replaces the whole configuration while requests are in flight: running ones keep their seats and waiting ones
// their places; a level that is gone takes no new requests and goes when it is empty. The result is the warnings.
//
// With a [*ConfigError] nothing has changed.
func (d *Dispatcher) SetConfig(config Config) ([]Problem, error) {
	defer runtime.KeepAlive(d)
	c := d.core
	if !c.enter() {
		return nil, ErrClosed
	}
	defer c.leave()
	texts := config.toC()
	defer texts.free()
	var found *C.apf_problems
	status := C.apf_go_reconfigure(c.engine, texts.text, texts.name, texts.path, texts.strictness, texts.builtin, &found)
	problems := problemsOf(found)
	switch status {
	case C.APF_OK:
		return problems, nil
	case C.APF_ERROR_CONFIGURATION:
		return nil, &ConfigError{problems}
	}
	return nil, Status(status)
}

// cConfig has the texts of a configuration in the memory of C.
type cConfig struct {
	text, name, path    C.apf_str
	strictness, builtin C.int32_t
}

func (config *Config) toC() cConfig {
	c := cConfig{text: cString(config.Text), name: cString(config.Name), path: cString(config.Path)}
	if config.Lenient {
		c.strictness = C.APF_STRICTNESS_LENIENT
	}
	if config.MandatoryOnly {
		c.builtin = C.APF_BUILTIN_MANDATORY
	}
	return c
}

func (c *cConfig) free() {
	for _, text := range []C.apf_str{c.text, c.name, c.path} {
		C.free(unsafe.Pointer(text.data))
	}
}

// cString copies a text into the memory of C.
func cString(text string) C.apf_str {
	if text == "" {
		return C.apf_str{}
	}
	return C.apf_str{data: (*C.char)(C.CBytes([]byte(text))), len: C.size_t(len(text))}
}

func problemsOf(found *C.apf_problems) []Problem {
	if found == nil {
		return nil
	}
	defer C.apf_problems_free(found)
	var count C.size_t
	if C.apf_problems_count(found, &count) != C.APF_OK {
		return nil
	}
	problems := make([]Problem, 0, count)
	for i := range count {
		problem := C.apf_problem_init()
		if C.apf_problems_get(found, i, &problem) != C.APF_OK {
			break
		}
		problems = append(problems, Problem{
			Severity: Severity(problem.severity), File: goString(problem.file), Line: int(problem.line),
			Column: int(problem.column), Kind: goString(problem.kind), Name: goString(problem.name),
			Field: goString(problem.field), Rule: goString(problem.rule), Value: goString(problem.value),
			Detail: goString(problem.detail), Text: goString(problem.text),
		})
	}
	return problems
}

// Now is the dispatcher's time, since an origin of its own.
func (d *Dispatcher) Now() (time.Duration, error) {
	defer runtime.KeepAlive(d)
	c := d.core
	if !c.enter() {
		return 0, ErrClosed
	}
	defer c.leave()
	var now C.uint64_t
	err := statusError(C.apf_engine_now(C.apf_go_engine(c.engine), &now))
	return time.Duration(now), err
}

// SetTime moves the time of a dispatcher with [ClockManual] on, and does what becomes due on the way, each at its time:
// delayed releases, time-outs of waiting requests, the adjustment of limits every 10 s. When it returns, every request that
// was decided has been told. Time does not go back.
//
// To be called by one goroutine at a time; others may use the dispatcher meanwhile.
func (d *Dispatcher) SetTime(now time.Duration) error {
	defer runtime.KeepAlive(d)
	c := d.core
	if !c.enter() {
		return ErrClosed
	}
	defer c.leave()
	err := statusError(C.apf_engine_set_time(C.apf_go_engine(c.engine), C.uint64_t(max(now, 0))))
	c.takeAll()
	return err
}

// NextTimer is when something is due next, on the dispatcher's clock. There is always something: the next adjustment of the
// limits, if nothing else.
func (d *Dispatcher) NextTimer() (time.Duration, error) {
	defer runtime.KeepAlive(d)
	c := d.core
	if !c.enter() {
		return 0, ErrClosed
	}
	defer c.leave()
	var due C.uint64_t
	err := statusError(C.apf_engine_next_timer(C.apf_go_engine(c.engine), &due))
	return time.Duration(due), err
}

// Level is the number of a priority level, for [Classified]. It stays the level's until the level is removed from the
// configuration; one that comes back has another. [ErrLevel] when there is none of this name.
func (d *Dispatcher) Level(name string) (uint32, error) {
	defer runtime.KeepAlive(d)
	c := d.core
	if !c.enter() {
		return 0, ErrClosed
	}
	defer c.leave()
	text := cString(name)
	defer C.free(unsafe.Pointer(text.data))
	var level C.uint32_t
	err := statusError(C.apf_level_find(C.apf_go_engine(c.engine), text, &level))
	return uint32(level), err
}

// FlowHash is the hash of a flow, as the engine computes it from the name of a FlowSchema and a flow distinguisher (a user
// or a namespace; may be empty).
func (d *Dispatcher) FlowHash(flowSchema, distinguisher string) (uint64, error) {
	defer runtime.KeepAlive(d)
	c := d.core
	if !c.enter() {
		return 0, ErrClosed
	}
	defer c.leave()
	schema, flow := cString(flowSchema), cString(distinguisher)
	defer C.free(unsafe.Pointer(schema.data))
	defer C.free(unsafe.Pointer(flow.data))
	var hash C.uint64_t
	err := statusError(C.apf_flow_hash(C.apf_go_engine(c.engine), schema, flow, &hash))
	return uint64(hash), err
}
