package apf

// #include "bridge.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrRejected is what every [*RejectedError] is, for errors.Is.
var ErrRejected = errors.New("apf: request rejected")

// ErrClosed is the error of a dispatcher that has been closed, and of requests that waited when it was.
var ErrClosed = errors.New("apf: dispatcher closed")

// Reason says why a request was refused: the label `reason` of kube-apiserver's metric rejected_requests_total.
type Reason string

// The reasons.
const (
	// ReasonQueueFull: no seat is free and its queue is full.
	ReasonQueueFull Reason = "queue-full"
	// ReasonConcurrencyLimit: its level does not queue (or the call was TryAcquire) and has too few free seats.
	ReasonConcurrencyLimit Reason = "concurrency-limit"
	// ReasonTimeOut: it waited for as long as it may.
	ReasonTimeOut Reason = "time-out"
	// ReasonCancelled is seen in statistics alone.
	ReasonCancelled Reason = "cancelled"
)

func reasonOf(number C.int32_t) Reason {
	switch number {
	case C.APF_REASON_QUEUE_FULL:
		return ReasonQueueFull
	case C.APF_REASON_CONCURRENCY_LIMIT:
		return ReasonConcurrencyLimit
	case C.APF_REASON_TIME_OUT:
		return ReasonTimeOut
	case C.APF_REASON_CANCELLED:
		return ReasonCancelled
	}
	return ""
}

// RejectedError is a refusal: answer 429 with Retry-After. Nothing is held.
type RejectedError struct {
	Reason Reason
	// RetryAfter is for how long the client is to stay away: 1 to 32 s, whole seconds.
	RetryAfter time.Duration
	// Level and FlowSchema are what the request was classified to.
	Level, FlowSchema string
	// Waited is for how long it had a place in a queue.
	Waited time.Duration
}

// Error says what was refused and why.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("apf: request rejected: %s at priority level %s (FlowSchema %s), retry after %v", e.Reason, e.Level,
		e.FlowSchema, e.RetryAfter)
}

// Is makes every refusal [ErrRejected].
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

// Status is an error of the library: the numbers and names are those of apf.h and of docs/errors.md. The values are
// constants, so errors.Is compares with them.
type Status int32

// What a caller can do something about. The others are named by [Status.Name].
const (
	// ErrUTF8: a text of the request is not UTF-8.
	ErrUTF8 Status = C.APF_ERROR_UTF8
	// ErrRequest: it has neither or more than one of Resource, Path and URL, or its URL is not that of an HTTP request.
	ErrRequest Status = C.APF_ERROR_REQUEST
	// ErrEstimate: a width above 4194303 seats, or a latency that is negative.
	ErrEstimate Status = C.APF_ERROR_ESTIMATE
	// ErrLevel: there is no priority level of this name or number.
	ErrLevel Status = C.APF_ERROR_LEVEL
	// ErrNotAdmitted and the following are about permits; they are not seen by hosts that use [Permit].
	ErrNotAdmitted Status = C.APF_ERROR_NOT_ADMITTED
	// ErrConfiguration is what every [*ConfigError] is.
	ErrConfiguration Status = C.APF_ERROR_CONFIGURATION
	// ErrSeats: the number of seats is not in 1..=2147483647.
	ErrSeats Status = C.APF_ERROR_SEATS
	// ErrClock: the dispatcher's clock runs by itself.
	ErrClock Status = C.APF_ERROR_CLOCK
	// ErrInvalidArgument: a value that is none of its type's.
	ErrInvalidArgument Status = C.APF_ERROR_INVALID_ARGUMENT
	// ErrOutOfMemory: no memory for another request.
	ErrOutOfMemory Status = C.APF_ERROR_OUT_OF_MEMORY
	// ErrSystem: the operating system refused a thread or a file descriptor.
	ErrSystem Status = C.APF_ERROR_SYSTEM
	// ErrPanic: a defect in the library. The dispatcher can be used on.
	ErrPanic Status = C.APF_ERROR_PANIC
)

// Name is the name in docs/errors.md, such as "estimate".
func (s Status) Name() string { return goString(C.apf_status_name(C.int32_t(s))) }

// Error is a sentence on it.
func (s Status) Error() string { return "apf: " + goString(C.apf_status_text(C.int32_t(s))) }

func statusError(status C.apf_status) error {
	if status == C.APF_OK {
		return nil
	}
	return Status(status)
}

// contextError says that a context ended a request, and is both the context's error and its cause.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return fmt.Errorf("apf: not admitted: %w", err)
	}
	return fmt.Errorf("apf: not admitted: %w: %w", err, cause)
}

// Severity is how much a problem matters.
type Severity int32

// The severities.
const (
	// Warning: the object is used.
	Warning Severity = C.APF_SEVERITY_WARNING
	// Error: the object, and with it the configuration, is refused.
	Error Severity = C.APF_SEVERITY_ERROR
)

// Problem is something that is wrong with a configuration.
type Problem struct {
	Severity Severity
	// File is the file, or the name of the text.
	File string
	// Line and Column count from 1; 0 when there is none.
	Line, Column int
	// Kind and Name are those of the object, empty when not known.
	Kind, Name string
	// Field is a path such as spec.rules[0].subjects, empty when the whole object or file is meant.
	Field string
	// Rule is what is broken, as Kubernetes titles it: "Required value", "Invalid value", "Unknown field", ...
	Rule string
	// Value is the offending value where the rule shows one, Detail what the rule asks for.
	Value, Detail string
	// Text is all of it in one line.
	Text string
}

// ConfigError is a configuration that is refused; nothing has changed.
type ConfigError struct {
	// Problems has the errors, and the warnings that came with them, in the order of the texts.
	Problems []Problem
}

// Error has a line for each problem.
func (e *ConfigError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	lines = append(lines, "apf: the configuration is refused")
	for _, problem := range e.Problems {
		lines = append(lines, problem.Text)
	}
	return strings.Join(lines, "\n")
}

// Is makes every one [ErrConfiguration].
func (e *ConfigError) Is(target error) bool { return target == ErrConfiguration }
