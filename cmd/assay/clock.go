package main

import (
	"os"
	"path/filepath"

	"github.com/assaybot/assay/internal/flow"
)

// clock finds the library that shifts the clock of boxes: the one that
// ASSAY_FAKETIME names, else where Debian and others install it.
func clock() flow.Clock {
	name := os.Getenv("ASSAY_FAKETIME")
	if name == "" {
		name = faketime()
	}
	if name == "" {
		return flow.Clock{Missing: "libfaketime is not on this machine; Debian's package faketime has it"}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return flow.Clock{Missing: "reading libfaketime: " + err.Error()}
	}
	return flow.Clock{Library: data}
}

// faketime is the library's path, "" where there is none. The variant for
// programs with threads serves all.
func faketime() string {
	for _, dir := range []string{"/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime"} {
		if found, err := filepath.Glob(filepath.Join(dir, "libfaketimeMT.so.1")); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return ""
}
