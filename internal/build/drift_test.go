package build_test

import (
	"testing"

	"github.com/assaybot/assay/internal/build"
)

// TestMining17RebuildFailureIsDrift: what an old dependency's rebuild fails
// with is told from a mistake in the recipe.
func TestMining17RebuildFailureIsDrift(t *testing.T) {
	for name, c := range map[string]struct {
		log   string
		drift bool
	}{
		"yanked":          {"Collecting x\nERROR: No matching distribution found for pyyaml==5.4\n", true},
		"newer Cython":    {"  Cython.Compiler.Errors.CompileError: yaml/_yaml.pyx\n  ERROR: Failed building wheel for pyyaml\n", true},
		"unpublished":     {"npm error code ETARGET\nnpm error notarget No matching version found for left-pad@9\n", true},
		"older rustc":     {"error: rustc 1.64.0 is not supported\n  time@0.3.36 requires rustc 1.67.1\n", true},
		"edition":         {"  feature `edition2024` is required\n", true},
		"dead address":    {"curl: (22) The requested URL returned error: 404\n", true},
		"dead module":     {"go: example.com/x@v1: reading https://x/: 410 Gone\n", true},
		"dead suite":      {"E: The repository 'http://x buster Release' does not have a Release file.\n", true},
		"own mistake":     {"/bin/sh: 1: pythn: not found\n", false},
		"a failing step":  {"make: *** [all] Error 2\n", false},
		"a word in names": {"ok 12 test_404_page\nerror: exit 1\n", false},
		"nothing":         {"", false},
	} {
		if got := build.Drift(c.log); (got != "") != c.drift {
			t.Errorf("%s: %q", name, got)
		}
	}
}
