package flow

import (
	"strings"

	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// The parts of a task's hidden files that enter the workspace before the
// checks' commands run: whole files, and the test items of Rust files whose
// rest stays as the agent left it.
const (
	overlayDir = "workspace"
	inlineDir  = "inline-tests"
)

// laying is what grading lays over a workspace. The paths of both trees are
// those of the workspace.
type laying struct{ files, inline tree.Tree }

// over is work with the hidden tests in their places. A file that the agent
// removed stays away, so that its tests are missing.
func (l laying) over(work tree.Tree) tree.Tree {
	out := run.Overlaid(work, l.files)
	for p, tests := range l.inline {
		if e, ok := out[p]; ok && e.Mode != tree.Link {
			out[p] = tree.Entry{Mode: e.Mode, Data: mine.LayRust(e.Data, tests.Data)}
		}
	}
	return out
}

// hidden is l as a task keeps it.
func (l laying) hidden() tree.Tree {
	return tree.Over(l.files.In(overlayDir), l.inline.In(inlineDir))
}

// splitHidden parts the hidden files: those below workspace/ are laid over the
// graded workspace, where the agent's file of the same name goes (a mined
// task's tests must lie where the repository has them); those below
// inline-tests/ replace the tests within a file of the agent's; the others
// stay out of it.
func splitHidden(verify tree.Tree) (laid laying, hidden tree.Tree) {
	laid, hidden = laying{files: verify.Sub(overlayDir), inline: verify.Sub(inlineDir)}, tree.Tree{}
	for p, e := range verify {
		if !strings.HasPrefix(p, overlayDir+"/") && !strings.HasPrefix(p, inlineDir+"/") {
			hidden[p] = e
		}
	}
	return laid, hidden
}
