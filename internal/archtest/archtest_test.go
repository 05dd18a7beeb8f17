package archtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// repository parses the repository that this test stands in.
func repository(t *testing.T) []File {
	t.Helper()
	root := os.DirFS("../..")
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files were found: this test proves nothing", len(files))
	}
	return files
}

func TestImports(t *testing.T) {
	for _, fault := range Imports(Rooms(), repository(t)) {
		t.Error(fault)
	}
}

func TestRules(t *testing.T) {
	for _, fault := range Rules(Rooms(), repository(t)) {
		t.Error(fault)
	}
}

func TestLoadLeavesOutForeignCode(t *testing.T) {
	for _, f := range repository(t) {
		if strings.Contains(f.Path, "testdata") || f.Room() == "" {
			t.Errorf("%s was loaded", f.Path)
		}
	}
}

func parse(t *testing.T, name, src string) File {
	t.Helper()
	f, err := Parse(name, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestImportsAreRefused(t *testing.T) {
	tests := []struct {
		file, imported string
		want           string // "" for allowed
	}{
		{"internal/assay/x.go", "strings", ""},
		{"internal/assay/x.go", "golang.org/x/sync/errgroup", "nouns import the standard library only"},
		{"internal/assay/x.go", "MOD/internal/tree", "assay (a room of nouns) may import no other room"},
		{"internal/tree/x.go", "MOD/internal/assay", ""},
		{"internal/atif/x.go", "MOD/internal/run", "atif (a room of tools) may import nouns, tools, and run is of stages"},
		{"internal/run/x.go", "MOD/internal/grade", "run -> MOD/internal/grade"},
		{"internal/run/deep/x.go", "MOD/internal/run", ""},
		{"internal/run/x.go", "MOD/internal/ledger", "run is of stages|ledger is of stores"},
		{"internal/run/x.go", "MOD/internal/docker", "docker is of edges"},
		{"internal/suite/x.go", "MOD/internal/ledger", "ledger is of stores"},
		{"internal/docker/x.go", "MOD/internal/run", ""},
		{"internal/docker/x.go", "MOD/internal/mine", "nouns, tools, run, and mine is of stages"},
		{"internal/github/x.go", "MOD/internal/publish", ""},
		{"internal/patch/x.go", "MOD/internal/run", "run is of stages"},
		{"internal/flow/x.go", "MOD/internal/ledger", ""},
		{"internal/flow/x.go", "MOD/internal/docker", "docker is of edges"},
		{"internal/cli/x.go", "MOD/internal/flow", ""},
		{"internal/cli/x.go", "MOD/internal/schema", ""},
		{"internal/cli/x.go", "MOD/internal/run", "run is of stages"},
		{"internal/web/x.go", "MOD/internal/cli", "cli is of doors"},
		{"internal/run/x.go", "MOD/internal/testkit/model", "testkit is of proof"},
		{"internal/run/x_test.go", "MOD/internal/testkit/model", ""},
		{"cmd/assay/x.go", "MOD/internal/docker", ""},
		{"cmd/assay/x.go", "MOD/internal/testkit/model", ""},
		{"cmd/assay/x.go", "MOD/internal/sandboxtest", "sandboxtest is of proof"},
		{"internal/sandboxtest/x.go", "MOD/internal/docker", ""},
		{"cmd/assay/x.go", "MOD/tasks", ""},
		{"internal/suite/x.go", "MOD/tasks", "tasks is of data"},
		{"tasks/embed.go", "MOD/internal/suite", "tasks (a room of data) may import no other room"},
		{"docs/x.go", "strings", "a new room is a new row"},
		{"internal/shed/x.go", "strings", "a new room is a new row"},
		{"cmd/other/x.go", "strings", "a new room is a new row"},
		{"internal/flow/x.go", "MOD/internal/shed", `room "shed" has no row`},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.imported, func(t *testing.T) {
			imported := strings.ReplaceAll(tt.imported, "MOD", module)
			f := parse(t, tt.file, "package x\n\nimport _ \""+imported+"\"\n")
			got := Imports(Rooms(), []File{f})
			if tt.want == "" {
				if len(got) > 0 {
					t.Errorf("refused: %q", got)
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("got %q, want one fault", got)
			}
			wanted := strings.Split(strings.ReplaceAll(tt.want, "MOD", module), "|")
			if !slices.ContainsFunc(wanted, func(w string) bool { return strings.Contains(got[0], w) }) {
				t.Errorf("got %q, want it to say %q", got[0], tt.want)
			}
			if !strings.HasPrefix(got[0], tt.file) {
				t.Errorf("%q does not name the file", got[0])
			}
		})
	}
}

func TestRulesAreHeld(t *testing.T) {
	long := "// Package x is.\npackage x\n\nfunc f() {\n" + strings.Repeat("\t_ = 0\n", 99) + "}\n"
	tests := []struct {
		name, file, src, want string
	}{
		{"fine", "internal/run/x.go", "// Package x is.\npackage x\n", ""},
		{"no doc", "internal/run/x.go", "package x\n", "internal/run has no package comment"},
		{"init", "internal/run/x.go", "// Package x is.\npackage x\n\nfunc init() {}\n", "internal/run/x.go:4: func init"},
		{"method init", "internal/run/x.go", "// Package x is.\npackage x\n\ntype t int\n\nfunc (t) init() {}\n", ""},
		{"env", "internal/run/x.go", "// Package x is.\npackage x\n\nimport \"os\"\n\nvar v = os.Getenv(\"X\")\n", "x.go:6: os.Getenv"},
		{"env as a value", "internal/run/x.go", "// Package x is.\npackage x\n\nimport o \"os\"\n\nvar v = o.LookupEnv\n", "x.go:6: os.LookupEnv"},
		{"other os", "internal/run/x.go", "// Package x is.\npackage x\n\nvar v = os.Getenv(\"X\")\n", ""},
		{"env in cmd", "cmd/assay/x.go", "// Package x is.\npackage x\n\nimport \"os\"\n\nvar v = os.Getenv(\"X\")\n", ""},
		{"context", "internal/run/x.go", "// Package x is.\npackage x\n\nimport \"context\"\n\nvar v = context.Background()\n", "context.Background"},
		{"in a test", "internal/run/x_test.go", "package x\n\nimport \"context\"\n\nvar v = context.TODO()\n\nfunc init() {}\n", ""},
		{"long function", "internal/run/x.go", long, "function f has 101 lines"},
		{"long test", "internal/run/x_test.go", long, ""},
		{"long file", "internal/run/x.go", "// Package x is.\npackage x\n" + strings.Repeat("\n", 600), "lines; 600 are the most"},
		{"long main", "cmd/assay/main.go", "// Package x is.\npackage x\n" + strings.Repeat("\n", 40), "main only wires"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(Rules(Rooms(), []File{parse(t, tt.file, tt.src)}), "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Every room of the table that allows a single room by name names one that
// has a row.
func TestTableIsClosed(t *testing.T) {
	rooms := Rooms()
	for room, row := range rooms {
		if _, ok := tiers()[row.Tier]; !ok {
			t.Errorf("%s is of the unknown tier %q", room, row.Tier)
		}
		for _, also := range row.Also {
			if _, ok := rooms[also]; !ok {
				t.Errorf("%s may import %s, which has no row", room, also)
			}
		}
	}
}
