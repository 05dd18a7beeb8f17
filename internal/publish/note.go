package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/assaybot/assay/internal/plain"
)

// KindIssue is the kind of the comment that answers a labelled issue.
const KindIssue = "issue"

// Stage is how far an issue came on its way to a task.
type Stage string

// The stages. Queued is being worked on; the others are answers.
const (
	StageQueued   Stage = "queued"
	StageWaiting  Stage = "waiting" // for a merged change that closes it
	StageValid    Stage = "validated"
	StageRejected Stage = "rejected"
	StageUnproven Stage = "unproven" // by no fault of the task's
	StageScored   Stage = "scored"
)

// Answer is what an issue is told. Task is the task made of it, Why the reason
// where there is none, Scores lines such as "claude-code / sonnet: 2/3".
type Answer struct {
	Number int
	// Label and SHA tell answers apart: one per label, about one commit.
	Label, SHA string
	Stage      Stage
	Task, Why  string
	Scores     []string
	RunURL     string
}

func (a Answer) mark() Mark {
	m := Context{SHA: a.SHA, Key: a.Label}.mark(Final)
	m.Kind = KindIssue
	if a.Stage == StageQueued || a.Stage == StageUnproven {
		m.State = Running // the label may be set again
	}
	return m
}

// text is the answer as Markdown, without its mark: what it is, and what
// happens next.
func (a Answer) text() string {
	var b strings.Builder
	head, next := a.words()
	b.WriteString(head + "\n\n")
	for _, s := range a.Scores {
		b.WriteString("- " + plain.Inline(s, 200) + "\n")
	}
	if len(a.Scores) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("**Next:** " + next + "\n")
	if a.SHA != "" {
		fmt.Fprintf(&b, "\n<sub>About commit %s", plain.Code(a.SHA[:min(8, len(a.SHA))], 8))
		if a.RunURL != "" {
			b.WriteString(", " + plain.Link("workflow run", a.RunURL))
		}
		b.WriteString("; this comment is kept up to date.</sub>\n")
	}
	if taskID.MatchString(a.Task) {
		b.WriteString("\n<!-- assay:tasks v1 " + a.Task + " -->\n")
	}
	return cutTo(b.String(), MaxComment)
}

func cutTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

func (a Answer) words() (head, next string) {
	task := plain.Code(a.Task, 120)
	switch a.Stage {
	case StageQueued:
		return "⏳ **Queued.** assay looks for a merged change that closes this issue, to make a benchmark task of the two.",
			"the task is built and proven both ways; the answer comes here."
	case StageWaiting:
		return "💤 **Waiting.** No merged pull request closes this issue, so that nothing could prove a solution.",
			"once one does, the nightly mining finds it; or set the label again."
	case StageValid:
		return "✅ **Validated** as task " + task + ": its hidden tests fail before the change and pass after it.",
			"it is proposed in a pull request of the next nightly mining; once that is merged, every evaluation scores it."
	case StageScored:
		return "📊 **Scored**: task " + task + ", by agent (resolved/trials):", "the next evaluation brings these numbers up to date."
	case StageUnproven:
		return "⚠️ **Not proven yet**: " + plain.Inline(a.Why, 300), "the machinery failed, not the task; set the label again, or wait for the nightly mining."
	}
	return "❌ **No task**: " + plain.Inline(a.Why, 300), "nothing; if the reason is gone later, set the label again."
}

// Answered is the mark and task of our newest answer to an issue.
func Answered(ctx context.Context, t Target, a Answer) (m Mark, task string, ok bool, err error) {
	newest, _, err := sticky{t: t, number: a.Number, mark: a.mark()}.find(ctx)
	if err != nil || newest == nil {
		return Mark{}, "", false, err
	}
	m, _ = ParseMark(newest.Body)
	body := strings.TrimRight(newest.Body, " \r\n")
	if ids := parseTasks(strings.TrimRight(body[:max(0, strings.LastIndex(body, "\n"))], "\r\n ")); len(ids) == 1 {
		task = ids[0]
	}
	return m, task, true, nil
}

// Tell writes an answer where one of ours stands already, or, unless editOnly,
// as a new comment. There is one per label.
func Tell(ctx context.Context, t Target, a Answer, editOnly bool) (Posted, error) {
	var p Posted
	s := sticky{t: t, number: a.Number, mark: a.mark()}
	s.body = marked(a.text(), s.mark)
	if editOnly {
		newest, older, err := s.find(ctx)
		if err != nil || newest == nil {
			return p, p.settle("the answer", err)
		}
		return p, p.settle("the answer", p.replace(ctx, s, *newest, older))
	}
	return p, p.settle("the answer", p.put(ctx, s))
}
