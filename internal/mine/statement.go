package mine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// StatementInput is what a problem's text is made from. Issues are those that
// the change closes; Pull stands in where none has a text. FirstWork is the
// fix's first event; where it is zero the pull's own dates tell it.
type StatementInput struct {
	Pull      Pull
	Issues    []Issue
	FirstWork time.Time
	// Gold are the lines that the reference adds, Paths the files that it
	// changes: the statement must not hold them.
	Gold  []string
	Paths []string
}

// FirstWork is the first event of the fix that p tells of: its first commit
// or its opening, whichever came first.
func FirstWork(p Pull) time.Time {
	first := p.FirstCommit
	if first.IsZero() || !p.Created.IsZero() && p.Created.Before(first) {
		first = p.Created
	}
	return first
}

// MakeStatement is the problem's text as it stood before the fix began, with
// the doubts that rules can find. Later edits are undone where the history of
// edits is known, and later comments are never hints.
func MakeStatement(in StatementInput) (assay.Statement, []assay.Confounder) {
	if in.FirstWork.IsZero() {
		in.FirstWork = FirstWork(in.Pull)
	}
	s, about := choose(in)
	s.Title, s.Body = tidy(s.Title), tidy(s.Body)
	s.Hints = hints(about.Comments, in.FirstWork)
	return s, doubts(s, in)
}

// choose takes the closed issue with the lowest number that has a text of its
// own, else the pull.
func choose(in StatementInput) (assay.Statement, Issue) {
	issues := slices.Clone(in.Issues)
	slices.SortStableFunc(issues, func(a, b Issue) int { return cmp.Compare(a.Number, b.Number) })
	for _, i := range issues {
		if s := asOf(i, in.FirstWork); s.Body != "" || s.Title != "" {
			s.Origin = "issue"
			return s, i
		}
	}
	p := in.Pull
	as := Issue{Number: p.Number, Title: p.Title, Body: p.Body, Created: p.Created, Edited: p.Edited, Edits: p.Edits}
	// A pull's text is written with the fix at hand; what was written by the
	// time it was opened is the text as it stood.
	s := asOf(as, p.Created)
	s.Origin = "pull"
	return s, as
}

// asOf is i's text at the moment then (zero: unknown). It is clean if no edit
// after it can be in it.
func asOf(i Issue, then time.Time) assay.Statement {
	s := assay.Statement{Number: i.Number, Title: i.Title, Body: i.Body, Created: i.Created, Edited: i.Edited}
	late := !i.Edited.IsZero() && (then.IsZero() || i.Edited.After(then))
	s.Clean = !late
	if !late || then.IsZero() || len(i.Edits) == 0 {
		return s
	}
	edits := slices.Clone(i.Edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.When.Compare(b.When) })
	// The first state is the original even where it is dated a moment late.
	at := edits[0]
	s.Clean = !at.When.After(then) || !at.When.After(i.Created)
	for _, e := range edits[1:] {
		if !e.When.After(then) {
			at = e
		}
	}
	s.Body, s.Edited = at.Text, at.When
	if !at.When.After(i.Created) {
		s.Edited = time.Time{}
	}
	return s
}

// hints are the comments that were written, and last edited, before the fix
// began. Without that date there are none.
func hints(comments []Comment, before time.Time) string {
	var out []string
	for _, c := range comments {
		last := c.Created
		if c.Edited.After(last) {
			last = c.Edited
		}
		if before.IsZero() || last.IsZero() || !last.Before(before) {
			continue
		}
		if text := tidy(c.Body); text != "" {
			out = append(out, c.Author+":\n"+text)
		}
	}
	return strings.Join(out, "\n\n")
}

// tidy takes what templates leave (HTML comments outside of code) and foreign
// line ends away, and blank lines beyond one.
func tidy(s string) string {
	lines := strings.Split(strip(s, true), "\n")
	out := lines[:0]
	blank := false
	for _, l := range lines {
		l = strings.TrimRight(l, " \t")
		if l == "" && blank {
			continue
		}
		blank = l == ""
		out = append(out, l)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
