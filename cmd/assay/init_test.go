package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/testkit/repo"
	"github.com/assaybot/assay/internal/testkit/sample"
)

// lints runs the two linters of workflows over those of a repository.
func (s *stage) lints() {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, ".github", "workflows", "assay-*.yml"))
	s.ok(err)
	if len(files) < 5 {
		s.t.Fatalf("there are only %v", files)
	}
	for _, program := range []string{"actionlint", "zizmor"} {
		args := files
		if program == "zizmor" {
			args = append([]string{"--offline", "--no-progress", "--quiet"}, files...)
		}
		if _, err := exec.LookPath(program); err != nil {
			if required(program) {
				s.t.Errorf("%s is required here: %v", program, err)
			}
			continue
		}
		cmd := exec.CommandContext(s.t.Context(), program, args...)
		cmd.Dir = s.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
}

// goProject is a small module with two changes.
func goProject(t *testing.T, dir string) {
	t.Helper()
	r := repo.New(t.Context(), dir, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	r.Commit("Dana Dev <dana@example.com>", "Start", repo.Files{
		"go.mod": repo.F("module example.com/shop\n\ngo 1.24\n"), "shop.go": repo.F("package shop\n\n// Sum adds.\nfunc Sum(a, b int) int { return a - b }\n"),
	})
	r.Merge("Ann Other <ann@example.com>", 2, "sum", "Add, don't subtract", repo.Files{
		"shop.go":      repo.F("package shop\n\n// Sum adds.\nfunc Sum(a, b int) int { return a + b }\n"),
		"shop_test.go": repo.F("package shop\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fail()\n\t}\n}\n"),
	})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
}

// What init writes into a repository passes the linters, and runs as it is:
// plan, containers, one check run.
func TestInitRunsUnderAct(t *testing.T) {
	for _, project := range []struct {
		name  string
		make  func(t *testing.T, dir string)
		found []string
	}{
		{"python", func(t *testing.T, dir string) {
			t.Helper()
			if _, err := sample.Make(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
		}, []string{"language  python", "python -m unittest", "branch    main"}},
		{"go", goProject, []string{"language  go (go.mod)", "go test ./...", "branch    main"}},
		{"networkx", networkx, []string{"language  python (pyproject.toml)", "python -m pytest", "branch    main"}},
	} {
		t.Run(project.name, func(t *testing.T) {
			s := emptyStage(t)
			project.make(t, s.dir)
			s.git = repo.New(t.Context(), s.dir, time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
			said := s.setUp()
			says(t, "init", said, append(project.found, "6 files written")...)
			s.lints()
			s.ok(unpack(suiteFile, filepath.Join(s.dir, "tasks")))
			s.beside()
			head := s.commit("Set up assay")
			s.run("workflow_dispatch", "assay-evaluate.yml", "{}")
			s.onlyTheReportCalls("assay-results")
			checks, _ := s.posted(0)
			if len(checks) != 1 || checks[0].SHA != head {
				t.Fatalf("check runs: %+v", checks)
			}
			says(t, "the title", checks[0].Title, "2/4 resolved")
		})
	}
}

// networkx is a clone of the real project, from the folder of clones that
// ASSAY_TEST_CLONES names, called owner+name.
func networkx(t *testing.T, dir string) {
	t.Helper()
	folder := os.Getenv("ASSAY_TEST_CLONES")
	if folder == "" {
		t.Skip("ASSAY_TEST_CLONES names no folder of clones")
	}
	from := filepath.Join(folder, "networkx+networkx")
	if _, err := os.Stat(filepath.Join(from, "repo")); err == nil {
		from = filepath.Join(from, "repo")
	}
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", from, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "remote", "remove", "origin").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
