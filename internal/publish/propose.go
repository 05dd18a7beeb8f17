package publish

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/plain"
)

// Offered is one task as a pull request lists it. Source is where it came from
// (an address), Proof one line of how it was proven.
type Offered struct {
	ID, Title, Source, Proof string
}

// Standing is what became of earlier proposals from a branch.
type Standing struct {
	// Open is the one that is open, nil for none.
	Open *Proposal
	// Refused are the tasks of those that were closed without a merge.
	Refused map[string]bool
	// Ended are the commits of the branch whose proposals are closed or
	// merged: the branch may be begun anew there.
	Ended map[string]bool
}

// Stand sums up the proposals of a branch. Only our own tell what was refused.
func Stand(all []Proposal) Standing {
	s := Standing{Refused: map[string]bool{}, Ended: map[string]bool{}}
	for i, p := range all {
		if p.Open {
			if s.Open == nil {
				s.Open = &all[i]
			}
			continue
		}
		s.Ended[p.SHA] = true
		if p.Mine && !p.Merged {
			for _, id := range parseTasks(p.Body) {
				s.Refused[id] = true
			}
		}
	}
	return s
}

var (
	tasksLine = regexp.MustCompile(`^<!-- assay:tasks v1((?: [A-Za-z0-9][A-Za-z0-9._-]{0,119})*) -->$`)
	taskID    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$`)
)

// parseTasks reads the tasks that a proposal lists: its last line, alone.
func parseTasks(body string) []string {
	body = strings.TrimRight(body, " \r\n")
	m := tasksLine.FindStringSubmatch(body[strings.LastIndex(body, "\n")+1:])
	if m == nil {
		return nil
	}
	return strings.Fields(m[1])
}

// tasksMark is that line.
func tasksMark(tasks []Offered) string {
	var b strings.Builder
	b.WriteString("<!-- assay:tasks v1")
	for _, t := range tasks {
		if taskID.MatchString(t.ID) {
			b.WriteString(" " + t.ID)
		}
	}
	return b.String() + " -->"
}

// ProposalOf makes title and text of a pull request that offers tasks.
func ProposalOf(tasks []Offered) (title, body string) {
	title = fmt.Sprintf("assay: %s from merged changes", countTasks(len(tasks)))
	mark := tasksMark(tasks)
	head := text(countTasks(len(tasks)) + ` that assay made of this repository's own merged changes. Each was proven both ways in a
sandbox: its hidden tests fail before the change and pass after it, and doing
nothing doesn't solve it.

`)
	list := block{head: "| task | from | proof |\n| --- | --- | --- |\n", most: MaxComment, rows: each(tasks, func(t Offered) string {
		name := plain.Code(t.ID, 120)
		if t.Title != "" {
			name += " " + plain.Inline(t.Title, 120)
		}
		return fmt.Sprintf("| %s | %s | %s |\n", name, plain.Link("change", t.Source), plain.Inline(t.Proof, 120))
	})}
	foot := text(`
- Merge this to have them in the suite; delete a folder on this branch to leave one out.
- The next night adds what it finds to this pull request. What you push to its branch stays.
- Close it to refuse these tasks: they are not proposed again.
`)
	room := MaxComment - len(mark) - 2
	// The foot's room is kept whatever the list takes.
	list.most = room - foot.most - head.most
	return title, compose(room, head, list, foot) + "\n" + mark + "\n"
}

func countTasks(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}

// Offer makes the pull request p, or brings the open one of the same branch up
// to date. A pull request of somebody else's is left as it is.
func Offer(ctx context.Context, t Proposer, p Proposal, s Standing) (made Proposal, note string, err error) {
	for tries := 0; tries < attempts; tries++ {
		if s.Open != nil {
			return revise(ctx, t, p, *s.Open)
		}
		made, err = t.Propose(ctx, p)
		if !errors.Is(err, ErrUncertain) {
			return made, "", err
		}
		// It is looked for before it is made again.
		all, err := t.Proposals(ctx, p.Head)
		if err != nil {
			return made, "", err
		}
		s = Stand(all)
	}
	return made, "", fmt.Errorf("proposing tasks from %s: %w, %d times", p.Head, ErrUncertain, attempts)
}

func revise(ctx context.Context, t Proposer, p, open Proposal) (Proposal, string, error) {
	switch {
	case !open.Mine:
		return open, fmt.Sprintf("pull request #%d is not ours; its text stays", open.Number), nil
	case open.Title == p.Title && open.Body == p.Body:
		return open, "", nil
	}
	open.Title, open.Body = p.Title, p.Body
	return open, "", t.Revise(ctx, open)
}

// NewTasks are the offered tasks that are neither there already nor refused,
// in the order of their names.
func NewTasks(offered []string, there map[string]bool, s Standing) []string {
	var out []string
	for _, id := range offered {
		if !there[id] && !s.Refused[id] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
