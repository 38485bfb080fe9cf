//go:build cgo && !apf_dynamic

package apf

// #cgo LDFLAGS: ${SRCDIR}/lib/linux_amd64/libapf.a -lm -ldl -lpthread
import "C"

import _ "apf.invalid/bindings/go/lib/linux_amd64" // so that vendoring takes the library along
