// Package apf is Kubernetes API Priority and Fairness for Go servers: it decides for each request whether it runs now,
// waits for its turn, or is refused, so that no client can crowd out the others.
//
//	dispatcher, err := apf.New(apf.Options{Seats: 600})
//	...
//	permit, err := dispatcher.Acquire(ctx, &apf.Request{User: "alice", Verb: "list", Resource: "pods", Namespace: "dev"})
//	if err != nil {
//		var rejected *apf.RejectedError
//		if errors.As(err, &rejected) { ... } // answer 429 with Retry-After
//		...
//	}
//	defer permit.Release()
//
// The engine is a library of its own, linked through cgo. Package apfhttp has a middleware for net/http.
//
// # Blocking
//
// A waiting request costs its goroutine and no thread: decisions come in batches through the runtime's netpoller and are
// handed to the goroutines that wait for them. A hundred thousand requests wait on a handful of threads.
//
//   - [Dispatcher.Acquire] and [Dispatcher.AcquireClassified] block the goroutine until the request is granted or refused,
//     or the context is done. A request that need not wait is admitted in one call of the library.
//   - [Dispatcher.TryAcquire], [Dispatcher.TryAcquireClassified], [Permit.Release], [Permit.ReleaseEarly],
//     [Dispatcher.FlowHash], [Dispatcher.Now] and the methods of [Permit] that only tell something never block.
//   - [Dispatcher.Stats], [Dispatcher.Dump], [Dispatcher.Prometheus], [Dispatcher.SetConfig], [Dispatcher.Level],
//     [Dispatcher.SetTime] and [Dispatcher.NextTimer] wait for their turn at each priority level, microseconds as a rule.
//     They hold a thread for that time.
//   - [New] and [Dispatcher.SetConfig] read files if told so. New compares two clocks for 10 ms.
//   - [Dispatcher.Close] waits until the requests that wait have been told.
//
// # Cancel safety
//
// When its context is done, a request that waits leaves its queue at once. A grant that has come in the same instant goes
// back: Acquire either gives a permit or an error, and with an error nothing is held.
//
// # Memory
//
// To acquire and to release allocates nothing as long as the permit does not leave the function that acquired it. No
// pointer into Go memory is kept by the library, and none is inside what is handed to it.
//
// # fork
//
// Go programs do not fork without exec, and exec needs no care.
package apf
