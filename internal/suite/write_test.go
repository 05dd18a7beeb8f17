package suite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/tree"
)

func written() (assay.Task, map[string]tree.Tree) {
	t := assay.Task{Schema: 1, ID: "a b", Checks: []assay.Check{{Name: "c", Kind: assay.CheckCommand, Command: []string{"test", "1 < 2 && true"}}}}
	return t, map[string]tree.Tree{
		"workspace": {"d/x": {Mode: tree.Exec, Data: []byte("x\r\n")}, "l": {Mode: tree.Link, Data: []byte("d/x")}},
		"verify":    {"v": tree.Text("v")},
	}
}

func TestWriteTaskRoundTrip(t *testing.T) {
	root := filepath.Join(t.TempDir(), "tasks")
	dir := filepath.Join(root, "a b")
	task, files := written()
	must(t, suite.WriteTask(dir, task, "Say <hello> & \"bye\".\n", files))
	e := only(t, os.DirFS(root))
	if len(e.Problems) > 0 || e.Prompt != "Say <hello> & \"bye\".\n" {
		t.Fatalf("prompt %q, problems %v", e.Prompt, e.Problems)
	}
	work, err := e.Workspace()
	must(t, err)
	if d := cmp.Diff(files["workspace"], work); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(task.Checks, e.Task.Checks); d != "" {
		t.Error(d)
	}

	// A second writing replaces all, and nothing is left beside.
	must(t, suite.WriteTask(dir, task, "New.", map[string]tree.Tree{"workspace": {"y": tree.Text("y")}}))
	e = only(t, os.DirFS(root))
	work, err = e.Workspace()
	must(t, err)
	verify, err := e.Verify()
	must(t, err)
	if got := work.Paths(); len(got) != 1 || got[0] != "y" || len(verify) != 0 {
		t.Errorf("after replacing: %v %v", got, verify.Paths())
	}
	if list, _ := os.ReadDir(root); len(list) != 1 {
		t.Errorf("beside the task: %v", list)
	}
}

func TestWriteTaskFailsWhole(t *testing.T) {
	root := t.TempDir()
	task, files := written()
	files["../out"] = tree.Tree{"x": tree.Text("x")}
	if err := suite.WriteTask(filepath.Join(root, "a b"), task, "p", files); err == nil {
		t.Error("a folder outside was accepted")
	}
	if err := suite.WriteTask(filepath.Join(root, "other"), task, "p", nil); err == nil {
		t.Error("a folder of another name was accepted")
	}
	task.ID = "a/b"
	if err := suite.WriteTask(filepath.Join(root, "b"), task, "p", nil); !assay.IsUser(err) {
		t.Errorf("a slash in the id: %v", err)
	}
	if list, _ := os.ReadDir(root); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
}

func TestUpdateTask(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "task.json")
	original := `{"schema": 1, "id": "a", "checks": [], "environment": {}, "limits": {"pids": 3}}`
	must(t, os.WriteFile(file, []byte(original), 0o600))
	must(t, suite.UpdateTask(dir, func(*assay.Task) {}))
	if got, _ := os.ReadFile(file); string(got) != original {
		t.Errorf("a change of nothing rewrote the file: %s", got)
	}
	must(t, suite.UpdateTask(dir, func(t *assay.Task) { t.Title = "a < b" }))
	want := `{
  "schema": 1,
  "id": "a",
  "title": "a < b",
  "environment": {},
  "limits": {
    "pids": 3
  },
  "checks": []
}
`
	got, err := os.ReadFile(file)
	must(t, err)
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

func TestUpdateTaskRefusesBrokenFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "task.json"), []byte(`{"schema": 1, "id": "a", "checks": [], "x": 1}`), 0o600))
	if err := suite.UpdateTask(dir, func(*assay.Task) { t.Error("called") }); !assay.IsUser(err) {
		t.Errorf("error %v", err)
	}
	if err := suite.UpdateTask(filepath.Join(dir, "no"), func(*assay.Task) {}); err == nil {
		t.Error("no error for a missing task")
	}
}
