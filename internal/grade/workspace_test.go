package grade_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/tree"
)

// texts makes a tree of "path", "content" pairs; content "-> x" is a link.
func texts(pairs ...string) tree.Tree {
	t := tree.Tree{}
	for i := 0; i < len(pairs); i += 2 {
		if target, ok := strings.CutPrefix(pairs[i+1], "-> "); ok {
			t[pairs[i]] = tree.Entry{Mode: tree.Link, Data: []byte(target)}
		} else {
			t[pairs[i]] = tree.Text(pairs[i+1])
		}
	}
	return t
}

func TestWorkspace(t *testing.T) {
	base := texts("src/a.py", "a", "conftest.py", "base", "tests/test_a.py", "t", "pytest.ini", "[pytest]\n",
		"json/data.txt", "", "Makefile", "all:", "old", "-> /etc/localtime", "spec/x.txt", "x")
	tests := []struct {
		name    string
		task    assay.Task
		change  tree.Tree // laid over base; the content "gone" removes
		allowed []string
		want    tree.Tree // differences of the graded tree to base, as change
		noted   []string
	}{
		{"honest work stays", assay.Task{}, texts("src/a.py", "b", "src/new.py", "n", "spec/x.txt", "gone", "data/x", "-> ../src/a.py"), nil,
			texts("src/a.py", "b", "src/new.py", "n", "spec/x.txt", "gone", "data/x", "-> ../src/a.py"), nil},
		{"hooks", assay.Task{}, texts("conftest.py", "evil", "src/conftest.py", "evil", "sitecustomize.py", "evil", "lib/x.pth", "import evil", "pytest.ini", "gone"), nil,
			tree.Tree{}, []string{"conftest.py: modified, it steers the tests; put back", "lib/x.pth: added", "pytest.ini: deleted", "sitecustomize.py: added", "src/conftest.py: added"}},
		{"the reference changes it too", assay.Task{}, texts("conftest.py", "mine"), []string{"conftest.py"}, texts("conftest.py", "mine"), nil},
		{"JavaScript", assay.Task{}, texts("jest.config.js", "x", "pkg/vitest.config.ts", "x", ".mocharc.json", "x", "node_modules/.bin/jest", "x", "node_modules/jest-circus/runner.js", "x", "vite.config.ts", "export default {test: {}}", "web/vite.config.ts", "export default {}"), nil,
			texts("web/vite.config.ts", "export default {}"), []string{".mocharc.json: ", "jest.config.js: ", "node_modules/.bin/jest: ", "node_modules/jest-circus/runner.js: ", "pkg/vitest.config.ts: ", "vite.config.ts: "}},
		{"make is run by nobody", assay.Task{}, texts("Makefile", "test:"), nil, texts("Makefile", "test:"), nil},
		{"make is run by a check", assay.Task{Checks: []assay.Check{{Kind: assay.CheckCommand, Command: []string{"sh", "-c", "cd {work} && make test"}}}},
			texts("Makefile", "test:"), nil, tree.Tree{}, []string{"Makefile: modified"}},
		{"the task's own globs", assay.Task{Protected: []string{"spec/"}}, texts("spec/x.txt", "y", "spec/deep/z", "z"), nil, tree.Tree{},
			[]string{"spec/deep/z: added, the task protects it; put back", "spec/x.txt: modified, the task protects it; put back"}},
		{"a folder becomes a file", assay.Task{Protected: []string{"spec/"}}, texts("spec/x.txt", "gone", "spec", "file"), nil, tree.Tree{}, []string{"spec: added", "spec/x.txt: deleted"}},
		{"shadows", assay.Task{}, texts("unittest.py", "x", "pytest.py", "x", "os/__init__.py", "x", "os/path.py", "x", "tests/random.py", "x", "src/re.cpython-313-x86_64-linux-gnu.so", "x", "src/pkg/json.py", "fine"), nil,
			texts("src/pkg/json.py", "fine"), []string{"os/__init__.py: added, it shadows the module os; left out", "os/path.py: ", "pytest.py: ", "src/re.cpython-313-x86_64-linux-gnu.so: ", "tests/random.py: ", "unittest.py: "}},
		{"names of folders that shadow nothing", assay.Task{}, texts("http/server.go", "package http", "json/more.txt", "x", "queue/__init__.py", "the task asks for it"), []string{"queue/__init__.py"},
			texts("http/server.go", "package http", "json/more.txt", "x", "queue/__init__.py", "the task asks for it"), nil},
		{"links that lead outside", assay.Task{}, texts("a", "-> /etc/passwd", "src/b", "-> ../../x", "src/c", "-> d/../../..", "src/ok", "-> ../spec", "old", "-> /etc/shadow"), nil,
			texts("src/ok", "-> ../spec", "old", "gone"), []string{"a: a link that leads out", "old: a link", "src/b: a link", "src/c: a link"}},
		{"files below a link", assay.Task{}, texts("d", "-> spec", "d/x", "x"), nil, texts("d", "-> spec"), []string{"d/x: it lies below the link d; left out"}},
		{"droppings", assay.Task{}, texts("tests/__pycache__/test_a.cpython-313.pyc", "evil", "x.pyc", "evil"), nil, tree.Tree{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			graded, restored := grade.Workspace(tt.task, base, apply(base, tt.change), tt.allowed)
			if d := cmp.Diff(apply(base, tt.want), graded); d != "" {
				t.Errorf("graded tree (-want +got)\n%s", d)
			}
			checkNotes(t, tt.noted, restored)
		})
	}
}

func apply(base, change tree.Tree) tree.Tree {
	out := base.Clone()
	for p, e := range change {
		if string(e.Data) == "gone" {
			delete(out, p)
		} else {
			out[p] = e
		}
	}
	return out
}

func checkNotes(t *testing.T, want []string, got []grade.Restored) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("notes %v, want %v", got, want)
	}
	if !sort.SliceIsSorted(got, func(i, j int) bool { return got[i].Path < got[j].Path }) {
		t.Errorf("notes aren't in order: %v", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i].String(), want[i]) || got[i].Reason == "" {
			t.Errorf("note %q, want %q", got[i], want[i])
		}
	}
}

func TestSharedFiles(t *testing.T) {
	toml := "[project]\nname = \"x\"\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n"
	tests := []struct{ name, file, base, after, want string }{
		{"scripts go back, dependencies stay", "package.json",
			`{"name": "x", "scripts": {"test": "jest"}, "dependencies": {}}`,
			`{"name": "x", "scripts": {"test": "true"}, "dependencies": {"a": "1"}, "jest": {"testMatch": []}}`,
			"{\n  \"name\": \"x\",\n  \"scripts\": {\n    \"test\": \"jest\"\n  },\n  \"dependencies\": {\n    \"a\": \"1\"\n  }\n}\n"},
		{"removed settings go back", "web/package.json", `{"jest":{"a":1},"z":0}`, `{"z":1}`, "{\n  \"z\": 1,\n  \"jest\": {\n    \"a\": 1\n  }\n}\n"},
		{"same settings: not a byte changes", "package.json", `{"scripts":{"test":"jest"}}`, "{ \"scripts\": {\"test\" : \"jest\"},\r\n \"new\": 1 }", "{ \"scripts\": {\"test\" : \"jest\"},\r\n \"new\": 1 }"},
		{"two scripts: as a whole", "package.json", `{"scripts":{"test":"jest"}}`, `{"scripts":{"test":"jest"},"scripts":{"test":"true"}}`, `{"scripts":{"test":"jest"}}`},
		{"no JSON: as a whole", "package.json", `{"scripts":{}}`, `{`, `{"scripts":{}}`},
		{"deleted", "package.json", `{"scripts":{}}`, "gone", `{"scripts":{}}`},
		{"a link", "package.json", `{"scripts":{}}`, "-> x.json", `{"scripts":{}}`},
		{"added", "package.json", "gone", `{"name":"x","scripts":{"test":"true"}}`, "{\n  \"name\": \"x\"\n}\n"},
		{"pytest's section goes back", "pyproject.toml", toml, "[project]\nname = \"y\"\n[tool.pytest.ini_options]\naddopts = \"-p evil\"\n[tool.x]\na = 1\n",
			"[project]\nname = \"y\"\n[tool.x]\na = 1\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n"},
		{"same section: not a byte changes", "pyproject.toml", toml, "# mine\n" + toml + "\n[tool.x]\na = 1", "# mine\n" + toml + "\n[tool.x]\na = 1"},
		{"quoted header", "pyproject.toml", toml, "[ tool.\"pytest\" . 'ini_options' ]\naddopts = \"-p evil\"\n", "[tool.pytest.ini_options]\naddopts = \"-q\"\n"},
		{"dotted key: as a whole", "pyproject.toml", toml, "tool.pytest.ini_options.addopts = \"-p evil\"\n", toml},
		{"inline table: as a whole", "pyproject.toml", toml, "[tool]\npytest = {ini_options = {addopts = \"-p evil\"}}\n", toml},
		{"text like a header: as a whole", "pyproject.toml", toml, "[a]\nb = \"\"\"\n[tool.pytest.ini_options]\n\"\"\"\n", toml},
		{"escaped header: as a whole", "pyproject.toml", toml, "[tool.\"\\u0070ytest\".ini_options]\n", toml},
		{"setup.cfg", "setup.cfg", "[metadata]\nname=x\n[tool:pytest]\na=1\n", "[tool:pytest]\na=2\n[metadata]\nname=y\n", "[metadata]\nname=y\n\n[tool:pytest]\na=1\n"},
		{"tox.ini", "tox.ini", "[tox]\n", "[tox]\nx=1\n[pytest]\naddopts=-p evil\n", "[tox]\nx=1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.name, func(t *testing.T) {
			base := apply(tree.Tree{}, texts(tt.file, tt.base))
			after := apply(tree.Tree{}, texts(tt.file, tt.after))
			graded, restored := grade.Workspace(assay.Task{}, base, after, nil)
			if d := cmp.Diff(tt.want, string(graded[tt.file].Data)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if (len(restored) == 0) != (tt.want == tt.after) {
				t.Errorf("notes %v", restored)
			}
			again, _ := grade.Workspace(assay.Task{}, base, after, []string{tt.file})
			if d := cmp.Diff(after, again); d != "" {
				t.Errorf("the reference changes it, and yet (-want +got)\n%s", d)
			}
		})
	}
}

// Whatever an agent leaves, grading ends, and what it grades can be graded
// again without another change.
func FuzzWorkspace(f *testing.F) {
	f.Add("package.json", []byte(`{"scripts":{"a":1}}`), []byte(`{"scripts":{"a":2},"b":[1,{"c":"\u0000"}]}`))
	f.Add("pyproject.toml", []byte("[tool.pytest.ini_options]\na=1"), []byte("[x]\n[[tool.pytest]]\n"))
	f.Add("setup.cfg", []byte("[tool:pytest]"), []byte("\xff\n[pytest]\r\n"))
	f.Add("conftest.py", []byte(""), []byte("x"))
	f.Add("src/a.py", []byte("a"), []byte("b"))
	f.Fuzz(func(t *testing.T, name string, before, after []byte) {
		p, err := tree.Clean(name)
		if err != nil {
			t.Skip()
		}
		base := tree.Tree{p: {Mode: tree.File, Data: before}}
		graded, _ := grade.Workspace(assay.Task{}, base, tree.Tree{p: {Mode: tree.File, Data: after}}, nil)
		again, notes := grade.Workspace(assay.Task{}, base, graded, nil)
		if d := cmp.Diff(graded, again); d != "" || len(notes) > 0 {
			t.Errorf("%v\n%s", notes, d)
		}
	})
}
