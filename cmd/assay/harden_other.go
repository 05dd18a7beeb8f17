//go:build !linux

package main

// harden does nothing where the system has no such thing.
func harden() {}
