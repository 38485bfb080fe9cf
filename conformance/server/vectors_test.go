package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"
)

// TestVectorsAreWhatTheReferenceDoes keeps the committed answers from being anybody else's.
func TestVectorsAreWhatTheReferenceDoes(t *testing.T) {
	files, err := filepath.Glob("vectors/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	client := fake.NewSimpleClientset()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, len(text)+1)
		for number := 1; lines.Scan(); number++ {
			var vector struct {
				Case     testCase   `json:"case"`
				Expected caseResult `json:"expected"`
			}
			decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&vector); err != nil {
				t.Fatalf("%s:%d: %v", file, number, err)
			}
			got := throughJSON(t, runCase(client, vector.Case))
			want := throughJSON(t, vector.Expected)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:%d: %s: the reference does something else", file, number, vector.Case.Name)
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// throughJSON makes nil and empty lists alike, as the other side sees them.
func throughJSON(t *testing.T, result caseResult) any {
	t.Helper()
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestTheClockRunsDueEventsInOrderOnItsWay(t *testing.T) {
	clock := newStepClock()
	var order []int64
	note := func(id int64) func(time.Time) {
		return func(at time.Time) { order = append(order, id, int64(at.Sub(origin))) }
	}
	clock.EventAfterDuration(note(1), 20)
	clock.EventAfterDuration(note(2), 10)
	clock.EventAfterDuration(note(3), 10)
	clock.EventAfterDuration(note(4), 31)
	clock.advance(origin.Add(30))
	if want := []int64{2, 10, 3, 10, 1, 20}; !reflect.DeepEqual(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
	if got := clock.Since(origin); got != 30 {
		t.Errorf("the clock stands at %v, not at 30ns", got)
	}
}
