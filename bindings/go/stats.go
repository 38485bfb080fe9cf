package apf

// #include "bridge.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Stats are the numbers of a dispatcher at one moment.
type Stats struct {
	// Levels are sorted by name.
	Levels []LevelStats
	// Schemas are the numbers of each FlowSchema at each level, sorted by level and schema; also those of earlier
	// configurations, for counts do not go away.
	Schemas []SchemaStats
	// FairFraction is the proportion of its target that every level has (seat_fair_frac).
	FairFraction float64
}

// Level is that of the name; nil if there is none.
func (s *Stats) Level(name string) *LevelStats {
	for i := range s.Levels {
		if s.Levels[i].Name == name {
			return &s.Levels[i]
		}
	}
	return nil
}

// LevelStats are the numbers of one priority level. In brackets the metrics of kube-apiserver.
type LevelStats struct {
	Name string
	// NominalLimit is its share of the server, seats (nominal_limit_seats); LowerLimit what it keeps when it lends all it
	// may (lower_limit_seats); UpperLimit what it has when it borrows all it may (upper_limit_seats); CurrentLimit what
	// it has now (current_limit_seats).
	NominalLimit, LowerLimit, UpperLimit, CurrentLimit uint32
	// Target is what it would have by its demand, seats (target_seats).
	Target float64
	// Seat demand of the last 10 s period: its largest, its mean, its standard deviation, and the envelope that limits
	// follow (demand_seats_high_watermark, _average, _stdev, _smoothed).
	DemandHigh, DemandAverage, DemandDeviation, DemandSmoothed float64
	// Requests waiting and the seats that they want.
	RequestsWaiting, SeatsWaiting uint64
	// Requests executing, and the seats in use, also by requests that linger.
	RequestsExecuting, SeatsInUse uint64
	// SeatUtilization is seats in use over the current limit; over a tenth of the server where that is 0. Never NaN.
	SeatUtilization float64
	// Progress of the level's virtual clock, seat-seconds (current_r).
	Progress float64
	// Dispatched are the requests that started.
	Dispatched uint64
	// RejectedQueueFull, RejectedConcurrencyLimit, TimedOut and Cancelled are those that did not, by reason.
	RejectedQueueFull, RejectedConcurrencyLimit, TimedOut, Cancelled uint64
	// NoAccommodation counts how often the next request in turn did not fit (request_dispatch_no_accommodation_total).
	NoAccommodation uint64
	// RetryAfterSeconds is what a refused caller is told.
	RetryAfterSeconds uint32
	// Quiescing: it has been removed and is running empty.
	Quiescing bool
}

// DurationBounds are the upper bounds of the first 13 buckets of a [Histogram], seconds; the last one has none.
var DurationBounds = [...]float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30}

// Histogram is one of durations, with the bounds of kube-apiserver's.
type Histogram struct {
	// Counts are observations in each bucket, not cumulative.
	Counts [C.APF_DURATION_BUCKETS]uint64
	// SumSeconds is the sum of the observations.
	SumSeconds float64
}

// Count is the number of observations.
func (h *Histogram) Count() uint64 {
	var count uint64
	for _, bucket := range h.Counts {
		count += bucket
	}
	return count
}

// SchemaStats are the numbers of one FlowSchema at one level.
type SchemaStats struct {
	// Name is that of the FlowSchema, Level where its requests went.
	Name, Level string
	// Arrived are requests that were given to the level, Dispatched those that began to execute.
	Arrived, Dispatched uint64
	// RejectedQueueFull, RejectedConcurrencyLimit, TimedOut and Cancelled are those that did not, by reason.
	RejectedQueueFull, RejectedConcurrencyLimit, TimedOut, Cancelled uint64
	// What is there now.
	RequestsWaiting, SeatsWaiting, RequestsExecuting, SeatsExecuting int64
	// SeatsLingering are those of ended requests that linger.
	SeatsLingering uint64
	// Waited are waits that ended in execution, WaitedInVain those that did not.
	Waited, WaitedInVain Histogram
	// Executed are executions but for watches; Watched those of watches, until ReleaseEarly if that is called.
	Executed, Watched Histogram
}

// Stats reads every number. Waits for its turn at each level.
func (d *Dispatcher) Stats() (*Stats, error) {
	defer runtime.KeepAlive(d)
	c := d.core
	if !c.enter() {
		return nil, ErrClosed
	}
	defer c.leave()
	var read *C.apf_stats
	if status := C.apf_stats_new(C.apf_go_engine(c.engine), &read); status != C.APF_OK {
		return nil, Status(status)
	}
	defer C.apf_stats_free(read)
	var levels, schemas C.size_t
	var fraction C.double
	C.apf_stats_counts(read, &levels, &schemas)
	C.apf_stats_fair_fraction(read, &fraction)
	stats := &Stats{
		Levels: make([]LevelStats, 0, levels), Schemas: make([]SchemaStats, 0, schemas), FairFraction: float64(fraction),
	}
	for i := range levels {
		level := C.apf_level_stats_init()
		if status := C.apf_stats_level(read, i, &level); status != C.APF_OK {
			return nil, Status(status)
		}
		stats.Levels = append(stats.Levels, levelStats(&level))
	}
	for i := range schemas {
		schema := C.apf_schema_stats_init()
		if status := C.apf_stats_schema(read, i, &schema); status != C.APF_OK {
			return nil, Status(status)
		}
		stats.Schemas = append(stats.Schemas, schemaStats(&schema))
	}
	return stats, nil
}

func levelStats(level *C.apf_level_stats) LevelStats {
	return LevelStats{
		Name:         goString(level.name),
		NominalLimit: uint32(level.nominal_limit), LowerLimit: uint32(level.lower_limit),
		UpperLimit: uint32(level.upper_limit), CurrentLimit: uint32(level.current_limit),
		Target: float64(level.target), DemandHigh: float64(level.demand_high),
		DemandAverage: float64(level.demand_average), DemandDeviation: float64(level.demand_deviation),
		DemandSmoothed: float64(level.demand_smoothed), RequestsWaiting: uint64(level.requests_waiting),
		SeatsWaiting: uint64(level.seats_waiting), RequestsExecuting: uint64(level.requests_executing),
		SeatsInUse: uint64(level.seats_in_use), SeatUtilization: float64(level.seat_utilization),
		Progress: float64(level.progress), Dispatched: uint64(level.dispatched),
		RejectedQueueFull:        uint64(level.rejected_queue_full),
		RejectedConcurrencyLimit: uint64(level.rejected_concurrency_limit), TimedOut: uint64(level.timed_out),
		Cancelled: uint64(level.cancelled), NoAccommodation: uint64(level.no_accommodation),
		RetryAfterSeconds: uint32(level.retry_after_seconds), Quiescing: level.quiescing != 0,
	}
}

func schemaStats(schema *C.apf_schema_stats) SchemaStats {
	return SchemaStats{
		Name: goString(schema.name), Level: goString(schema.level),
		Arrived: uint64(schema.arrived), Dispatched: uint64(schema.dispatched),
		RejectedQueueFull:        uint64(schema.rejected_queue_full),
		RejectedConcurrencyLimit: uint64(schema.rejected_concurrency_limit), TimedOut: uint64(schema.timed_out),
		Cancelled: uint64(schema.cancelled), RequestsWaiting: int64(schema.requests_waiting),
		SeatsWaiting: int64(schema.seats_waiting), RequestsExecuting: int64(schema.requests_executing),
		SeatsExecuting: int64(schema.seats_executing), SeatsLingering: uint64(schema.seats_lingering),
		Waited: histogram(&schema.waited), WaitedInVain: histogram(&schema.waited_in_vain),
		Executed: histogram(&schema.executed), Watched: histogram(&schema.watched),
	}
}

func histogram(from *C.apf_histogram) Histogram {
	made := Histogram{SumSeconds: float64(from.sum_seconds)}
	for i, count := range from.counts {
		made.Counts[i] = uint64(count)
	}
	return made
}

// Table is one of the debug dumps that kube-apiserver serves under /debug/api_priority_and_fairness/.
type Table int32

// The tables.
const (
	// TablePriorityLevels has a row a priority level, by name (dump_priority_levels).
	TablePriorityLevels Table = C.APF_TABLE_PRIORITY_LEVELS
	// TableQueues has a row a queue, by level (dump_queues).
	TableQueues Table = C.APF_TABLE_QUEUES
	// TableRequests has a row a request that waits or executes, by level (dump_requests).
	TableRequests Table = C.APF_TABLE_REQUESTS
	// TableRequestsWithDetails is the same with user, verb, path, namespace and so on (includeRequestDetails).
	TableRequestsWithDetails Table = C.APF_TABLE_REQUESTS_WITH_DETAILS
)

// Dump is a debug dump, as kube-apiserver prints it. What a dump of requests says of a request beyond its level's own account
// is there only with KeepDetails in the options. Waits for its turn at each level, and copies it: not for busy monitoring.
func (d *Dispatcher) Dump(table Table) (string, error) {
	return d.text(func(engine *C.apf_engine, buffer *C.char, capacity C.size_t, size *C.size_t) C.apf_status {
		return C.apf_dump(engine, C.int32_t(table), buffer, capacity, size)
	})
}

// Prometheus is the metrics of kube-apiserver's priority and fairness in the text format of Prometheus, which is served as
// text/plain; version=0.0.4; charset=utf-8. Waits for its turn at each level.
func (d *Dispatcher) Prometheus() (string, error) {
	return d.text(func(engine *C.apf_engine, buffer *C.char, capacity C.size_t, size *C.size_t) C.apf_status {
		return C.apf_prometheus(engine, buffer, capacity, size)
	})
}

func (d *Dispatcher) text(
	write func(engine *C.apf_engine, buffer *C.char, capacity C.size_t, size *C.size_t) C.apf_status,
) (string, error) {
	defer runtime.KeepAlive(d)
	c := d.core
	if !c.enter() {
		return "", ErrClosed
	}
	defer c.leave()
	buffer := make([]byte, 16<<10)
	for {
		var size C.size_t
		status := write(C.apf_go_engine(c.engine), (*C.char)(unsafe.Pointer(&buffer[0])), C.size_t(len(buffer)), &size)
		switch status {
		case C.APF_OK:
			return string(buffer[:size]), nil
		case C.APF_ERROR_BUFFER_TOO_SMALL:
			buffer = make([]byte, int(size)+int(size)/8+1024) // it may have grown by the next call
		default:
			return "", Status(status)
		}
	}
}
