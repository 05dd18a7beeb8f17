package mine

import (
	"fmt"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// Bounds of what a task can be about; beyond, no statement tells the change.
const (
	mostFiles = 60   // source and test files
	mostLines = 6000 // changed lines of those
)

// unfit tells the changes that are no tasks whatever their files are.
func (m *miner) unfit(c Change, merge Merge) (assay.Reason, string) {
	if where := m.opts.Told.stray(c.Commit, merge.Number); where != "" {
		return assay.ReasonNotPull, where
	}
	title := merge.Title
	if merge.Kind == MergeBranch {
		title = c.Subject
	}
	same := merge.Same || merge.Owner != "" && strings.EqualFold(merge.Owner, owner(m.slug))
	reason, detail := Noise(NoiseInput{
		Title: title, Body: opening(merge.Body), Author: merge.Author, Bot: merge.Bot, Head: merge.Head, Base: merge.Base, SameRepo: same,
	})
	if reason != "" {
		return reason, detail
	}
	others := gathered(c, merge.Number)
	switch {
	case len(c.Parents) > 1 && len(others) > 1:
		return assay.ReasonBranchMerge, fmt.Sprintf("brings in the pull requests %v", others)
	case merge.Kind == MergeBranch:
		return assay.ReasonNotPull, "a merge without the number of a pull request: " + c.Subject
	case merge.Number == 0, len(c.Parents) == 0:
		return assay.ReasonNotPull, "a commit without the number of a pull request"
	case len(c.Files) == 0:
		return assay.ReasonEmpty, "no file differs from the commit before"
	}
	return "", ""
}

// opening is the first paragraph of a pull request's text: there stands what
// it reverts as a whole. A list of the commits that were squashed has none,
// since one of them may have taken back another.
func opening(body string) string {
	if commitList(body) {
		return ""
	}
	first, _, _ := strings.Cut(body, "\n\n")
	return first
}

// commitList tells the body that GitHub proposes for a squash merge.
func commitList(body string) bool { return strings.HasPrefix(body, "* ") }

// unsplit tells changes whose files make no task. inline counts the Rust
// source files whose tests changed.
func unsplit(files []assay.SplitFile, inline inlineCount) (assay.Reason, string) {
	source, tests, lines, gone := 0, 0, 0, 0
	for _, f := range files {
		switch {
		case f.Class == assay.ClassTest && f.Status == "deleted":
			gone++
			continue
		case f.Class == assay.ClassTest:
			tests++
		case f.Class == assay.ClassSource:
			source++
		case f.Class != assay.ClassInline:
			continue
		}
		lines += f.Added + f.Removed
	}
	source, tests = source+inline.source, tests+inline.tests
	switch {
	case inline.stuck != "":
		return assay.ReasonInlineTests, inline.stuck
	case source == 0 && tests == 0:
		return assay.ReasonNoSource, "documents, configuration or generated files only"
	case source == 0:
		return assay.ReasonNoSource, "tests only"
	case tests == 0 && gone > 0:
		return assay.ReasonNoTests, "tests were only removed"
	case tests == 0:
		return assay.ReasonNoTests, "no test file"
	case source+tests > mostFiles, lines > mostLines:
		return assay.ReasonTooLarge, fmt.Sprintf("%d source and test files, %d lines", source+tests, lines)
	}
	return "", ""
}
