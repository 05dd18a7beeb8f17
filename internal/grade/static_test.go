package grade_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/tree"
)

func TestStatic(t *testing.T) {
	base := tree.Tree{"src/a.py": tree.Text("x = 1\nold()\n"), "src/b.py": tree.Text("y\n"), "tests/test_busy.py": tree.Text("t\n"), "LICENSE": tree.Text("MIT\n")}
	after := base.Clone()
	after["src/a.py"] = tree.Text("x = 1\nnew()\n")
	after["src/c.py"] = tree.Text("old()\n")
	after["src/link.py"] = tree.Entry{Mode: tree.Link, Data: []byte("new()")}
	after["tests/__pycache__/test_busy.cpython-313.pyc"] = tree.Text("\x00")
	delete(after, "src/b.py")
	touched := base.Clone()
	touched["tests/test_busy.py"] = tree.Text("pass\n")
	touched["tests/test_new.py"] = tree.Text("")
	touched["LICENSE"] = tree.Entry{Mode: tree.Exec, Data: base["LICENSE"].Data}
	check := func(kind assay.CheckKind, text string, paths ...string) assay.Check {
		c := assay.Check{Name: "c", Kind: kind, Paths: paths}
		if p, ok := strings.CutPrefix(text, "re:"); ok {
			c.Pattern = p
		} else {
			c.Text = text
		}
		return c
	}
	tests := []struct {
		name   string
		check  assay.Check
		after  tree.Tree
		want   assay.CheckStatus
		detail string
	}{
		{"unchanged", check(assay.CheckFileUnchanged, "", "LICENSE", "tests/**"), after, assay.CheckPassed, ""},
		{"changed, added, removed", check(assay.CheckFileUnchanged, "", "src/*.py"), after, assay.CheckFailed, "src/a.py modified, src/b.py deleted, src/c.py added, src/link.py added"},
		{"another mode", check(assay.CheckFileUnchanged, "", "LICENSE"), touched, assay.CheckFailed, "LICENSE has another mode"},
		{"unchanged: nothing there", check(assay.CheckFileUnchanged, "", "nope/**"), after, assay.CheckBroken, "match no file"},
		{"unchanged: no paths", check(assay.CheckFileUnchanged, ""), after, assay.CheckBroken, "names no paths"},
		{"bad glob", check(assay.CheckFileUnchanged, "", "a[b"), after, assay.CheckBroken, "no valid glob"},
		{"contains", check(assay.CheckFileContains, "new()", "src/a.py"), after, assay.CheckPassed, ""},
		{"contains: in every file", check(assay.CheckFileContains, "new()", "src/*.py"), after, assay.CheckFailed, `the text "new()" isn't in src/c.py, src/link.py`},
		{"contains: pattern by line", check(assay.CheckFileContains, `re:^new\(\)$`, "src/a.py"), after, assay.CheckPassed, ""},
		{"contains: no file", check(assay.CheckFileContains, "x", "docs/*.md"), after, assay.CheckFailed, "no file at docs/*.md"},
		{"contains: file removed", check(assay.CheckFileContains, "y", "src/b.py"), after, assay.CheckFailed, "no file is left at src/b.py"},
		{"contains: bad pattern", check(assay.CheckFileContains, "re:(", "src/a.py"), after, assay.CheckBroken, "missing closing"},
		{"contains: nothing to find", check(assay.CheckFileContains, "", "src/a.py"), after, assay.CheckBroken, "neither text nor pattern"},
		{"not contains", check(assay.CheckFileNotContains, "old()", "src/a.py"), after, assay.CheckPassed, ""},
		{"not contains: it does", check(assay.CheckFileNotContains, "re:new|old", "src/*.py"), after, assay.CheckFailed, `a match of "new|old" is in src/a.py:2, src/c.py:1`},
		{"not contains: file removed", check(assay.CheckFileNotContains, "y", "src/b.py"), after, assay.CheckPassed, ""},
		{"not contains: nothing there", check(assay.CheckFileNotContains, "y", "nope"), after, assay.CheckBroken, "match no file"},
		{"new files", check(assay.CheckNoNewFiles, ""), after, assay.CheckFailed, "new files: src/c.py, src/link.py"},
		{"new files: excepted", check(assay.CheckNoNewFiles, "", "src/**"), after, assay.CheckPassed, ""},
		{"tests untouched", check(assay.CheckTestsUnmodified, ""), after, assay.CheckPassed, ""},
		{"tests changed", check(assay.CheckTestsUnmodified, ""), touched, assay.CheckIntegrity, "visible tests were changed: tests/test_busy.py modified, tests/test_new.py added"},
		{"tests: own paths", check(assay.CheckTestsUnmodified, "", "tests/test_busy.py"), touched, assay.CheckIntegrity, "visible tests were changed: tests/test_busy.py modified"},
		{"another kind", check(assay.CheckCommand, ""), after, assay.CheckBroken, "isn't decided by files"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := grade.Static(tt.check, assay.Task{Visible: []string{"tests/"}}, base, tt.after)
			if r.Status != tt.want || !strings.Contains(r.Detail, tt.detail) || r.Name != "c" {
				t.Errorf("%s %q, want %s %q", r.Status, r.Detail, tt.want, tt.detail)
			}
		})
	}
}

func TestStaticListsTenPaths(t *testing.T) {
	after := tree.Tree{}
	for i := range 12 {
		after[fmt.Sprintf("n%02d", i)] = tree.Text("")
	}
	r := grade.Static(assay.Check{Kind: assay.CheckNoNewFiles}, assay.Task{}, tree.Tree{}, after)
	if want := "new files: n00, n01, n02, n03, n04, n05, n06, n07, n08, n09 and 2 more"; r.Detail != want {
		t.Errorf("%q, want %q", r.Detail, want)
	}
}

func TestStaticWithoutVisibleTestsIsBroken(t *testing.T) {
	r := grade.Static(assay.Check{Kind: assay.CheckTestsUnmodified}, assay.Task{}, tree.Tree{"a": tree.Text("")}, tree.Tree{})
	if r.Status != assay.CheckBroken {
		t.Errorf("%+v", r)
	}
}

// chmod -R over the workspace is no tampering with tests.
func TestAModeAloneChangesNoTest(t *testing.T) {
	c := assay.Check{Name: "t", Kind: assay.CheckTestsUnmodified, Paths: []string{"tests/**"}}
	base := tree.Tree{"tests/test_a.py": tree.Text("a\n")}
	after := tree.Tree{"tests/test_a.py": {Mode: tree.Exec, Data: []byte("a\n")}}
	if r := grade.Static(c, assay.Task{}, base, after); r.Status != assay.CheckPassed {
		t.Errorf("%+v", r)
	}
	after["tests/test_a.py"] = tree.Entry{Mode: tree.Link, Data: []byte("a\n")}
	if r := grade.Static(c, assay.Task{}, base, after); r.Status != assay.CheckIntegrity {
		t.Errorf("a link in its place: %+v", r)
	}
}
