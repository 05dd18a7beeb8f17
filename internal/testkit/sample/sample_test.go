package sample_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/testkit/sample"
)

func TestTheSameCommitsEachTime(t *testing.T) {
	heads := map[string]bool{}
	for _, name := range []string{"a", "b"} {
		s, err := sample.Make(t.Context(), filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Want) < 12 || s.Issue.Number == 0 {
			t.Errorf("%+v", s)
		}
		heads[git(t, s.Dir, "rev-parse", "HEAD")] = true
		if out := git(t, s.Dir, "status", "--porcelain") + git(t, s.Dir, "remote") + git(t, s.Dir, "branch", "--format=%(refname)"); out != "refs/heads/main" {
			t.Errorf("left over: %q", out)
		}
	}
	if len(heads) != 1 {
		t.Errorf("%d different repositories", len(heads))
	}
}

// All tests of the project pass at its head but for the one of the winter
// sale: only then the reasons are the ones that the sample is made for.
func TestTheProjectWorks(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	s, err := sample.Make(t.Context(), filepath.Join(t.TempDir(), "r"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-m", "unittest", "discover", "--start-directory", "tests")
	cmd.Dir = s.Dir
	cmd.Env = []string{"PYTHONPATH=" + s.Dir, "PYTHONDONTWRITEBYTECODE=1"}
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err == nil || !strings.Contains(text, "FAILED (failures=1, skipped=1)") || !strings.Contains(text, "FAIL: test_a_quarter_off") {
		t.Errorf("%v\n%s", err, text)
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}
