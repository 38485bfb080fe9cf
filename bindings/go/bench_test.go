package apf

import (
	"context"
	"testing"
)

func BenchmarkAcquireRelease(b *testing.B) {
	d, err := New(Options{Seats: 600})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	request := &Request{User: "alice", Groups: []string{"system:authenticated"}, Verb: "list", Resource: "pods", Namespace: "dev"}
	b.ReportAllocs()
	for b.Loop() {
		permit, err := d.Acquire(context.Background(), request)
		if err != nil {
			b.Fatal(err)
		}
		permit.Release()
	}
}

func BenchmarkAcquireReleaseClassified(b *testing.B) {
	d, err := New(Options{Seats: 600})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	level, err := d.Level("global-default")
	if err != nil {
		b.Fatal(err)
	}
	request := &Classified{Level: level, FlowHash: 12345}
	b.ReportAllocs()
	for b.Loop() {
		permit, err := d.AcquireClassified(context.Background(), request)
		if err != nil {
			b.Fatal(err)
		}
		permit.Release()
	}
}

func BenchmarkSaturated200(b *testing.B) {
	d, err := New(Options{Seats: 600})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	request := &Request{User: "alice", Groups: []string{"system:authenticated"}, Verb: "list", Resource: "pods", Namespace: "dev"}
	b.ReportAllocs()
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			permit, err := d.Acquire(context.Background(), request)
			if err != nil {
				b.Error(err)
				return
			}
			permit.Release()
		}
	})
}
