package apf_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	apf "apf.invalid/bindings/go"
)

func Example() {
	// The built-in objects of kube-apiserver on 600 seats; Config for your own.
	dispatcher, err := apf.New(apf.Options{Seats: 600})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dispatcher.Close()

	// Who asks for what decides the FlowSchema, the priority level and the flow.
	request := &apf.Request{
		User: "alice", Groups: []string{"system:authenticated"}, Verb: "list", Resource: "pods", Namespace: "dev",
	}
	permit, err := dispatcher.Acquire(context.Background(), request)
	var rejected *apf.RejectedError
	switch {
	case err == nil:
		fmt.Println(permit.Level(), "by", permit.FlowSchema())
		// ... serve the request ...
		permit.Release() // gives the seat back
	case errors.As(err, &rejected):
		fmt.Println("429, Retry-After:", rejected.RetryAfter)
	default:
		fmt.Println("500:", err)
	}
	// Output: global-default by global-default
}

func ExampleDispatcher_TryAcquire() {
	dispatcher, err := apf.New(apf.Options{Seats: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dispatcher.Close()
	request := &apf.Request{User: "alice", Groups: []string{"system:authenticated"}, Verb: "create", Resource: "pods"}
	var admitted int
	for {
		permit, err := dispatcher.TryAcquire(request)
		var rejected *apf.RejectedError
		if errors.As(err, &rejected) {
			fmt.Println(admitted, "admitted, then", rejected.Reason, "at", rejected.Level)
			return
		}
		admitted++
		defer permit.Release()
	}
	// Output: 2 admitted, then concurrency-limit at global-default
}

// One seat while it runs, three for 5 ms after it has ended: a write that many watchers hear of.
func ExampleCost() {
	dispatcher, err := apf.New(apf.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dispatcher.Close()
	request := &apf.Request{
		User: "alice", Groups: []string{"system:authenticated"}, Verb: "create", Resource: "pods", Namespace: "dev",
		Cost: apf.Cost{Seats: 1, FinalSeats: 3, AdditionalLatency: 5 * time.Millisecond, WaitLimit: 2 * time.Second},
	}
	permit, err := dispatcher.Acquire(context.Background(), request)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(permit.Seats(), "seats")
	permit.Release()
	// Output: 3 seats
}

func ExampleDispatcher_SetConfig() {
	dispatcher, err := apf.New(apf.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dispatcher.Close()
	_, err = dispatcher.SetConfig(apf.Config{Name: "batch.yaml", Text: `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: batch}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 5, lendablePercent: 200, limitResponse: {type: Reject}}
`})
	var refused *apf.ConfigError
	if errors.As(err, &refused) {
		for _, problem := range refused.Problems {
			fmt.Printf("%s:%d: %s %q: %s: %s: %s\n", problem.File, problem.Line, problem.Kind, problem.Name, problem.Field,
				problem.Rule, problem.Detail)
		}
	}
	// Output: batch.yaml:7: PriorityLevelConfiguration "batch": spec.limited.lendablePercent: Invalid value: must be between 0 and 100, inclusive
}
