package main

import "github.com/go-logr/logr"

// logSink drops the queue set's log and counts the epoch advances it tells of: the queue set keeps no other count of them than a
// metric, and a registered metric would make every event slow.
type logSink struct {
	epochAdvances       uint64
	failedEpochAdvances uint64
	failing             bool
}

var _ logr.LogSink = (*logSink)(nil)

func (s *logSink) Init(logr.RuntimeInfo)          {}
func (s *logSink) Enabled(level int) bool         { return level == 0 }
func (s *logSink) WithValues(...any) logr.LogSink { return s }
func (s *logSink) WithName(string) logr.LogSink   { return s }
func (s *logSink) Info(_ int, message string, _ ...any) {
	if message == "Advancing epoch" {
		s.epochAdvances++
		s.failing = false
	}
}

func (s *logSink) Error(_ error, message string, _ ...any) {
	if message == "Underflow" && !s.failing {
		s.failing = true
		s.failedEpochAdvances++
	}
}
