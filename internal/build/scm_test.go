package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/build"
)

// Mining case 16: a project that takes its version from tags finds one though
// the agent's repository has none.
func TestMining16TheVersionOfTagsIsPinned(t *testing.T) {
	in := input("-- pyproject.toml --\n[build-system]\nrequires = [\"setuptools-scm\"]\n[project]\nname = \"a\"\n[tool.setuptools_scm]\nversion_file = \"src/a/_version.py\"\n-- tests/test_a.py --\nimport pytest\n", "python", "tests/test_a.py")
	r, err := build.Propose(in)
	if err != nil {
		t.Fatal(err)
	}
	if r.Env["SETUPTOOLS_SCM_PRETEND_VERSION"] == "" || len(r.Setup) != 1 {
		t.Fatalf("%v %q", r.Env, r.Setup)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "src/a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cmd := exec.Command("sh", "-ec", r.Setup[0])
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "src/a/_version.py"))
	if err != nil || strings.Count(string(got), "\n") != 2 || !strings.Contains(string(got), "version = '9999.0.0'") {
		t.Errorf("%q %v", got, err)
	}
	plain := input("-- pyproject.toml --\n[project]\nname = \"a\"\nversion = \"1\"\n-- tests/test_a.py --\nimport pytest\n", "python", "tests/test_a.py")
	if r, err = build.Propose(plain); err != nil || len(r.Setup) > 0 || r.Env["SETUPTOOLS_SCM_PRETEND_VERSION"] != "" {
		t.Errorf("a project with a version of its own: %v %q %v", r.Env, r.Setup, err)
	}
}

// Mining case 44: no release of the project itself, which may hold the answer,
// stays in the image (that a box has no way out is the sandboxes' suite).
func TestMining44TheImageHoldsNoReleaseOfTheProject(t *testing.T) {
	for name, archive := range map[string]string{
		"pyproject": "-- pyproject.toml --\n[project]\nname = \"shop\"\ndependencies = [\"attrs\"]\n",
		"setup.cfg": "-- setup.cfg --\n[metadata]\nname = shop\n[options]\ninstall_requires =\n  attrs\n",
		"setup.py":  "-- setup.py --\nfrom setuptools import setup\nsetup(name=\"shop\", install_requires=[\"attrs\"])\n-- requirements.txt --\nattrs\n",
	} {
		r, err := build.Propose(input(archive+"-- tests/test_a.py --\nimport pytest\n", "python", "tests/test_a.py"))
		if err != nil {
			t.Fatal(err)
		}
		if script := string(r.Context["install.sh"].Data); !strings.Contains(script, "pip uninstall -y --break-system-packages shop ") {
			t.Errorf("%s: %s", name, script)
		}
	}
}
