package main

import (
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	fc "k8s.io/apiserver/pkg/util/flowcontrol"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// testCase is one line of input: a server, and what happens to it.
type testCase struct {
	Name        string `json:"name"`
	ServerLimit int    `json:"serverLimit"`
	Steps       []step `json:"steps"`
}

// step is one thing that happens. Which fields count depends on Op; README.md lists them.
type step struct {
	Op string `json:"op"`
	// At is nanoseconds since the start of the case.
	At int64 `json:"at"`

	PriorityLevels []*flowcontrol.PriorityLevelConfiguration `json:"priorityLevels,omitempty"`
	FlowSchemas    []*flowcontrol.FlowSchema                 `json:"flowSchemas,omitempty"`

	Request *attributes   `json:"request,omitempty"`
	Work    *workEstimate `json:"work,omitempty"`
	Handle  uint64        `json:"handle,omitempty"`
}

// attributes is what classification reads of a request.
type attributes struct {
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	IsResource  bool     `json:"isResource"`
	Path        string   `json:"path"`
	Verb        string   `json:"verb"`
	APIGroup    string   `json:"apiGroup"`
	Namespace   string   `json:"namespace"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource"`
	// What only the dumps show.
	APIVersion string `json:"apiVersion,omitempty"`
	Name       string `json:"name,omitempty"`
}

func (a *attributes) digest() fc.RequestDigest {
	return fc.RequestDigest{
		RequestInfo: &request.RequestInfo{
			IsResourceRequest: a.IsResource,
			Path:              a.Path,
			Verb:              a.Verb,
			APIGroup:          a.APIGroup,
			APIVersion:        a.APIVersion,
			Namespace:         a.Namespace,
			Resource:          a.Resource,
			Subresource:       a.Subresource,
			Name:              a.Name,
		},
		User: &user.DefaultInfo{Name: a.User, Groups: a.Groups},
	}
}

type workEstimate struct {
	InitialSeats uint64 `json:"initialSeats"`
	FinalSeats   uint64 `json:"finalSeats"`
	// AdditionalLatency is in nanoseconds.
	AdditionalLatency int64 `json:"additionalLatency"`
}

// estimate is one seat for a step without work.
func (s *step) estimate() fcrequest.WorkEstimate {
	if s.Work == nil {
		return fcrequest.WorkEstimate{InitialSeats: 1}
	}
	return fcrequest.WorkEstimate{
		InitialSeats:      s.Work.InitialSeats,
		FinalSeats:        s.Work.FinalSeats,
		AdditionalLatency: time.Duration(s.Work.AdditionalLatency),
	}
}

// caseResult is one line of output: an answer for each step.
type caseResult struct {
	Name    string       `json:"name"`
	Results []stepResult `json:"results"`
}

// stepResult holds what its step has an answer for; README.md says what that is.
type stepResult struct {
	Config   *configState   `json:"config,omitempty"`
	Class    *class         `json:"class,omitempty"`
	Started  *started       `json:"started,omitempty"`
	Ended    *ended         `json:"ended,omitempty"`
	Adjusted []levelState   `json:"adjusted,omitempty"`
	Panic    string         `json:"panic,omitempty"`
	Level    *occupiedSeats `json:"level,omitempty"`
}

// configState is what a digestion leaves behind.
type configState struct {
	// Schemas in the order they are tried.
	Schemas []string `json:"schemas"`
	// ConditionUpdates are the writes to FlowSchema statuses that the digestion asks for, by name.
	ConditionUpdates []conditionUpdate `json:"conditionUpdates"`
	Levels           []levelState      `json:"levels"`
}

type conditionUpdate struct {
	Schema  string `json:"schema"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// levelState is everything the controller holds about a level. Lists are sorted by name.
type levelState struct {
	Name      string `json:"name"`
	Quiescing bool   `json:"quiescing,omitempty"`
	NominalCL int    `json:"nominalCL,omitempty"`
	MinCL     int    `json:"minCL,omitempty"`
	MaxCL     int    `json:"maxCL,omitempty"`
	CurrentCL int    `json:"currentCL,omitempty"`
	// MaxSeats is 0 when the tracker has no entry.
	MaxSeats uint64 `json:"maxSeats,omitempty"`
	// AppliedCL is what the queue set was last completed with.
	AppliedCL     int           `json:"appliedCL,omitempty"`
	Queues        int           `json:"queues,omitempty"`
	HandSize      int           `json:"handSize,omitempty"`
	QueueLength   int           `json:"queueLengthLimit,omitempty"`
	HighWatermark int           `json:"highWatermark,omitempty"`
	Average       float64       `json:"average,omitempty"`
	Deviation     float64       `json:"deviation,omitempty"`
	Smoothed      float64       `json:"smoothed,omitempty"`
	Seats         occupiedSeats `json:"occupied,omitzero"`
}

// occupiedSeats are the totals of a queue set.
type occupiedSeats struct {
	Waiting      int `json:"waiting,omitempty"`
	SeatsWaiting int `json:"seatsWaiting,omitempty"`
	Executing    int `json:"executing,omitempty"`
	SeatsInUse   int `json:"seatsInUse,omitempty"`
}

// class is the classification of a request.
type class struct {
	Schema        string `json:"schema"`
	SchemaUID     string `json:"schemaUID,omitempty"`
	Level         string `json:"level"`
	LevelUID      string `json:"levelUID,omitempty"`
	Distinguisher string `json:"distinguisher,omitempty"`
	FlowHash      uint64 `json:"flowHash,omitempty"`
	// Hand is the flow's queues in deal order, absent for a level that does not deal.
	Hand []int `json:"hand,omitempty"`
}

// started is what became of a request: "executing", "waiting" or "rejected".
type started struct {
	class
	State string `json:"state"`
	// Queue is -1 for a request in no queue.
	Queue int `json:"queue"`
}

// ended says what a finish or cancel met: "executed", "ejected", "executing" (a cancel that came
// too late) or "none" (the handle is not in flight).
type ended struct {
	Was string `json:"was"`
}
