// Package tasks holds the built-in suite, so that it travels in the binary:
// each task is a folder as internal/suite reads it, and environment/ holds the
// shared images. It holds files only and decides nothing.
//
// Each task also has a folder wrong/ with plausible wrong solutions, laid over
// the workspace like the reference, and wrong/clauses.json, which says for
// each how the clause begins that rejects it. They are no part of a task: tests
// use them, and the demo, whose scripted agent hands some of them in.
package tasks

import (
	"embed"
	"io/fs"
)

//go:embed */task.json */prompt.md all:*/workspace all:*/verify all:*/solution all:*/wrong all:environment
var files embed.FS

// FS is the folder of the built-in suite, one sub-folder per task.
func FS() fs.FS { return files }
