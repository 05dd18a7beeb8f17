package grade

import (
	"embed"

	"github.com/assaybot/assay/internal/tree"
)

//go:embed runners/unittest_junit.py
var runnerFiles embed.FS

// Runners are the files of assay's own test runners, for the folder that
// {runner} names in a check's command.
func Runners() tree.Tree {
	t, err := tree.FromFS(runnerFiles, tree.Bounds{})
	if err != nil {
		panic("reading files that are built in: " + err.Error())
	}
	return t.Sub("runners")
}
