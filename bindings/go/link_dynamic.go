//go:build cgo && apf_dynamic

package apf

// #cgo CFLAGS: -DAPF_GO_DYNAMIC
// #cgo pkg-config: apf
import "C"
