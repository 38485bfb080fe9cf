package main

import (
	"strings"
	"testing"
	"time"
)

func output(t *testing.T, input string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run("t", strings.NewReader(input), &out, func(int) bool { return false })
	return out.String(), err
}

func TestBadLinesAreNamedWithLineAndRule(t *testing.T) {
	const head = "apf-trace 1\nlevel 4 2 10 3\n"
	for _, c := range []struct{ input, message string }{
		{"hello\n", "t:1: a trace begins with"},
		{"apf-trace 2\n", "t:1: format version 2"},
		{"apf-trace 1\n", "t:1: the trace has no level line"},
		{"apf-trace 1\nlevel 4 2 10\n", "t:2: a level is"},
		{"apf-trace 1\nlevel -2 2 10 1\n", "t:2: queues is a whole number"},
		{"apf-trace 1\nlevel 512 15 10 1\n", "t:2: no hand of 15 from 512 queues"},
		{head + "1ms touch\n", "t:3: the trace has no end line"},
		{head + "1.5ms touch\nend\n", "t:3: time is a whole number"},
		{head + "-1ms touch\nend\n", "t:3: the time is before the origin"},
		{head + "1 arrive 1 1 0 0 0\nend\n", "t:3: initial seats are at least 1"},
		{head + "1 arrive 1 1 1 0 0\n2 arrive 1 1 1 0 0\nend\n", "t:4: request 1 arrived before"},
		{head + "1 arrive 1 1 1\nend\n", "t:3: arrive takes 5 values, not 3"},
		{head + "1 frobnicate\nend\n", "t:3: \"frobnicate\" is not an event"},
		{head + "1 finish +1\nend\n", "t:3: id is a whole number"},
	} {
		_, err := output(t, c.input)
		if err == nil || !strings.HasPrefix(err.Error(), c.message) {
			t.Errorf("%q: got error %v, want %q", c.input, err, c.message)
		}
	}
}

// A queue set that crashes must not take the traces behind it along.
func TestPanicOfTheQueueSetIsALineAndTheNextTraceRuns(t *testing.T) {
	const removedTwice = "apf-trace 1\nlevel 3 1 10 10\n1ms arrive 1 2 1 1 10ms\n+0 arrive 2 2 1 1 20ms\n" +
		"+1ms finish 1\n+0 finish 2\n+1ms reconfigure 1 1 10 10\n25ms touch\n+0 touch\nend\n"
	const plain = "apf-trace 1\nlevel 0 0 0 1\n1ms arrive 1 0 1 0 0\nend\n"
	out, err := output(t, removedTwice+plain)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 9 || !strings.HasPrefix(lines[5], "6 panic ") || lines[6] != "end" || !strings.HasPrefix(lines[7], "1 run:1 = ") {
		t.Errorf("got\n%s", out)
	}
}

func TestReleasesRunInOrderOfDueTimeAndThenOfInsertion(t *testing.T) {
	c := &traceClock{now: 10}
	var order []string
	for _, e := range []struct {
		name  string
		after time.Duration
	}{{"c", 7}, {"a", 5}, {"b", 5}, {"later", 50}} {
		c.EventAfterDuration(func(time.Time) { order = append(order, e.name) }, e.after)
	}
	c.advance(20)
	if got := strings.Join(order, ""); got != "abc" || c.now != 20 {
		t.Errorf("ran %q, now %d", got, c.now)
	}
	c.advance(15) // the clock steps back
	if c.now != 15 {
		t.Errorf("now %d, want 15", c.now)
	}
}
