//go:build !cgo

package apf

// The engine is a C library: set CGO_ENABLED=1 and have a C compiler.
var _ = apf_needs_cgo_set_CGO_ENABLED_to_1_and_have_a_C_compiler
