package flow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/suite"
)

func TestInstructions(t *testing.T) {
	big := strings.Repeat("x", maxInstruction+1)
	tests := []struct {
		name  string
		files map[string]string
		links map[string]string
		want  []string // the variant's overlay, or
		fault string
	}{
		{"none", map[string]string{"README.md": "x"}, nil, nil, ""},
		{"several", map[string]string{"AGENTS.md": "a", ".claude/settings.json": "{}", ".claude/agents/x.md": "x", "sub/AGENTS.md": "b", ".git/config": "c"}, nil,
			[]string{".claude/agents/x.md", ".claude/settings.json", "AGENTS.md"}, ""},
		{"link inside", map[string]string{"AGENTS.md": "a"}, map[string]string{"CLAUDE.md": "AGENTS.md"}, []string{"AGENTS.md", "CLAUDE.md"}, ""},
		{"link out of it", nil, map[string]string{"CLAUDE.md": "../secret"}, nil, "CLAUDE.md can't be read"},
		{"broken link", nil, map[string]string{"CLAUDE.md": "nothing"}, nil, ""},
		{"link below a folder", map[string]string{".claude/a.md": "a"}, map[string]string{".claude/b.md": "../../secret"}, []string{".claude/a.md"}, ""},
		{"too large", map[string]string{"AGENTS.md": big}, nil, nil, "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			from := filepath.Join(dir, "repo")
			write := func(name, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write(filepath.Join(dir, "secret"), "secret")
			write(filepath.Join(from, "go.mod"), "module a\n")
			for name, text := range tt.files {
				write(filepath.Join(from, name), text)
			}
			for name, to := range tt.links {
				if err := os.Symlink(to, filepath.Join(from, name)); err != nil {
					t.Fatal(err)
				}
			}
			r := InstructionsRequest{From: from, Into: filepath.Join(dir, "variants"), Name: "instructions"}
			_, err := (&Flow{}).Instructions(r)
			if tt.fault != "" {
				if !assay.IsUser(err) || !strings.Contains(err.Error(), tt.fault) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			all, problems := suite.OpenVariants(os.DirFS(r.Into), "variants")
			if len(problems) > 0 || len(all) != 2 {
				t.Fatal(all, problems)
			}
			if d := cmp.Diff(tt.want, all[1].Overlay.Paths()); d != "" && len(tt.want)+len(all[1].Overlay) > 0 {
				t.Error(d)
			}
			if _, err := (&Flow{}).Instructions(r); !assay.IsUser(err) {
				t.Errorf("a variant was overwritten: %v", err)
			}
		})
	}
	for _, name := range []string{"", "baseline", "../x", "a b"} {
		if _, err := (&Flow{}).Instructions(InstructionsRequest{From: t.TempDir(), Into: t.TempDir(), Name: name}); !assay.IsUser(err) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The workflows look at the same places, and init's start for them.
func TestWorkflowsKnowTheInstructions(t *testing.T) {
	for name, line := range map[string]string{
		"../../.github/workflows/pull-request.yml":      "differ " + strings.Join(InstructionPlaces(), " ") + ";",
		"../../.github/workflows/shards.yml":            "            .claude\n            .codex\n            .gemini\n            .opencode\n",
		"../scaffold/templates/pull-request.yml":        "",
		"../../cmd/assay/testdata/script/variant.txtar": "",
	} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), line) {
			t.Errorf("%s doesn't say %q", name, line)
		}
		if line != "" {
			continue
		}
		for _, place := range InstructionPlaces() {
			if !strings.Contains(string(data), place) {
				t.Errorf("%s doesn't name %s", name, place)
			}
		}
	}
}
