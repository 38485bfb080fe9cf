// Package linux_amd64 holds libapf.a, so that the library is vendored together with the package that links it.
package linux_amd64
