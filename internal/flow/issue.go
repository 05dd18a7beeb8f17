package flow

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/publish"
	"github.com/assaybot/assay/internal/report"
)

// IssueLabel is the label that asks for a task, unless another is named.
const IssueLabel = "assay"

// IssueRequest is about one labelled issue (or, for Begin alone, a pull
// request). SHA is the commit that the work is bound to, from the event: what
// is pushed later isn't what was asked for.
type IssueRequest struct {
	Repo, Label, SHA string
	Number           int
	// Actor is who set the label.
	Actor string
	// Pull: the number is a pull request's, whose score is an answer of its
	// own; only the actor counts.
	Pull bool
	// Mined is the folder that mining, building and validation left.
	Mined string
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

func (r *IssueRequest) fill(f *Flow) error {
	r.Label, r.SHA = cmp.Or(r.Label, IssueLabel), strings.ToLower(cmp.Or(r.SHA, f.GitHub.SHA))
	switch {
	case r.Number < 1:
		return assay.Userf("%d is no number of an issue", r.Number)
	case !fullCommit.MatchString(r.SHA):
		return assay.Userf("%q is no commit; the work is bound to one, by its whole name (--sha)", r.SHA)
	}
	return nil
}

func (r IssueRequest) answer(f *Flow, s publish.Stage) publish.Answer {
	return publish.Answer{Number: r.Number, Label: r.Label, SHA: r.SHA, Stage: s, RunURL: f.GitHub.Run}
}

// Begun says whether the work may go on, and why not.
type Begun struct {
	Go  bool
	Why string
}

// BeginIssue decides whether a label starts anything: it must have been set by
// somebody who may change the repository, and not be answered already for this
// commit. Then the issue is told that it is queued.
func (f *Flow) BeginIssue(ctx context.Context, r IssueRequest) (Begun, error) {
	if err := r.fill(f); err != nil {
		return Begun{}, err
	}
	if r.Actor == "" {
		return Begun{}, assay.Userf("who set the label isn't said (--actor)")
	}
	desk, err := f.desk(r.Repo)
	if err != nil {
		return Begun{}, err
	}
	may, role, err := desk.MayWrite(ctx, r.Actor)
	switch {
	case err != nil:
		return Begun{}, err
	case !may:
		return Begun{Why: fmt.Sprintf("%s may not change the repository (%s), and only who may can start what costs money", r.Actor, role)}, nil
	case r.Pull:
		return Begun{Go: true}, nil
	}
	a := r.answer(f, publish.StageQueued)
	m, _, there, err := publish.Answered(ctx, desk, a)
	if err != nil {
		return Begun{}, err
	}
	if there && m.SHA == r.SHA && m.State == publish.Final {
		return Begun{Why: fmt.Sprintf("issue #%d is answered already for this commit", r.Number)}, nil
	}
	return Begun{Go: true}, toldAll(publish.Tell(ctx, desk, a, false))
}

// toldAll makes an error of what couldn't be told: an issue that is labelled
// by somebody who may write is answered, or the job is red.
func toldAll(p publish.Posted, err error) error {
	if err == nil && p.Refused {
		err = assay.Userf("%s", strings.Join(p.Notes, "\n"))
	}
	return err
}

// AnswerIssue tells an issue what became of it, by what mining left.
func (f *Flow) AnswerIssue(ctx context.Context, r IssueRequest) (publish.Answer, error) {
	if err := r.fill(f); err != nil {
		return publish.Answer{}, err
	}
	desk, err := f.desk(r.Repo)
	if err != nil {
		return publish.Answer{}, err
	}
	a := r.answer(f, publish.StageUnproven)
	if a.Why = "the job ended early; its log says more"; r.Mined != "" {
		if a, err = f.became(r, a); err != nil {
			return a, err
		}
	}
	return a, toldAll(publish.Tell(ctx, desk, a, false))
}

// became is what mining, building and validation say of an issue.
func (f *Flow) became(r IssueRequest, a publish.Answer) (publish.Answer, error) {
	all, err := candidates.At(filepath.Join(r.Mined, MinedCandidates)).LoadOrNone()
	if err != nil {
		return a, err
	}
	standing := f.standing(filepath.Join(r.Mined, "tasks"))
	a.Stage, a.Why = publish.StageWaiting, ""
	for _, c := range all {
		if !OfIssue(c, r.Number) {
			continue
		}
		e, built := standing[cmp.Or(c.Task, c.ID)]
		var v *assay.Validation
		if built {
			v = e.Task.Validation
		}
		switch {
		case v != nil && v.Status == string(assay.StatusValid):
			a.Stage, a.Task, a.Why = publish.StageValid, e.Task.ID, ""
			return a, nil
		case v != nil:
			a.Stage, a.Why = publish.StageRejected, reasonOf(v.Reason, v.Detail)
		case c.Status == assay.StatusRejected || c.Status == assay.StatusQuarantined:
			a.Stage, a.Why = publish.StageRejected, reasonOf(string(c.Reason), c.Detail)
		case a.Stage == publish.StageWaiting:
			a.Stage, a.Why = publish.StageUnproven, "its task could not be built or proven in this run"
		}
	}
	return a, nil
}

func reasonOf(reason, detail string) string {
	return strings.TrimSuffix(strings.ReplaceAll(reason, "_", " ")+": "+detail, ": ")
}

// OfIssue tells whether a candidate's change is for an issue. An open issue
// that nothing closes is parked, and no candidate for it.
func OfIssue(c assay.Candidate, number int) bool {
	if mine.Parked(c) || c.Source.Commit == "" && c.Status != assay.StatusRejected {
		return false
	}
	if slices.Contains(c.Source.Issues, number) {
		return true
	}
	return slices.ContainsFunc(c.Links, func(l assay.Link) bool {
		return l.Issue == number && (l.Repo == "" || strings.EqualFold(l.Repo, c.Repo)) && l.Evidence != "mention"
	})
}

// mostIssues bounds how many issues are looked at when scores are told.
const mostIssues = 50

// ScoreIssues brings the answers of labelled issues up to date with the scores
// of their tasks in a results folder. It writes no new comment: an issue that
// was never answered stays quiet. It returns the issues that it told.
func (f *Flow) ScoreIssues(ctx context.Context, r IssueRequest, dir string) (told []int, err error) {
	r.Label, r.SHA = cmp.Or(r.Label, IssueLabel), strings.ToLower(cmp.Or(r.SHA, f.GitHub.SHA))
	rep, err := f.buildReport(dir)
	if err != nil {
		return nil, err
	}
	scores := scoresOf(rep)
	desk, err := f.desk(r.Repo)
	if err != nil || len(scores) == 0 {
		return nil, err
	}
	numbers, err := desk.Labelled(ctx, r.Label, mostIssues)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		r.Number = n
		a := r.answer(f, publish.StageScored)
		m, task, there, err := publish.Answered(ctx, desk, a)
		if err != nil {
			return told, err
		}
		if !there || m.State != publish.Final || len(scores[task]) == 0 {
			continue
		}
		a.Task, a.Scores = task, scores[task]
		if err := toldAll(publish.Tell(ctx, desk, a, true)); err != nil {
			return told, err
		}
		told = append(told, n)
	}
	return told, nil
}

// scoresOf are lines per task, by agent, model, effort and variant.
func scoresOf(rep report.Report) map[string][]string {
	type row struct{ passed, n, missing int }
	rows := map[string]map[string]*row{}
	for _, t := range rep.Trials {
		key := t.Key
		key.Task = ""
		if rows[t.Task] == nil {
			rows[t.Task] = map[string]*row{}
		}
		at := rows[t.Task][nameOf(key)]
		if at == nil {
			at = &row{}
			rows[t.Task][nameOf(key)] = at
		}
		switch {
		case !t.Outcome.InRate():
			at.missing++
		case t.Resolved:
			at.passed++
			at.n++
		default:
			at.n++
		}
	}
	out := map[string][]string{}
	for task, byName := range rows {
		for name, at := range byName {
			line := fmt.Sprintf("%s: %d/%d", name, at.passed, at.n)
			if at.missing > 0 {
				line += fmt.Sprintf(", %d without an answer", at.missing)
			}
			out[task] = append(out[task], line)
		}
		slices.Sort(out[task])
	}
	return out
}

// LogLine is text of anywhere as lines of a step's log: none is a command.
func LogLine(s string) string { return publish.ForLog(s) }
