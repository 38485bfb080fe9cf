package apf

// The static library is built from the repository that this package is in.
//go:generate cargo xtask go-archive
