// Command server-reference runs cases through the API Priority and Fairness controller of
// k8s.io/apiserver and writes what it did: one case a line in, one result a line out. With
// -exposition it runs one case and writes what a server's debug dumps and metrics show of it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
)

func main() {
	klogFlags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(klogFlags)
	// A broken object is worth a warning to the reference and an expected answer to us.
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := klogFlags.Set(name, value); err != nil {
			fatal(err)
		}
	}
	klog.SetOutput(io.Discard)
	shows := flag.Bool("exposition", false, "prints the dumps and metrics of one case")
	flag.Parse()
	run := serve
	if *shows {
		run = expose
	}
	if err := run(os.Stdin, os.Stdout); err != nil {
		fatal(err)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "server-reference:", err)
	os.Exit(1)
}

func serve(in io.Reader, out io.Writer) error {
	client := fake.NewSimpleClientset()
	probe := newController(client, 1)
	err := checkLayout(probe)
	probe.close()
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	decoder.DisallowUnknownFields()
	writer := bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for n := 1; ; n++ {
		var c testCase
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("case %d: %w", n, err)
		}
		if c.ServerLimit < 1 {
			return fmt.Errorf("case %d (%s): serverLimit %d, must be at least 1", n, c.Name, c.ServerLimit)
		}
		if err := encoder.Encode(runCase(client, c)); err != nil {
			return err
		}
		// The other side sends the next case when it has read this answer.
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}
