package flow

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/config"
	"github.com/assaybot/assay/internal/git"
	"github.com/assaybot/assay/internal/scaffold"
	"github.com/assaybot/assay/internal/testkit/repo"
)

var updateInit = flag.Bool("update-init", false, "write the golden files of assay init")

func initFlow(t *testing.T) *Flow {
	t.Helper()
	tool := git.Tool{Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}}
	return &Flow{
		Owner: "a test", Now: func() time.Time { return time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC) },
		Repos: func(ctx context.Context, name string) (Repository, error) { return tool.Open(ctx, name) },
	}
}

func initPin() scaffold.Pin {
	return scaffold.Pin{Repository: "assaybot/assay", SHA: strings.Repeat("0123456789", 4), Version: "v0.1.0"}
}

// sampleRepo is a repository with n merged changes, one a day, the last on
// 2026-03-01.
func sampleRepo(t *testing.T, name, branch string, n int, files repo.Files) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	r := repo.New(t.Context(), dir, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, -n))
	r.Commit("Dana Dev <dana@example.com>", "Start", files)
	for i := range n {
		r.Commit("Dana Dev <dana@example.com>", "Change", repo.Files{"CHANGES": repo.F(strings.Repeat("x", i+1))})
	}
	r.Git("branch", "--move", branch)
	r.Git("remote", "add", "origin", "https://user:secret@example.com/acme/"+name+".git")
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestInitGolden(t *testing.T) {
	tests := []struct {
		name, branch string
		changes      int
		files        repo.Files
	}{
		{"go", "main", 70, repo.Files{"go.mod": repo.F("module x\n"), "x_test.go": repo.F("package x\n")}},
		{"python", "trunk", 3, repo.Files{"pyproject.toml": repo.F("[tool.pytest.ini_options]\n"), "tests/test_a.py": repo.F("")}},
		{"js", "develop/next", 0, repo.Files{"package.json": repo.F(`{"scripts":{"test":"vitest"}}`), "pnpm-lock.yaml": repo.F(""), "a.ts": repo.F("")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in, err := initFlow(t).Init(t.Context(), InitRequest{Dir: sampleRepo(t, tt.name, tt.branch, tt.changes, tt.files), Pin: initPin()})
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := WriteChanges(&b, in); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "init", tt.name+".txt")
			if *updateInit {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), b.String()); d != "" {
				t.Errorf("differs from %s (-update-init writes it): %s", golden, d)
			}
			for _, c := range in.Changes {
				if c.File.Config {
					if _, ps := config.LoadMining(scaffold.ConfigPath, c.File.Data); len(ps) > 0 {
						t.Errorf("the configuration is wrong: %v", ps)
					}
				}
			}
			if strings.Contains(b.String(), "secret@") {
				t.Error("a credential of the origin came out")
			}
		})
	}
}

// Row 36: no name of a branch is a constant.
func TestRow36DefaultBranch(t *testing.T) {
	in, err := initFlow(t).Init(t.Context(), InitRequest{Dir: sampleRepo(t, "thing", "trunk", 1, repo.Files{"a.go": repo.F("")}), Pin: initPin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range in.Changes {
		if bytes.Contains(c.File.Data, []byte("main\n")) || bytes.Contains(c.File.Data, []byte("master")) || bytes.Contains(c.File.Data, []byte("branches:")) {
			t.Errorf("%s names a branch:\n%s", c.File.Path, c.File.Data)
		}
	}
}

func TestInitNeverOverwritesBySurprise(t *testing.T) {
	f := initFlow(t)
	dir := sampleRepo(t, "thing", "main", 1, repo.Files{
		"go.mod": repo.F("module x\n"), ".github/assay.yml": repo.F("agents: [nop]\n"),
		".github/workflows/assay-nightly.yml": repo.F("on:\n  schedule:\n    - cron: \"11 5 * * 0\" # mine\n"),
		"sub/x.go":                            repo.F(""),
	})
	request := InitRequest{Dir: filepath.Join(dir, "sub"), Pin: initPin()}
	look := func() Init {
		t.Helper()
		in, err := f.Init(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	written, err := look().Write(false)
	if err != nil || len(written) != 4 {
		t.Errorf("wrote %v, %v", written, err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, ".github", "assay.yml")); string(data) != "agents: [nop]\n" {
		t.Errorf("the configuration was overwritten: %s", data)
	}
	drifted := look().Drifted()
	if len(drifted) != 1 || drifted[0].File.Path != ".github/workflows/assay-nightly.yml" || len(drifted[0].Diff) == 0 {
		t.Errorf("drifted: %v", drifted)
	}
	if _, err := look().Write(true); err != nil {
		t.Fatal(err)
	}
	if in := look(); len(in.Drifted()) > 0 {
		t.Errorf("after --force: %v", in.Drifted())
	}
	data, _ := os.ReadFile(filepath.Join(dir, ".github", "workflows", "assay-nightly.yml"))
	if !bytes.Contains(data, []byte(`cron: "11 5 * * 0"`)) {
		t.Errorf("somebody's schedule was lost:\n%s", data)
	}
	// Windows' line ends are no drift, another pin is.
	name := filepath.Join(dir, ".github", "workflows", "assay-mine.yml")
	data, _ = os.ReadFile(name)
	if err := os.WriteFile(name, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if in := look(); len(in.Drifted()) > 0 {
		t.Errorf("with CR LF: %v", in.Drifted())
	}
	request.Pin.SHA = strings.Repeat("f", 40)
	if got := len(look().Drifted()); got != 5 {
		t.Errorf("%d files are pinned", got)
	}
}

func TestInitSaysWhatIsWrong(t *testing.T) {
	f := initFlow(t)
	dir := sampleRepo(t, "thing", "main", 0, repo.Files{".github/assay.yml": repo.F("agnets: [nop]\n")})
	in, err := f.Init(t.Context(), InitRequest{Dir: dir, Pin: initPin()})
	if err != nil || len(in.Problems) != 1 || !strings.Contains(in.Problems[0].String(), `did you mean "agents"?`) {
		t.Errorf("got %v, %v", in.Problems, err)
	}
	for _, pin := range []string{"", "main", "v1", strings.Repeat("g", 40), strings.Repeat("a", 39)} {
		_, err := f.Init(t.Context(), InitRequest{Dir: dir, Pin: scaffold.Pin{Repository: "a/b", SHA: pin, Version: "v1"}})
		if !assay.IsUser(err) {
			t.Errorf("pinned to %q: %v", pin, err)
		}
	}
	if _, err := f.Init(t.Context(), InitRequest{Dir: t.TempDir(), Pin: initPin()}); !assay.IsUser(err) {
		t.Errorf("outside of a repository: %v", err)
	}
	// A link must not lead the writer out of the repository.
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, ".github", "workflows")); err != nil {
		t.Fatal(err)
	}
	in, err = f.Init(t.Context(), InitRequest{Dir: dir, Pin: initPin()})
	if err == nil {
		_, err = in.Write(true)
	}
	left, _ := os.ReadDir(outside)
	if err == nil || len(left) > 0 {
		t.Errorf("wrote through a link: %v, %v", left, err)
	}
}
