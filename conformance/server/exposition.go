package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/mux"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics/legacyregistry"
)

// expose runs one case through whole requests, each on a goroutine of its own as in a server, and writes what the
// dumps and the metrics show where a step asks for them.
func expose(in io.Reader, out io.Writer) error {
	var c testCase
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return err
	}
	client := fake.NewSimpleClientset()
	metrics.Register()
	e := &exposition{
		server: &server{controller: newController(client, c.ServerLimit)},
		mux:    mux.NewPathRecorderMux("conformance"),
		open:   map[uint64]*openRequest{},
		out:    out,
	}
	defer e.close()
	e.recorder.entered = make(chan fq.Request, 1)
	e.value.Install(e.mux)
	for n, step := range c.Steps {
		if err := e.take(step); err != nil {
			return fmt.Errorf("step %d: %w", n+1, err)
		}
	}
	return nil
}

type exposition struct {
	*server
	mux  *mux.PathRecorderMux
	open map[uint64]*openRequest
	out  io.Writer
}

// openRequest is a request whose handler has not returned.
type openRequest struct {
	request fq.Request
	cancel  context.CancelFunc
	// begun is closed when the handler begins, end makes it return, over is closed when all of it is done.
	begun, end, over chan struct{}
}

func (e *exposition) take(step step) error {
	at := origin.Add(time.Duration(step.At))
	for e.clock.runDue(at) {
		e.settle()
	}
	e.clock.advance(at)
	switch step.Op {
	case "replace":
		e.levels, e.schemas = step.PriorityLevels, step.FlowSchemas
		e.digest()
	case "start":
		e.begin(step)
	case "finish", "cancel":
		if err := e.end(step); err != nil {
			return err
		}
	case "adjust":
		updateBorrowing(e.pointer)
	case "dump":
		return e.dump(step.At)
	case "metrics":
		return e.gather(step.At)
	default:
		return fmt.Errorf("unknown op %q", step.Op)
	}
	e.settle()
	for e.takeWork() {
		e.digest()
		e.settle()
	}
	return nil
}

func (e *exposition) begin(step step) {
	digest := step.Request.digest()
	ctx := request.WithUser(request.WithRequestInfo(context.Background(), digest.RequestInfo), digest.User)
	ctx, cancel := context.WithCancel(ctx)
	r := &openRequest{cancel: cancel, begun: make(chan struct{}), end: make(chan struct{}), over: make(chan struct{})}
	var level, schema string
	note := func(fs *flowcontrol.FlowSchema, pl *flowcontrol.PriorityLevelConfiguration, _ string) {
		level, schema = pl.Name, fs.Name
	}
	// The filter around the controller does this.
	estimate := func() fcrequest.WorkEstimate {
		work := step.estimate()
		metrics.ObserveWorkEstimatedSeats(level, schema, work.MaxSeats())
		return work
	}
	go func() {
		defer close(r.over)
		e.value.Handle(ctx, digest, note, estimate, func(bool) {}, func() {
			close(r.begun)
			<-r.end
		})
	}()
	r.request = <-e.recorder.entered
	if r.request == nil {
		<-r.over
		cancel()
		return
	}
	e.open[step.Handle] = r
}

// settle waits until every request that has been let through has come to its handler: nothing moves by itself then.
func (e *exposition) settle() {
	for _, r := range e.open {
		if !waits(r.request) {
			<-r.begun
		}
	}
}

func (e *exposition) end(step step) error {
	r, ok := e.open[step.Handle]
	if !ok {
		return fmt.Errorf("no request %d", step.Handle)
	}
	if (step.Op == "cancel") != waits(r.request) {
		return fmt.Errorf("request %d is not in a state to %s", step.Handle, step.Op)
	}
	r.cancel()
	close(r.end)
	<-r.over
	delete(e.open, step.Handle)
	return nil
}

// dump writes all debug dumps, each under a line with its time and name.
func (e *exposition) dump(at int64) error {
	for _, name := range []string{"dump_priority_levels", "dump_queues", "dump_requests", "dump_requests?includeRequestDetails=1"} {
		answer := httptest.NewRecorder()
		e.mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/api_priority_and_fairness/"+name, nil))
		if answer.Code != http.StatusOK {
			return fmt.Errorf("%s: %d", name, answer.Code)
		}
		if _, err := fmt.Fprintf(e.out, "--- %d %s\n%s", at, name, inOrder(answer.Body.String())); err != nil {
			return err
		}
	}
	return nil
}

// gather writes the metrics likewise.
func (e *exposition) gather(at int64) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "--- %d metrics\n", at)
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return err
	}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "apiserver_flowcontrol_") {
			continue
		}
		leaveOutChance(family)
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return err
		}
	}
	_, err = e.out.Write(text.Bytes())
	return err
}

// timed are the metrics that the reference measures with the real clock whatever clock it is given.
var timed = map[string]bool{
	"apiserver_flowcontrol_demand_seats":                       true,
	"apiserver_flowcontrol_priority_level_request_utilization": true,
	"apiserver_flowcontrol_priority_level_seat_utilization":    true,
	"apiserver_flowcontrol_read_vs_write_current_requests":     true,
}

// leaveOutChance takes out what two runs do not agree on: how much real time has passed, and the target of an exempt
// level, where the reference shows that of whichever level comes first in a map.
func leaveOutChance(family *dto.MetricFamily) {
	for _, metric := range family.Metric {
		if timed[family.GetName()] {
			metric.Histogram = &dto.Histogram{Bucket: metric.Histogram.Bucket}
			for _, bucket := range metric.Histogram.Bucket {
				bucket.CumulativeCount = nil
			}
		}
		if family.GetName() == "apiserver_flowcontrol_target_seats" && metric.Label[0].GetValue() == flowcontrol.PriorityLevelConfigurationNameExempt {
			metric.Gauge.Value = nil
		}
	}
}

// inOrder sorts the rows of a dump by level: the reference walks a map. Executing requests of one queue are in the order
// of another map; they are sorted by their start and arrival.
func inOrder(dump string) string {
	rows := strings.SplitAfter(dump, "\n")
	header, rows := rows[0], rows[1:len(rows)-1]
	cells := func(row string) []string {
		all := strings.Split(row, ",")
		for i := range all {
			all[i] = strings.TrimSpace(all[i])
		}
		return all
	}
	sort.SliceStable(rows, func(i, j int) bool {
		a, b := cells(rows[i]), cells(rows[j])
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		executing := strings.HasPrefix(header, "PriorityLevelName, FlowSchemaName") && a[3] == "-1" && b[3] == "-1"
		if !executing || a[2] != b[2] {
			return false
		}
		if start, other := moment(a[9]), moment(b[9]); !start.Equal(other) {
			return start.Before(other)
		}
		return moment(a[5]).Before(moment(b[5]))
	})
	return header + strings.Join(rows, "")
}

func moment(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return at
}
