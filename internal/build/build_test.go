package build_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/assaybot/assay/internal/build"
	"github.com/assaybot/assay/internal/tree"
)

// input is a repository from an archive's text; tests are its test files.
func input(archive, language string, tests ...string) build.Input {
	files := tree.Tree{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		files[f.Name] = tree.Entry{Mode: tree.File, Data: f.Data}
	}
	return build.Input{Files: files, Tests: tests, Changed: tests, Language: language}
}

// TestPropose reads testdata/*.txtar: the comment says what is asked and what
// is wanted, the files are the repository.
//
//	language: python        the change's language
//	tests: a b              the change's test files
//	all                     the whole suite is asked for
//	suite: a b c            its files
//	date: 2025-02-03        of the change
//	want NAME: TEXT         TEXT stands in that part of the recipe
//	lack NAME: TEXT         TEXT doesn't
//	none: TEXT              there is no recipe, for a reason that says TEXT
func TestPropose(t *testing.T) {
	found, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(found) < 20 {
		t.Fatalf("%d archives: %v", len(found), err)
	}
	for _, file := range found {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			proposes(t, string(data))
		})
	}
}

func proposes(t *testing.T, archive string) {
	in, asks := input(archive, ""), string(txtar.Parse([]byte(archive)).Comment)
	for _, line := range strings.Split(asks, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "language":
			in.Language = value
		case "tests":
			in.Tests = strings.Fields(value)
			in.Changed = in.Tests
		case "all":
			in.All = true
		case "suite":
			in.Suite = strings.Fields(value)
		case "date":
			var err error
			if in.Date, err = time.Parse(time.DateOnly, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := build.Propose(in)
	n, none := build.IsNoRecipe(err)
	if err != nil && !none {
		t.Fatal(err)
	}
	parts := said(r)
	wanted := false
	for _, line := range strings.Split(asks, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		verb, name, _ := strings.Cut(key, " ")
		switch {
		case verb == "none":
			wanted = true
			if !none || !strings.Contains(n.Why, value) {
				t.Errorf("the reason is %v, want %q", err, value)
			}
		case verb == "want" && !strings.Contains(parts[name], value), verb == "lack" && strings.Contains(parts[name], value):
			t.Errorf("%s %s: %q, it is\n%s", verb, name, value, parts[name])
		}
	}
	if none != wanted {
		t.Errorf("recipe %v, reason %v", r.Key, err)
	}
}

// said are the parts of a recipe as text.
func said(r build.Recipe) map[string]string {
	env, shards := make([]string, 0, len(r.Env)), make([]string, 0, len(r.Shards))
	for _, s := range r.Shards {
		shards = append(shards, strings.Join(s, " "))
	}
	for k, v := range r.Env {
		env = append(env, k+"="+v)
	}
	return map[string]string{
		"image": r.Dockerfile, "test": strings.Join(r.Test, " "), "why": strings.Join(r.Why, "\n"), "report": r.Report.Format,
		"setup": strings.Join(r.Setup, "\n"), "env": strings.Join(env, "\n"), "install": string(r.Context["install.sh"].Data),
		"context": strings.Join(r.Context.Paths(), "\n"), "requires": strings.Join(r.Requires, " "),
		"language": r.Language, "units": strings.Join(r.Units, " "), "shards": strings.Join(shards, " | "),
		"manifest": string(r.Context["package.json"].Data),
	}
}

// Tasks share an image when what it holds is the same, whatever else changed.
func TestKeys(t *testing.T) {
	python := func(change map[string]string) string {
		return keyOf(t, "python", "tests/test_a.py", map[string]string{
			"pyproject.toml":  "[project]\nname = \"a\"\nversion = \"1\"\nrequires-python = \">=3.11\"\ndependencies = [\"attrs\"]\n",
			"a.py":            "x = 1\n",
			"tests/test_a.py": "import pytest\n",
		}, change)
	}
	node := func(change map[string]string) string {
		return keyOf(t, "javascript", "a.test.js", map[string]string{
			"package.json": `{"name": "a", "version": "1.0.0", "scripts": {"test": "vitest"}, "devDependencies": {"vitest": "^2"}}`,
			"a.test.js":    "",
		}, change)
	}
	golang := func(change map[string]string) string {
		return keyOf(t, "go", "a_test.go", map[string]string{"go.mod": "module a\n\ngo 1.24\n", "a_test.go": "package a\n", "a.go": "package a\n"}, change)
	}
	rust := func(change map[string]string) string {
		return keyOf(t, "rust", "tests/a.rs", map[string]string{
			"Cargo.toml": "[package]\nname = \"a\"\nversion = \"1.0.0\"\n", "src/lib.rs": "pub fn a() {}\n", "tests/a.rs": "",
		}, change)
	}
	for name, tc := range map[string]struct {
		key    func(map[string]string) string
		change map[string]string
		same   bool
	}{
		"python source":       {python, map[string]string{"a.py": "x = 2\n", "README.md": "more"}, true},
		"python tests":        {python, map[string]string{"tests/test_a.py": "import pytest\nx = 1\n", "tests/test_b.py": ""}, true},
		"python version bump": {python, map[string]string{"pyproject.toml": "[project]\nname = \"a\"\nversion = \"2\"\nrequires-python = \">=3.11\"\ndependencies = [\"attrs\"]\n"}, true},
		"python dependency":   {python, map[string]string{"pyproject.toml": "[project]\nname = \"a\"\nrequires-python = \">=3.11\"\ndependencies = [\"attrs>24\"]\n"}, false},
		"python pin":          {python, map[string]string{".python-version": "3.12.4\n"}, false},
		"node scripts":        {node, map[string]string{"package.json": `{"name": "a", "version": "1.0.1", "scripts": {"test": "vitest run", "x": "y"}, "devDependencies": {"vitest": "^2"}}`}, true},
		"node dependency":     {node, map[string]string{"package.json": `{"name": "a", "devDependencies": {"vitest": "^3"}}`}, false},
		"node lock":           {node, map[string]string{"package-lock.json": "{}"}, false},
		"go source":           {golang, map[string]string{"a.go": "package a\n\nvar X = 1\n"}, true},
		"go requirement":      {golang, map[string]string{"go.mod": "module a\n\ngo 1.24\n\nrequire b v1.0.0\n"}, false},
		"rust source":         {rust, map[string]string{"src/lib.rs": "pub fn b() {}\n", "tests/a.rs": "// more\n"}, true},
		"rust lock":           {rust, map[string]string{"Cargo.lock": "version = 4\n"}, false},
	} {
		if got := tc.key(nil) == tc.key(tc.change); got != tc.same {
			t.Errorf("%s: the same key is %v, want %v", name, got, tc.same)
		}
	}
}

func keyOf(t *testing.T, language, test string, files, change map[string]string) string {
	t.Helper()
	in := build.Input{Files: tree.Tree{}, Tests: []string{test}, Language: language}
	for _, m := range []map[string]string{files, change} {
		for p, text := range m {
			in.Files[p] = tree.Text(text)
		}
	}
	r, err := build.Propose(in)
	if err != nil {
		t.Fatal(err)
	}
	return r.Key
}

func TestDatesOfAQuarterShareAnImage(t *testing.T) {
	in := input("-- requirements.txt --\nattrs\n-- test_a.py --\nimport pytest\n", "python", "test_a.py")
	key := func(date string) string {
		in.Date, _ = time.Parse(time.DateOnly, date)
		r, err := build.Propose(in)
		if err != nil {
			t.Fatal(err)
		}
		return r.Key
	}
	if key("2025-01-01") != key("2025-03-31") || key("2025-03-31") == key("2025-04-01") || key("2025-12-31") != key("2025-10-01") {
		t.Error("not one image per quarter")
	}
}

func TestGiven(t *testing.T) {
	in := input("-- go.mod --\nmodule a\n-- requirements/dev.txt --\nx\n-- src/deep.json --\n{}\n", "python", "tests/a b.py", "tests/c.py")
	own := build.Own{Dockerfile: "FROM mine:1\n", Test: []string{"sh", "-c", "run {tests} > {report}"}, Format: "tap"}
	r, err := build.Given(in, own)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"sh", "-c", "run 'tests/a b.py' tests/c.py > {report}"}, r.Test); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"go.mod", "requirements/dev.txt"}, r.Context.Paths()); d != "" {
		t.Error(d)
	}
	if r.Dockerfile != own.Dockerfile || r.Report.Format != "tap" || !strings.HasPrefix(r.Key, "python-") {
		t.Errorf("%+v", r)
	}
	// As words of their own.
	own.Test = []string{"make", "test", "{tests}"}
	in.Language = ""
	if r, err = build.Given(in, own); err != nil || !strings.HasPrefix(r.Key, "own-") {
		t.Errorf("%+v %v", r, err)
	}
	if d := cmp.Diff([]string{"make", "test", "tests/a b.py", "tests/c.py"}, r.Test); d != "" {
		t.Error(d)
	}
	for want, bad := range map[string]build.Own{
		"--test":                    {Dockerfile: "FROM a\n", Format: "tap"},
		"no report format \"junk\"": {Dockerfile: "FROM a\n", Format: "junk", Test: []string{"x"}},
	} {
		if _, err := build.Given(in, bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// What a repository says is foreign text: no manifest may end the program.
func FuzzPropose(f *testing.F) {
	f.Add("[project]\nrequires-python = \">=3.9,<3.13\"\n", "{\"engines\":{\"node\":\">=18\"}}", "go 1.23\n", "jobs:\n  a:\n    - python-version: [3.12, '3.13']\n")
	f.Add("[options]\ninstall_requires =\n  a\n", "[]", "toolchain go1.99", "python-version:\n - 3.11\n")
	f.Fuzz(func(t *testing.T, toml, pkg, mod, ci string) {
		for language, name := range map[string]string{"python": "pyproject.toml", "javascript": "package.json", "go": "go.mod", "rust": "Cargo.toml"} {
			in := build.Input{Language: language, Tests: []string{"tests/test_a.py", "a.test.js", "a_test.go", "tests/a.rs"}, Files: tree.Tree{
				"tests/test_a.py": tree.Text("import unittest\n"), ".github/workflows/ci.yml": tree.Text(ci), "setup.cfg": tree.Text(toml),
				".tool-versions": tree.Text(ci), ".nvmrc": tree.Text(mod),
			}}
			in.Files[name] = tree.Text(map[string]string{"python": toml, "javascript": pkg, "go": mod, "rust": toml}[language])
			r, err := build.Propose(in)
			if _, none := build.IsNoRecipe(err); err != nil && !none {
				t.Errorf("%s: %v", language, err)
			}
			if err == nil && (len(r.Test) == 0 || len(r.Requires) == 0 || !strings.HasPrefix(r.Dockerfile, "FROM ")) {
				t.Errorf("%s: %+v", language, r)
			}
		}
	})
}
