package flow

import (
	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testlog"
	"github.com/assaybot/assay/internal/tree"
)

// Clock is the library that shows another time to the programs of a box
// (libfaketime); Missing says why there is none.
type Clock struct {
	Library []byte
	Missing string
}

// The clock of the probe: a year ahead. notShifted is the exit status by
// which its command says that the library has no effect.
const (
	clockShift  = "+365d"
	clockMade   = "one year ahead"
	notShifted  = 117
	clockScript = `a=$(date +%s); b=$(LD_PRELOAD= date +%s); [ $((a - b)) -gt 30000000 ] || exit 117; exec "$@"`
)

// clockArm is the reference under a clock one year ahead. why is empty, or
// says why this task's clock can't be shifted.
func (f *Flow) clockArm(sandbox string, t assay.Task, after tree.Tree) (a arm, why string) {
	a = arm{name: "clock", tree: after}
	switch {
	case sandbox != "docker":
		return a, "not made: only the boxes of Docker have a clock to shift"
	case f.Clock == nil:
		return a, "not made: this program was built without a clock to shift"
	case isGo(t):
		return a, "not shifted: Go programs read the clock past the C library"
	}
	c := f.Clock()
	if len(c.Library) == 0 {
		return a, "not made: " + c.Missing
	}
	const name = "libfaketime.so.1"
	a.hidden = tree.Tree{name: {Mode: tree.Exec, Data: c.Library}}
	a.env = map[string]string{"LD_PRELOAD": "{runner}/" + name, "FAKETIME": clockShift, "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
	a.argv = func(words []string) []string { return append([]string{"sh", "-c", clockScript, "sh"}, words...) }
	return a, ""
}

// isGo tells tests that run as Go programs.
func isGo(t assay.Task) bool {
	if t.Language == "go" {
		return true
	}
	for _, c := range t.Checks {
		if c.Report != nil && c.Report.Format == testlog.GoTest {
			return true
		}
	}
	return false
}

// unshifted tells whether a run under another clock saw the true one.
func unshifted(o observation) bool { return o.Exit == notShifted && len(o.Tests) == 0 }
