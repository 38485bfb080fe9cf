package main

import (
	"context"

	"k8s.io/apiserver/pkg/util/flowcontrol/debug"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// recorder stands between the controller and the real queue sets. It notes what the controller
// passes down, which no exported name gives away, and otherwise changes nothing.
type recorder struct {
	inner fq.QueueSetFactory
	// classifyOnly keeps requests away from the queue sets: they are classified and go no further.
	classifyOnly bool
	flowHash     uint64
	hand         []int
	// entered is told of each request that a queue set has answered, nil for one that it refused, where somebody listens.
	entered chan fq.Request
}

var _ fq.QueueSetFactory = (*recorder)(nil)

func (r *recorder) BeginConstruction(config fq.QueuingConfig, requests metrics.RatioedGaugePair, seats metrics.RatioedGauge, demand metrics.Gauge) (fq.QueueSetCompleter, error) {
	inner, err := r.inner.BeginConstruction(config, requests, seats, demand)
	if err != nil {
		return nil, err
	}
	return &recordingCompleter{inner: inner, recorder: r, queuing: config}, nil
}

type recordingCompleter struct {
	inner    fq.QueueSetCompleter
	recorder *recorder
	queuing  fq.QueuingConfig
}

func (c *recordingCompleter) Complete(config fq.DispatchingConfig) fq.QueueSet {
	return &recordingSet{QueueSet: c.inner.Complete(config), recorder: c.recorder, queuing: c.queuing, dispatching: config}
}

// recordingSet is replaced at each Complete, the queue set inside it stays the same.
type recordingSet struct {
	fq.QueueSet
	recorder    *recorder
	queuing     fq.QueuingConfig
	dispatching fq.DispatchingConfig
}

func (s *recordingSet) BeginConfigChange(config fq.QueuingConfig) (fq.QueueSetCompleter, error) {
	inner, err := s.QueueSet.BeginConfigChange(config)
	if err != nil {
		return nil, err
	}
	return &recordingCompleter{inner: inner, recorder: s.recorder, queuing: config}, nil
}

func (s *recordingSet) StartRequest(ctx context.Context, width *fcrequest.WorkEstimate, flowHash uint64, distinguisher, schema string, descr1, descr2 any, note fq.QueueNoteFn) (fq.Request, bool) {
	s.recorder.flowHash = flowHash
	s.recorder.hand = deal(s.queuing, flowHash)
	if s.recorder.classifyOnly {
		return nil, false
	}
	req, idle := s.QueueSet.StartRequest(ctx, width, flowHash, distinguisher, schema, descr1, descr2, note)
	if s.recorder.entered != nil {
		s.recorder.entered <- req
	}
	return req, idle
}

func (s *recordingSet) Dump(details bool) debug.QueueSetDump { return s.QueueSet.Dump(details) }
