package apf

// #include "bridge.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// names are the texts of the engine's levels and schemas, copied once each: the engine keeps a text at its address for
// as long as it lives, but permits may outlive it.
type names struct {
	// quick has the name of each address that was seen last among those that share its place.
	quick [64]atomic.Pointer[name]
	all   sync.Map // address -> *name
}

type name struct {
	address uint64
	text    string
}

var noName = &name{}

func (n *names) of(address, length C.uint64_t) *name {
	// Texts are at least 16 bytes apart as a rule.
	quick := &n.quick[(address>>4^address>>10)%64]
	if known := quick.Load(); known != nil && known.address == uint64(address) {
		return known
	}
	return n.find(quick, uint64(address), int(length))
}

//go:noinline
func (n *names) find(quick *atomic.Pointer[name], address uint64, length int) *name {
	if address == 0 || length == 0 {
		return noName
	}
	known, found := n.all.Load(address)
	if !found {
		text := C.GoStringN(*(**C.char)(unsafe.Pointer(&address)), C.int(length))
		known, _ = n.all.LoadOrStore(address, &name{address, text})
	}
	quick.Store(known.(*name))
	return known.(*name)
}

// goString copies a text of the library.
func goString(text C.apf_str) string {
	return C.GoStringN(text.data, C.int(text.len))
}
