package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/client-go/kubernetes"
)

// server is a case under way.
type server struct {
	*controller
	levels   []*flowcontrol.PriorityLevelConfiguration
	schemas  []*flowcontrol.FlowSchema
	inFlight map[uint64]flight
}

type flight struct {
	request fq.Request
	cancel  context.CancelFunc
	level   string
}

// runCase answers every step of a case, up to one that panics.
func runCase(client kubernetes.Interface, c testCase) caseResult {
	s := &server{controller: newController(client, c.ServerLimit), inFlight: map[uint64]flight{}}
	defer s.close()
	defer func() {
		for _, f := range s.inFlight {
			f.cancel()
		}
	}()
	result := caseResult{Name: c.Name}
	for _, step := range c.Steps {
		answer := s.answer(step)
		result.Results = append(result.Results, answer)
		if answer.Panic != "" {
			break
		}
	}
	return result
}

func (s *server) answer(step step) (result stepResult) {
	defer func() {
		if cause := recover(); cause != nil {
			result = stepResult{Panic: fmt.Sprint(cause)}
		}
	}()
	s.clock.advance(origin.Add(time.Duration(step.At)))
	switch step.Op {
	case "replace":
		s.levels, s.schemas = step.PriorityLevels, step.FlowSchemas
		return stepResult{Config: s.digest()}
	case "digest":
		return stepResult{Config: s.digest()}
	case "classify":
		class, _ := s.start(context.Background(), step, true)
		return stepResult{Class: &class}
	case "start":
		return s.startInFlight(step)
	case "finish", "cancel":
		return s.end(step)
	case "adjust":
		updateBorrowing(s.pointer)
		return stepResult{Adjusted: s.allLevels()}
	default:
		panic(fmt.Sprintf("unknown op %q", step.Op))
	}
}

func (s *server) digest() *configState {
	updates := []conditionUpdate{}
	for _, update := range lockAndDigestConfigObjects(s.pointer, s.levels, s.schemas) {
		updates = append(updates, conditionUpdate{
			Schema:  update.flowSchema.Name,
			Type:    string(update.condition.Type),
			Status:  string(update.condition.Status),
			Reason:  update.condition.Reason,
			Message: update.condition.Message,
		})
	}
	sort.Slice(updates, func(i, j int) bool { return updates[i].Schema < updates[j].Schema })
	return &configState{Schemas: s.controller.schemas(), ConditionUpdates: updates, Levels: s.allLevels()}
}

func (s *server) start(ctx context.Context, step step, classifyOnly bool) (class, fq.Request) {
	var found class
	note := func(schema *flowcontrol.FlowSchema, level *flowcontrol.PriorityLevelConfiguration, distinguisher string) {
		found.Schema, found.SchemaUID = schema.Name, string(schema.UID)
		found.Level, found.LevelUID = level.Name, string(level.UID)
		found.Distinguisher = distinguisher
	}
	s.recorder.classifyOnly = classifyOnly
	_, _, _, req, _ := startRequest(s.pointer, ctx, step.Request.digest(), note, step.estimate, func(bool) {})
	found.FlowHash, found.Hand = s.recorder.flowHash, s.recorder.hand
	return found, req
}

func (s *server) startInFlight(step step) stepResult {
	ctx, cancel := context.WithCancel(context.Background())
	class, req := s.start(ctx, step, false)
	answer := started{class: class, State: "rejected", Queue: -1}
	if req == nil {
		cancel()
	} else {
		answer.State, answer.Queue = "executing", queueOf(req)
		if waits(req) {
			answer.State = "waiting"
		}
		s.inFlight[step.Handle] = flight{request: req, cancel: cancel, level: class.Level}
	}
	return stepResult{Started: &answer, Level: s.occupied(class.Level)}
}

// end finishes a request, or cancels it where it still waits. A cancel leaves a request alone that
// was let through in the meantime.
func (s *server) end(step step) stepResult {
	f, ok := s.inFlight[step.Handle]
	if !ok {
		return stepResult{Ended: &ended{Was: "none"}}
	}
	was := "executed"
	if waits(f.request) {
		was = "ejected"
	} else if step.Op == "cancel" {
		return stepResult{Ended: &ended{Was: "executing"}, Level: s.occupied(f.level)}
	}
	if was == "ejected" {
		f.cancel()
	}
	ran := false
	f.request.Finish(func() { ran = true })
	if ran != (was == "executed") {
		panic(fmt.Sprintf("request %d was %s, but ran is %v", step.Handle, was, ran))
	}
	f.cancel()
	delete(s.inFlight, step.Handle)
	result := stepResult{Ended: &ended{Was: was}, Level: s.occupied(f.level)}
	// What the controller's worker would do at once: a level that nobody wants is dropped when idle.
	maybeReap(s.pointer, f.level)
	if s.takeWork() {
		result.Config = s.digest()
	}
	return result
}

func (s *server) occupied(level string) *occupiedSeats {
	state, ok := s.level(level)
	if !ok {
		return nil
	}
	return &state.Seats
}
