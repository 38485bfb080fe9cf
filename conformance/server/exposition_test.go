package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// expositionCase is set in a process that runs one case: the reference's metrics live as long as a process.
const expositionCase = "EXPOSITION_CASE"

func TestMain(m *testing.M) {
	if os.Getenv(expositionCase) == "" {
		os.Exit(m.Run())
	}
	if err := expose(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestExpositionIsWhatTheReferenceShows keeps the committed texts from being anybody else's.
func TestExpositionIsWhatTheReferenceShows(t *testing.T) {
	files, err := filepath.Glob("exposition/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		run := exec.Command(os.Args[0])
		run.Env = append(os.Environ(), expositionCase+"=1")
		run.Stdin, run.Stderr = bytes.NewReader(text), os.Stderr
		got, err := run.Output()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
		for n := range min(len(gotLines), len(wantLines)) {
			if gotLines[n] != wantLines[n] {
				t.Fatalf("%s: line %d is now\n%s\nand was\n%s", file, n+1, gotLines[n], wantLines[n])
			}
		}
		if len(gotLines) != len(wantLines) {
			t.Errorf("%s: %d lines, not %d", file, len(gotLines), len(wantLines))
		}
	}
}
