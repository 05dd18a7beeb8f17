package atif_test

import (
	"os"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
)

func TestEachStep(t *testing.T) {
	f, err := os.Open("../agent/testdata/claude-tool.trajectory.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var calls, last int
	err = atif.EachStep(f, func(s assay.Step) { calls, last = calls+len(s.ToolCalls), s.ID })
	if err != nil || calls != 2 || last < 2 {
		t.Errorf("%d calls up to step %d, %v", calls, last, err)
	}
}

// FuzzEachStep: what breaks off has handed on what came before, and nothing
// makes it panic.
func FuzzEachStep(f *testing.F) {
	for _, s := range []string{`{"steps":[{"step_id":1,"source":"user","message":"x"}`, `{"steps":[]}`, `{"extra":{"steps":[1]},"steps":[1]}`, `[]`, `{"steps":{}}`, ``} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		_ = atif.EachStep(strings.NewReader(s), func(assay.Step) {})
	})
}
