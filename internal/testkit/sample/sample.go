// Package sample is a small Python project with a history as projects have
// one: squash merges, merge commits, a robot, a revert, a release, tests that
// vary and tests that never run. It makes the repository and says what the
// mining road has to find in it. It is for tests and the demo only.
package sample

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/testkit/repo"
)

//go:embed history
var history embed.FS

// Since is the cutoff date of the sample: what was merged later is mined.
const Since = "2025-09-01"

// Verdict is what has to become of a candidate: Status, with a typed Reason
// unless it is valid.
type Verdict struct {
	Status assay.CandidateStatus
	Reason assay.Reason
}

// Sample is a repository that was made.
type Sample struct {
	// Dir is the repository, a clone without a remote.
	Dir string
	// Want is the verdict on every change since Since by the candidate's ID;
	// a change without a number is there as "commit".
	Want map[string]Verdict
	// Issue is an open issue of the project, which git itself can't hold.
	Issue mine.Issue
}

// Wrong is a hasty solution of a valid task: its ID, and files that miss a
// part of what the hidden tests check.
func Wrong() (task string, files map[string]string) {
	return "pull-17", map[string]string{"stockroom/reader.py": hastyReader}
}

// step is one change of the history.
type step struct {
	kind, author, title, body string
	number, branch, want      string
	date                      time.Time
	files                     repo.Files
}

// Make makes the repository in dir. Its commits are the same each time.
func Make(ctx context.Context, dir string) (Sample, error) {
	steps, err := steps()
	if err != nil {
		return Sample{}, err
	}
	s := Sample{Dir: dir, Want: map[string]Verdict{}, Issue: issue()}
	r := repo.New(ctx, dir, steps[0].date)
	for _, st := range steps {
		if !st.date.IsZero() {
			r.Now = st.date
		}
		st.land(r)
		if st.want != "" {
			status, reason, _ := strings.Cut(st.want, " ")
			s.Want[st.id()] = Verdict{assay.CandidateStatus(status), assay.Reason(reason)}
		}
	}
	if err := r.Err(); err != nil {
		return Sample{}, fmt.Errorf("making the sample repository: %w", err)
	}
	return s, nil
}

func (s step) id() string {
	if s.number == "" {
		return "commit"
	}
	return "pull-" + s.number
}

// land brings a change to the main line.
func (s step) land(r *repo.Repo) {
	message := s.title
	switch s.kind {
	case "merge":
		r.Git("checkout", "--quiet", "-b", s.branch)
		r.Commit(s.author, s.title, s.files)
		r.Git("checkout", "--quiet", "main")
		r.GitAs(s.author, "merge", "--quiet", "--no-ff", "--message",
			fmt.Sprintf("Merge pull request #%s from stockroom/%s\n\n%s\n\n%s", s.number, s.branch, s.title, s.body), s.branch)
		r.Git("branch", "--quiet", "-D", s.branch)
		r.Now = r.Now.Add(24 * time.Hour)
		return
	case "squash":
		message += " (#" + s.number + ")"
	}
	r.Commit(s.author, strings.TrimSpace(message+"\n\n"+s.body), s.files)
}

// steps reads the history in the order of its files' names.
func steps() ([]step, error) {
	list, err := history.ReadDir("history")
	if err != nil {
		return nil, err
	}
	out := make([]step, 0, len(list))
	for _, f := range list {
		data, err := history.ReadFile("history/" + f.Name())
		if err != nil {
			return nil, err
		}
		s, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
		}
		out = append(out, s)
	}
	return out, nil
}

// parse reads one change: lines of "key: value", a blank line, the text of
// the pull request, and the files as they are after it.
func parse(data []byte) (step, error) {
	a := txtar.Parse(data)
	head, body, _ := strings.Cut(string(a.Comment), "\n\n")
	s := step{body: strings.TrimSpace(body), files: repo.Files{}}
	texts := map[string]*string{
		"kind": &s.kind, "author": &s.author, "title": &s.title, "number": &s.number, "branch": &s.branch, "want": &s.want,
	}
	for _, line := range strings.Split(strings.TrimSpace(head), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		if to, ok := texts[key]; ok {
			*to = value
			continue
		}
		var err error
		if s.date, err = time.Parse(time.DateOnly, value); key != "date" || err != nil {
			return s, fmt.Errorf("no line of a change: %q", line)
		}
	}
	for _, f := range a.Files {
		s.files[f.Name] = repo.F(string(f.Data))
	}
	return s, nil
}

// issue is one that nobody has solved yet.
func issue() mine.Issue {
	when := time.Date(2025, 9, 20, 9, 30, 0, 0, time.UTC)
	return mine.Issue{
		Number: 28, Title: "Prices with a decimal comma are refused", State: "OPEN", Author: "dora",
		Body: "Our spreadsheet writes 12,50 where the reader wants 12.50. `money.parse` could take both, " +
			"as long as it stays clear what a comma means in a price and what it means in a quantity.",
		Created: when, Updated: when,
	}
}

// hastyReader takes every comma away and forgets about blanks.
const hastyReader = `"""Stock lists as CSV: sku, name, price, quantity, reorder level."""

import csv

from stockroom import money
from stockroom.stock import Item, Stock


def quantity(text):
    n = int(text.replace(",", ""))
    if n < 0:
        raise ValueError("a quantity can't be negative: %s" % text)
    return n


def read(lines):
    items = []
    for row in csv.reader(lines):
        if row:
            sku, name, price, count, level = (cell.strip() for cell in row)
            items.append(Item(sku, name, money.parse(price), quantity(count), quantity(level)))
    return Stock(items)
`
