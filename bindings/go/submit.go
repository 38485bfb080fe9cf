package apf

// #include "bridge.h"
// #cgo noescape apf_go_submit
// #cgo nocallback apf_go_submit
// #cgo noescape apf_go_submit_classified
// #cgo nocallback apf_go_submit_classified
// #cgo noescape apf_go_finish
// #cgo nocallback apf_go_finish
// #cgo noescape apf_go_finish_early
// #cgo nocallback apf_go_finish_early
// #cgo noescape apf_go_cancel
// #cgo nocallback apf_go_cancel
// #cgo noescape apf_go_take
// #cgo nocallback apf_go_take
import "C"

import "unsafe"

// submit gives a request to the engine. The block is on this function's stack, which is not that of the wait.
//
//go:noinline
func (c *core) submit(r *Request, mayWait bool, decision *C.apf_go_decision) {
	size := r.size()
	if size > flatBytes {
		c.submitLong(r, size, mayWait, decision)
		return
	}
	var block flat
	r.flatten(&block.head, block.bytes[:])
	if mayWait {
		block.head.may_wait = 1
	}
	C.apf_go_submit(c.engine, (*C.apf_go_request)(unsafe.Pointer(&block)), decision)
}

//go:noinline
func (c *core) submitLong(r *Request, size int, mayWait bool, decision *C.apf_go_decision) {
	// As numbers, for their alignment.
	const head = unsafe.Sizeof(C.apf_go_request{})
	words := make([]uint64, (int(head)+size+7)/8)
	block := unsafe.Pointer(unsafe.SliceData(words))
	r.flatten((*C.apf_go_request)(block), unsafe.Slice((*byte)(unsafe.Add(block, head)), size))
	if mayWait {
		(*C.apf_go_request)(block).may_wait = 1
	}
	C.apf_go_submit(c.engine, (*C.apf_go_request)(block), decision)
}

func (c *core) submitClassified(r *Classified, mayWait bool, decision *C.apf_go_decision) {
	var head C.apf_go_request
	r.Cost.fill(&head)
	if mayWait {
		head.may_wait = 1
	}
	C.apf_go_submit_classified(c.engine, C.uint32_t(r.Level), C.uint64_t(r.FlowHash), &head, decision)
}

// submitToWait is submit where requests wait already: to wait takes a short lock in the engine, and while the operating
// system has stopped the thread that holds it, each goroutine that comes would block one thread more. So they take turns
// here, where a goroutine blocks none.
func (c *core) submitToWait(r *Request, decision *C.apf_go_decision) {
	if c.waiters.count.Load() == 0 {
		c.submit(r, true, decision)
		return
	}
	c.gate <- struct{}{}
	c.submit(r, true, decision)
	<-c.gate
}

func (c *core) submitClassifiedToWait(r *Classified, decision *C.apf_go_decision) {
	if c.waiters.count.Load() == 0 {
		c.submitClassified(r, true, decision)
		return
	}
	c.gate <- struct{}{}
	c.submitClassified(r, true, decision)
	<-c.gate
}

// ticket names a request that waits or runs.
type ticket [2]uint64

func ticketOf(decision *C.apf_go_decision) ticket {
	return ticket{uint64(decision.ticket[0]), uint64(decision.ticket[1])}
}

// finish ends a running request, and hands on the seats that it gives back.
//
//go:noinline
func (c *core) finish(t ticket) C.apf_status {
	var batch C.apf_go_batch
	status := C.apf_go_finish(c.engine, C.uint64_t(t[0]), C.uint64_t(t[1]), &batch)
	if batch.count != 0 {
		c.handOut(&batch)
	}
	return status
}

func (c *core) finishEarly(t ticket) C.apf_status {
	var batch C.apf_go_batch
	status := C.apf_go_finish_early(c.engine, C.uint64_t(t[0]), C.uint64_t(t[1]), &batch)
	if batch.count != 0 {
		c.handOut(&batch)
	}
	return status
}

// cancel ends a waiting request; APF_OK says that no decision on it has come or will come.
func (c *core) cancel(t ticket) C.apf_status {
	var batch C.apf_go_batch
	status := C.apf_go_cancel(c.engine, C.uint64_t(t[0]), C.uint64_t(t[1]), &batch)
	if batch.count != 0 {
		c.handOut(&batch)
	}
	return status
}

// cancelInTurn is cancel for the many goroutines whose contexts may be done at once: see submitToWait. It is not inlined, so
// that what it needs is not on the stacks of all who wait.
//
//go:noinline
func (c *core) cancelInTurn(t ticket) C.apf_status {
	c.gate <- struct{}{}
	status := c.cancel(t)
	<-c.gate
	return status
}

//go:noinline
func (c *core) handOut(batch *C.apf_go_batch) {
	for i := range batch.count {
		c.waiters.decided(&batch.decisions[i])
	}
	if batch.more != 0 {
		c.takeAll()
	}
}

// takeAll hands out the decisions that no call has taken.
func (c *core) takeAll() {
	var decisions [16]C.apf_go_decision
	for {
		count := C.apf_go_take(c.engine, &decisions[0], C.uint32_t(len(decisions)))
		for i := range count {
			c.waiters.decided(&decisions[i])
		}
		if int(count) < len(decisions) {
			return
		}
	}
}
