package flow

import (
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// Mining case 18: a clock that wasn't shifted is never told as one that was.
func TestMining18WhereTheClockIsNotShifted(t *testing.T) {
	have := &Flow{Clock: func() Clock { return Clock{Library: []byte("library")} }}
	lack := &Flow{Clock: func() Clock { return Clock{Missing: "there is none"} }}
	goTask := assay.Task{Checks: []assay.Check{{Report: &assay.Report{Format: "gotest-json"}}}}
	for name, tc := range map[string]struct {
		f       *Flow
		sandbox string
		task    assay.Task
		want    string
	}{
		"a library":       {have, "docker", assay.Task{Language: "python"}, ""},
		"no library":      {lack, "docker", assay.Task{}, "not made: there is none"},
		"never wired":     {&Flow{}, "docker", assay.Task{}, "not made: this program"},
		"no isolation":    {have, "local", assay.Task{}, "not made: only the boxes of Docker"},
		"Go":              {have, "docker", assay.Task{Language: "go"}, "not shifted: Go programs"},
		"Go, by a report": {have, "docker", goTask, "not shifted: Go programs"},
	} {
		a, why := tc.f.clockArm(tc.sandbox, tc.task, tree.Tree{})
		if !strings.HasPrefix(why, tc.want) || (tc.want == "") != (why == "") {
			t.Errorf("%s: %q, want %q", name, why, tc.want)
		}
		if why == "" && (len(a.hidden) != 1 || a.argv([]string{"t"})[4] != "t" || a.env["FAKETIME"] == "") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if !unshifted(observation{Exit: notShifted}) || unshifted(seen("a+")) || unshifted(observation{Exit: 1}) {
		t.Error("what a run without a shifted clock looks like")
	}
	var b strings.Builder
	proved := func(clock string) Proved {
		return Proved{Validation: assay.Validation{Probes: map[string]string{"clock": clock}}}
	}
	writeUnshifted(&b, ValidateSummary{Tasks: []Proved{proved(clockMade), proved("not made: x"), proved("not made: x"), {}}})
	if b.String() != "clock probe of 2 not made: x\n" {
		t.Errorf("%q", b.String())
	}
}
