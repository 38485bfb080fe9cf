package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"k8s.io/apiserver/pkg/util/shufflesharding"
)

// levelSpec is the queuing and dispatching configuration of the level under test.
type levelSpec struct {
	queues, handSize, queueLengthLimit, limit int
	start                                     uint64
}

type eventKind int

const (
	arrive eventKind = iota
	finish
	cancel
	reconfigure
	touch
	demand
)

// event is one line of a trace. at is in nanoseconds since the trace's origin.
type event struct {
	kind                     eventKind
	at                       uint64
	id                       uint64
	hash                     uint64
	initialSeats, finalSeats uint64
	latency                  uint64
	level                    levelSpec
}

const (
	// maxTime keeps every difference of times inside a signed 64-bit duration.
	maxTime  = uint64(math.MaxInt64)
	maxSeats = 1<<22 - 1
	maxLimit = 1<<31 - 1
)

var errEndOfTrace = errors.New("end of trace")

// traceReader reads traces one after the other from one stream.
type traceReader struct {
	name    string
	lines   *bufio.Scanner
	line    int
	last    uint64
	arrived map[uint64]struct{}
}

func newTraceReader(name string, input io.Reader) *traceReader {
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 1<<16), 1<<20)
	return &traceReader{name: name, lines: lines}
}

func (r *traceReader) failf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.name, r.line, fmt.Sprintf(format, args...))
}

// fields returns the words of the next line that is not empty and not a comment.
func (r *traceReader) fields() ([]string, error) {
	for r.lines.Scan() {
		r.line++
		text, _, _ := strings.Cut(r.lines.Text(), "#")
		if words := strings.Fields(text); len(words) > 0 {
			return words, nil
		}
	}
	if err := r.lines.Err(); err != nil {
		return nil, r.failf("%v", err)
	}
	return nil, io.EOF
}

// begin reads a trace's header, up to and including the level. It returns io.EOF when there is no further trace.
func (r *traceReader) begin() (levelSpec, error) {
	words, err := r.fields()
	if err != nil {
		return levelSpec{}, err
	}
	if len(words) != 2 || words[0] != "apf-trace" {
		return levelSpec{}, r.failf("a trace begins with \"apf-trace 1\", not %q", strings.Join(words, " "))
	}
	if words[1] != "1" {
		return levelSpec{}, r.failf("format version %s is not known; this program reads version 1", words[1])
	}
	r.last = 0
	r.arrived = map[uint64]struct{}{}
	for {
		words, err := r.fields()
		if errors.Is(err, io.EOF) {
			return levelSpec{}, r.failf("the trace has no level line")
		}
		if err != nil {
			return levelSpec{}, err
		}
		switch words[0] {
		case "seed":
			if len(words) != 2 {
				return levelSpec{}, r.failf("seed takes one number")
			}
			if _, err := r.number("seed", words[1], math.MaxUint64); err != nil {
				return levelSpec{}, err
			}
		case "mode":
			if len(words) != 2 || words[1] != "exact" && words[1] != "default" {
				return levelSpec{}, r.failf("mode is exact or default")
			}
		case "start":
			if len(words) != 2 {
				return levelSpec{}, r.failf("start takes one time")
			}
			if r.last, err = r.time(words[1]); err != nil {
				return levelSpec{}, err
			}
		case "level":
			level, err := r.level(words[1:])
			level.start = r.last
			return level, err
		default:
			return levelSpec{}, r.failf("%q is not a header line (seed, mode, start, level)", words[0])
		}
	}
}

// next reads one event. It returns errEndOfTrace at the trace's end line.
func (r *traceReader) next() (event, error) {
	words, err := r.fields()
	if errors.Is(err, io.EOF) {
		return event{}, r.failf("the trace has no end line")
	}
	if err != nil {
		return event{}, err
	}
	if words[0] == "end" && len(words) == 1 {
		return event{}, errEndOfTrace
	}
	if len(words) < 2 {
		return event{}, r.failf("an event is a time and a name, for example \"5ms touch\"")
	}
	ev := event{}
	if ev.at, err = r.time(words[0]); err != nil {
		return event{}, err
	}
	r.last = ev.at
	name, args := words[1], words[2:]
	want := func(counts ...int) error {
		for _, n := range counts {
			if len(args) == n {
				return nil
			}
		}
		return r.failf("%s takes %d values, not %d", name, counts[len(counts)-1], len(args))
	}
	switch name {
	case "arrive":
		ev.kind = arrive
		if err := want(5); err != nil {
			return event{}, err
		}
		return ev, r.arrival(&ev, args)
	case "finish", "cancel":
		ev.kind = finish
		if name == "cancel" {
			ev.kind = cancel
			if err := want(1, 2); err != nil {
				return event{}, err
			}
			if len(args) == 2 && args[1] != "time-out" && args[1] != "caller" {
				return event{}, r.failf("the cause of a cancel is time-out or caller, not %q", args[1])
			}
		} else if err := want(1); err != nil {
			return event{}, err
		}
		ev.id, err = r.number("id", args[0], math.MaxUint64)
		return ev, err
	case "reconfigure":
		ev.kind = reconfigure
		ev.level, err = r.level(args)
		return ev, err
	case "touch":
		ev.kind = touch
		return ev, want(0)
	case "demand":
		ev.kind = demand
		return ev, want(0)
	}
	return event{}, r.failf("%q is not an event (arrive, finish, cancel, reconfigure, touch, demand)", name)
}

func (r *traceReader) arrival(ev *event, args []string) error {
	var err error
	if ev.id, err = r.number("id", args[0], math.MaxUint64); err != nil {
		return err
	}
	if _, again := r.arrived[ev.id]; again {
		return r.failf("request %d arrived before", ev.id)
	}
	r.arrived[ev.id] = struct{}{}
	if ev.hash, err = r.number("hash", args[1], math.MaxUint64); err != nil {
		return err
	}
	if ev.initialSeats, err = r.number("initial seats", args[2], maxSeats); err != nil {
		return err
	}
	if ev.initialSeats == 0 {
		return r.failf("initial seats are at least 1")
	}
	if ev.finalSeats, err = r.number("final seats", args[3], maxSeats); err != nil {
		return err
	}
	ev.latency, err = r.duration("latency", args[4])
	return err
}

func (r *traceReader) level(args []string) (levelSpec, error) {
	if len(args) != 4 {
		return levelSpec{}, r.failf("a level is QUEUES HAND QUEUE_LENGTH_LIMIT LIMIT, 4 numbers, not %d", len(args))
	}
	var level levelSpec
	if args[0] == "-1" {
		level.queues = -1
	} else if n, err := r.number("queues", args[0], maxLimit); err != nil {
		return levelSpec{}, err
	} else {
		level.queues = int(n)
	}
	for i, field := range []struct {
		name string
		to   *int
	}{{"hand", &level.handSize}, {"queue length limit", &level.queueLengthLimit}, {"limit", &level.limit}} {
		n, err := r.number(field.name, args[i+1], maxLimit)
		if err != nil {
			return levelSpec{}, err
		}
		*field.to = int(n)
	}
	if level.queues > 0 {
		if _, err := shufflesharding.NewDealer(level.queues, level.handSize); err != nil {
			return levelSpec{}, r.failf("no hand of %d from %d queues: %v", level.handSize, level.queues, err)
		}
	}
	return level, nil
}

func (r *traceReader) number(what, text string, largest uint64) (uint64, error) {
	digits, base := text, 10
	if rest, ok := strings.CutPrefix(text, "0x"); ok {
		digits, base = rest, 16
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil || n > largest {
		return 0, r.failf("%s is a whole number from 0 to %d, not %q", what, largest, text)
	}
	return n, nil
}

var units = []struct {
	suffix string
	ns     uint64
}{
	{"ns", 1}, {"us", 1_000}, {"ms", 1_000_000},
	{"s", 1_000_000_000}, {"m", 60_000_000_000}, {"h", 3_600_000_000_000}, {"d", 86_400_000_000_000},
}

// duration reads a whole number with an optional unit; without one it is nanoseconds.
func (r *traceReader) duration(what, text string) (uint64, error) {
	digits, scale := text, uint64(1)
	for _, unit := range units {
		if rest, ok := strings.CutSuffix(text, unit.suffix); ok {
			digits, scale = rest, unit.ns
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n > maxTime/scale {
		return 0, r.failf("%s is a whole number with an optional unit (ns us ms s m h d), up to 292 years, not %q", what, text)
	}
	return n * scale, nil
}

// time reads an absolute time, or with a sign one relative to the event before.
func (r *traceReader) time(text string) (uint64, error) {
	switch {
	case strings.HasPrefix(text, "+"):
		d, err := r.duration("time", text[1:])
		if err == nil && d > maxTime-r.last {
			return 0, r.failf("the time is past 292 years")
		}
		return r.last + d, err
	case strings.HasPrefix(text, "-"):
		d, err := r.duration("time", text[1:])
		if err == nil && d > r.last {
			return 0, r.failf("the time is before the origin")
		}
		return r.last - d, err
	}
	return r.duration("time", text)
}
