package flow

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/tree"
)

// Mining case 7: whatever the agent did to the file, its code is graded and
// the hidden tests are what tests it.
func TestMining07GradingKeepsTheAgentsCode(t *testing.T) {
	hidden := tree.Tree{
		"workspace/tests/it.rs":    tree.Text("// hidden\n"),
		"inline-tests/src/lib.rs":  tree.Text("#[test]\nfn hidden() {}\n"),
		"inline-tests/src/gone.rs": tree.Text("#[test]\nfn gone() {}\n"),
		"data.json":                tree.Text("{}"),
	}
	laid, rest := splitHidden(hidden)
	if d := cmp.Diff([]string{"data.json"}, rest.Paths()); d != "" {
		t.Error(d)
	}
	back := laid.hidden()
	back["data.json"] = hidden["data.json"]
	if d := cmp.Diff(hidden, back); d != "" {
		t.Error(d)
	}
	work := tree.Tree{
		"src/lib.rs":  {Mode: tree.Exec, Data: []byte("fn agents() {}\n#[test]\nfn hidden() { /* easy */ }\n")},
		"tests/it.rs": tree.Text("// the agent's\n"),
	}
	was := work.Clone()
	want := tree.Tree{
		"src/lib.rs":  {Mode: tree.Exec, Data: []byte("fn agents() {}\n\nconst _: () = (); // ends what stands above\n#[test]\nfn hidden() {}\n")},
		"tests/it.rs": tree.Text("// hidden\n"),
	}
	if d := cmp.Diff(want, laid.over(work)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(was, work); d != "" {
		t.Errorf("laying changed what it was given: %s", d)
	}
}
