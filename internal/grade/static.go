package grade

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// IsStatic tells whether a check of kind k is decided by Static, without a
// command.
func IsStatic(k assay.CheckKind) bool {
	switch k {
	case assay.CheckFileUnchanged, assay.CheckFileContains, assay.CheckFileNotContains,
		assay.CheckNoNewFiles, assay.CheckTestsUnmodified:
		return true
	}
	return false
}

// Static decides a check of the kinds of IsStatic. base and after are the
// workspace as the agent got it and as it left it, before anything is put
// back. A check that can't be decided (its paths match nothing, its pattern
// isn't valid) is broken.
func Static(c assay.Check, task assay.Task, base, after tree.Tree) assay.CheckResult {
	for _, g := range c.Paths {
		if bad := tree.BadGlob(g); bad != "" {
			return verdict(c, assay.CheckBroken, "%s", bad)
		}
	}
	switch c.Kind {
	case assay.CheckFileUnchanged:
		return unchanged(c, base, after)
	case assay.CheckTestsUnmodified:
		return testsUnmodified(c, task, base, after)
	case assay.CheckNoNewFiles:
		return noNewFiles(c, base, after)
	case assay.CheckFileContains:
		return contains(c, base, after)
	case assay.CheckFileNotContains:
		return notContains(c, base, after)
	}
	return verdict(c, assay.CheckBroken, "a check of kind %q isn't decided by files", c.Kind)
}

// changes describes what was done to the files that globs match, droppings of
// tools aside.
func changes(globs []string, base, after tree.Tree) []string {
	var out []string
	for _, ch := range tree.Diff(base, after) {
		if !dropping(ch.Path) && tree.Match(globs, ch.Path) {
			out = append(out, describe(ch))
		}
	}
	return out
}

func describe(ch assay.FileChange) string {
	if ch.Kind == "mode" {
		return ch.Path + " has another mode"
	}
	return ch.Path + " " + ch.Kind
}

// matching lists the paths of t that globs match.
func matching(globs []string, t tree.Tree) []string {
	var out []string
	for _, p := range t.Paths() {
		if tree.Match(globs, p) {
			out = append(out, p)
		}
	}
	return out
}

// noMatch is broken when the paths match no file of base or after: then the
// check says nothing, which is its author's mistake.
func noMatch(c assay.Check, globs []string, base, after tree.Tree) (assay.CheckResult, bool) {
	if len(globs) == 0 {
		return verdict(c, assay.CheckBroken, "the check names no paths"), true
	}
	if len(matching(globs, base)) == 0 && len(matching(globs, after)) == 0 {
		return verdict(c, assay.CheckBroken, "the paths %s match no file", some(globs)), true
	}
	return assay.CheckResult{}, false
}

func unchanged(c assay.Check, base, after tree.Tree) assay.CheckResult {
	if r, bad := noMatch(c, c.Paths, base, after); bad {
		return r
	}
	if ch := changes(c.Paths, base, after); len(ch) > 0 {
		return verdict(c, assay.CheckFailed, "files that must stay were changed: %s", some(ch))
	}
	return result(c)
}

func testsUnmodified(c assay.Check, task assay.Task, base, after tree.Tree) assay.CheckResult {
	globs := c.Paths
	if len(globs) == 0 {
		globs = task.Visible
	}
	if r, bad := noMatch(c, globs, base, after); bad {
		return r
	}
	// A mode alone changes no test, and tools set it by the way (chmod -R).
	if ch := changes(globs, base, withModes(after, base)); len(ch) > 0 {
		return verdict(c, assay.CheckIntegrity, "visible tests were changed: %s", some(ch))
	}
	return result(c)
}

// withModes is after with the modes that its files had in base; a file that
// became a link, or the other way round, stays what it became.
func withModes(after, base tree.Tree) tree.Tree {
	out := after.Clone()
	for p, e := range after {
		if b, ok := base[p]; ok && b.Mode != tree.Link && e.Mode != tree.Link {
			out[p] = tree.Entry{Mode: b.Mode, Data: e.Data}
		}
	}
	return out
}

func noNewFiles(c assay.Check, base, after tree.Tree) assay.CheckResult {
	var added []string
	for _, ch := range tree.Diff(base, after) {
		if ch.Kind == "added" && !dropping(ch.Path) && !tree.Match(c.Paths, ch.Path) {
			added = append(added, ch.Path)
		}
	}
	if len(added) > 0 {
		return verdict(c, assay.CheckFailed, "new files: %s", some(added))
	}
	return result(c)
}

// needle finds a check's Text or Pattern in a file's content.
type needle struct {
	text    []byte
	pattern *regexp.Regexp
}

// newNeedle compiles the Pattern with ^ and $ at lines.
func newNeedle(c assay.Check) (needle, error) {
	n := needle{text: []byte(c.Text)}
	if c.Text == "" && c.Pattern == "" {
		return n, fmt.Errorf("the check has neither text nor pattern")
	}
	if c.Pattern == "" {
		return n, nil
	}
	var err error
	n.pattern, err = regexp.Compile("(?m)" + c.Pattern)
	return n, err
}

// line is the number of the first line with a match, 0 for none. A link holds
// nothing: what it points to is another file.
func (n needle) line(e tree.Entry) int {
	if e.Mode == tree.Link {
		return 0
	}
	at := -1
	if len(n.text) > 0 {
		at = bytes.Index(e.Data, n.text)
	}
	if at < 0 && n.pattern != nil {
		if loc := n.pattern.FindIndex(e.Data); loc != nil {
			at = loc[0]
		}
	}
	if at < 0 {
		return 0
	}
	return bytes.Count(e.Data[:at], []byte{'\n'}) + 1
}

func contains(c assay.Check, base, after tree.Tree) assay.CheckResult {
	n, err := newNeedle(c)
	if err != nil {
		return verdict(c, assay.CheckBroken, "%v", err)
	}
	if len(c.Paths) == 0 {
		return verdict(c, assay.CheckBroken, "the check names no paths")
	}
	files := matching(c.Paths, after)
	if len(files) == 0 {
		gone := matching(c.Paths, base)
		if len(gone) > 0 {
			return verdict(c, assay.CheckFailed, "no file is left at %s", some(gone))
		}
		return verdict(c, assay.CheckFailed, "there is no file at %s", some(c.Paths))
	}
	var without []string
	for _, p := range files {
		if n.line(after[p]) == 0 {
			without = append(without, p)
		}
	}
	if len(without) > 0 {
		return verdict(c, assay.CheckFailed, "%s isn't in %s", n, some(without))
	}
	return result(c)
}

func notContains(c assay.Check, base, after tree.Tree) assay.CheckResult {
	n, err := newNeedle(c)
	if err != nil {
		return verdict(c, assay.CheckBroken, "%v", err)
	}
	if r, bad := noMatch(c, c.Paths, base, after); bad {
		return r
	}
	var with []string
	for _, p := range matching(c.Paths, after) {
		if line := n.line(after[p]); line > 0 {
			with = append(with, fmt.Sprintf("%s:%d", p, line))
		}
	}
	if len(with) > 0 {
		return verdict(c, assay.CheckFailed, "%s is in %s", n, some(with))
	}
	return result(c)
}

// String is the text or pattern as a message shows it.
func (n needle) String() string {
	switch {
	case n.pattern == nil:
		return fmt.Sprintf("the text %q", n.text)
	case len(n.text) == 0:
		return fmt.Sprintf("a match of %q", n.pattern.String()[len("(?m)"):])
	}
	return fmt.Sprintf("the text %q or a match of %q", n.text, n.pattern.String()[len("(?m)"):])
}
