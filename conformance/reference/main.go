// Command reference runs conformance traces through the Kubernetes queue set and writes one line per event.
//
// The trace format, the lines and the digest are described in ../TRACES.md.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	full := flag.Int("full", 0, "also print the whole state after this event (1 is the first)")
	verbose := flag.Bool("verbose", false, "print the whole state after every event")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: reference [--full N] [--verbose] [TRACE]\n\nReads traces from the file, or from standard input, and writes one line per event.\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	name, input := "standard input", io.Reader(os.Stdin)
	if flag.NArg() == 1 {
		file, err := os.Open(flag.Arg(0))
		if err != nil {
			fmt.Fprintf(os.Stderr, "reference: %v\n", err)
			os.Exit(1)
		}
		defer file.Close()
		name, input = flag.Arg(0), file
	}
	if err := run(name, input, os.Stdout, func(event int) bool { return *verbose || event == *full }); err != nil {
		fmt.Fprintf(os.Stderr, "reference: %v\n", err)
		os.Exit(2)
	}
}

// run drives every trace of the input in turn; wantState says after which events the whole state is printed.
func run(name string, input io.Reader, output io.Writer, wantState func(event int) bool) error {
	log := &logSink{}
	klog.SetLogger(logr.New(log))
	out := bufio.NewWriterSize(output, 1<<16)
	defer out.Flush()
	in := newTraceReader(name, input)
	layout := probeLayout()
	for {
		level, err := in.begin()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		*log = logSink{}
		if err := runTrace(in, level, layout, log, out, wantState); err != nil {
			return err
		}
		fmt.Fprintln(out, "end")
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// runTrace drives one trace. A panic of the queue set is an outcome to compare, not a crash of this program: it becomes a line,
// and the rest of the trace is read and dropped.
func runTrace(in *traceReader, level levelSpec, layout *layout, log *logSink, out *bufio.Writer, wantState func(int) bool) error {
	d := newDriver(level, layout, log)
	broken := false
	for number := 1; ; number++ {
		ev, err := in.next()
		if errors.Is(err, errEndOfTrace) {
			return nil
		}
		if err != nil {
			return err
		}
		if broken {
			continue
		}
		if message := d.applyGuarded(&ev); message != "" {
			fmt.Fprintf(out, "%d panic %q\n", number, message)
			broken = true
			continue
		}
		out.Write(d.line(number))
		if wantState(number) {
			d.writeState(out)
		}
	}
}
