package apf

// #include "bridge.h"
import "C"

import (
	"time"
	"unsafe"
)

// Request is described by what it asks for: exactly one of Resource, Path and URL is set. It is read during the call and
// not kept, so it may be changed and used again.
type Request struct {
	// User is the name after authentication and impersonation, Groups are the user's.
	User   string
	Groups []string

	// Verb is, for a resource, the verb of the API ("list", "deletecollection"); for a path the HTTP method in lower case; for
	// a URL the HTTP method as sent ("GET").
	Verb string

	// URL is the path and query of a Kubernetes API URL as sent, such as /api/v1/namespaces/dev/pods?watch=1: verb, resource,
	// namespace and name are taken from it.
	URL string

	// Path is that of a URL that is no resource, decoded, without query: /healthz.
	Path string

	// Resource is plural and lower case: "pods". APIGroup is empty for the core group, Namespace for cluster-scoped
	// resources and lists across namespaces. APIVersion and Name play no part in classification, only in dumps.
	Resource, Subresource, APIGroup, APIVersion, Namespace, Name string

	// OnWait is called in the caller's goroutine when the request has to wait, with true, and when it waits no more, with
	// false. It is not called for a request that is admitted or refused at once. May be nil.
	OnWait func(waits bool)

	Cost
}

// Classified is a request that the host has classified by itself.
type Classified struct {
	// Level is the number of its priority level, from [Dispatcher.Level].
	Level uint32
	// FlowHash is its flow: requests of one flow share queues. Any number that is well mixed, such as
	// [Dispatcher.FlowHash] gives.
	FlowHash uint64

	// OnWait is as in [Request].
	OnWait func(waits bool)

	Cost
}

// Cost is how many seats a request takes, and how long it may wait for them.
type Cost struct {
	// Seats are those while it executes, 1 to 4194303; 0 means 1.
	Seats uint64
	// FinalSeats are held for AdditionalLatency after it has ended: for writes that many watchers hear of.
	FinalSeats        uint64
	AdditionalLatency time.Duration
	// WaitLimit is how long it may wait at most; the limit of its level applies besides, and the deadline of the
	// context. 0 means no limit of its own, a negative one that it may not wait: where it would have to, it is refused.
	WaitLimit time.Duration
}

func (cost *Cost) fill(head *C.apf_go_request) {
	head.initial_seats = C.uint64_t(max(cost.Seats, 1))
	head.final_seats = C.uint64_t(cost.FinalSeats)
	// A negative one is above the largest that is allowed.
	head.additional_latency_ns = C.uint64_t(cost.AdditionalLatency)
	switch {
	case cost.WaitLimit == 0:
		head.wait_limit_ns = C.APF_NO_LIMIT
	case cost.WaitLimit < 0:
		head.wait_limit_ns = 0
	default:
		head.wait_limit_ns = C.uint64_t(cost.WaitLimit)
	}
}

// flatBytes is the room for the texts of most requests; more takes memory from the heap.
const flatBytes = 320

// flat is a request in one block: see apf_go_request.
type flat struct {
	head  C.apf_go_request
	bytes [flatBytes]byte
}

const lengthBytes = int(unsafe.Sizeof(C.uint32_t(0)))

// size is that of the texts in a block.
func (r *Request) size() int {
	size := len(r.User) + len(r.Verb) + len(r.URL) + len(r.Path) + len(r.Resource) + len(r.Subresource) +
		len(r.APIGroup) + len(r.APIVersion) + len(r.Namespace) + len(r.Name)
	for _, group := range r.Groups {
		size += lengthBytes + len(group)
	}
	return size
}

// flatten writes the request: its head, and its texts into bytes, which has room for them.
func (r *Request) flatten(head *C.apf_go_request, bytes []byte) {
	r.Cost.fill(head)
	at := 0
	for i, text := range [...]*string{&r.User, &r.Verb, &r.URL, &r.Path, &r.Resource, &r.Subresource, &r.APIGroup,
		&r.APIVersion, &r.Namespace, &r.Name} {
		head.lengths[i] = C.uint32_t(len(*text))
		at += copy(bytes[at:], *text)
	}
	head.group_count = C.uint32_t(len(r.Groups))
	for _, group := range r.Groups {
		length := uint32(len(group))
		at += copy(bytes[at:], unsafe.Slice((*byte)(unsafe.Pointer(&length)), lengthBytes))
		at += copy(bytes[at:], group)
	}
}
