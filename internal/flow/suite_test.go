package flow

import (
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
)

// Lint tells how strong a task's tests are, and what was left out.
func TestProofNotes(t *testing.T) {
	task := assay.Task{
		Strength:    &assay.Strength{Hunks: 4, Noticed: 3, Share: .75, Missed: []string{"a.py:7"}},
		Environment: assay.Environment{Undated: []string{"numpy", "scipy"}},
		Validation:  &assay.Validation{Dropped: map[string]string{"t/b.py": "it took more than 60s"}, Flaky: []string{"t::x"}},
	}
	got := strings.Join(proofNotes(task), "\n")
	for _, want := range []string{
		"hidden tests notice 3 of 4 hunks of the reference; not a.py:7", "undated: the index tells no dates for numpy, scipy",
		"t/b.py doesn't run: it took more than 60s", "1 tests were dropped because they vary: t::x",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if notes := proofNotes(assay.Task{}); len(notes) > 0 {
		t.Errorf("a task without a proof: %v", notes)
	}
}
