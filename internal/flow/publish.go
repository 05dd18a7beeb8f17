package flow

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/compare"
	"github.com/assaybot/assay/internal/ledger"
	"github.com/assaybot/assay/internal/publish"
	"github.com/assaybot/assay/internal/report"
)

// PublishRequest says what to publish, and where; what is empty comes from the
// workflow's surroundings.
type PublishRequest struct {
	Dir string
	// Base is the results folder to compare with, "" for none.
	Base   string
	Margin float64
	// Tasks is the suite's folder, whose faults become annotations; "" is
	// the one that the run names, where it is here.
	Tasks  string
	FailOn string
	// Name is the check run's, and tells several scores of a repository
	// apart.
	Name   string
	Repo   string
	Number int
	SHA    string
	// Summary is the file that the summary is written to, "-" for w.
	Summary                   string
	ArtifactURL, TrialsURL    string
	Check, Comment, AnyClosed bool
	// Preview is a file for a page that shows what GitHub will, "" for none.
	Preview string

	head publish.Head // of the event, where it names no pull request
}

// Publish makes the texts of a results folder's score and posts them. Where
// there is no token, no repository or no permission it writes the summary and
// the outputs only, and says why on log; w gets what has no file.
func (f *Flow) Publish(ctx context.Context, req PublishRequest, w, log io.Writer) error {
	gate, err := publish.ParseGate(req.FailOn)
	if err != nil {
		return err
	}
	if err := f.locate(&req); err != nil {
		return err
	}
	score, err := f.score(req)
	if err != nil {
		return err
	}
	docs := publish.Make(publish.Context{
		Repo: req.Repo, Number: req.Number, SHA: req.SHA, Head: req.head, RunURL: f.GitHub.Run,
		ArtifactURL: req.ArtifactURL, TrialsURL: req.TrialsURL, Name: req.Name, Key: req.Name,
	}, score, gate)
	if err := f.writeSummary(req.Summary, docs.Summary, w); err != nil {
		return err
	}
	if req.Preview != "" {
		if err := writePage(req.Preview, pageOf(docs, req)); err != nil {
			return err
		}
	}
	posted, postErr := f.post(ctx, req, docs)
	if err := f.tell(docs, posted, w, log); err != nil {
		return err
	}
	return postErr
}

// locate fills in repository, pull request and commit.
func (f *Flow) locate(req *PublishRequest) error {
	about, err := f.GitHub.subject()
	if err != nil {
		return err
	}
	req.Repo = cmp.Or(req.Repo, f.GitHub.Repo)
	// The commit of the event isn't that of another pull request.
	if req.Number == 0 || req.Number == about.Number {
		req.Number, req.SHA, req.head = cmp.Or(req.Number, about.Number), cmp.Or(req.SHA, about.SHA), about.Head
	}
	return nil
}

// post posts what can be posted.
func (f *Flow) post(ctx context.Context, req PublishRequest, docs publish.Docs) (publish.Posted, error) {
	var p publish.Posted
	switch {
	case !req.Check && !req.Comment:
		return p, nil
	case f.GitHub.Open == nil:
		p.Notes, p.Refused = []string{"nothing was posted: there is no GITHUB_TOKEN; in a workflow's step write\n  env:\n    GITHUB_TOKEN: ${{ github.token }}"}, true
		return p, nil
	case req.Repo == "":
		p.Notes, p.Refused = []string{"nothing was posted: no repository is named (--repo owner/name)"}, true
		return p, nil
	}
	t, err := f.GitHub.Open(req.Repo)
	if err != nil {
		return p, err
	}
	return publish.Post(ctx, t, docs, publish.Wants{Check: req.Check, Comment: req.Comment, Closed: req.AnyClosed})
}

// tell writes the outputs and says what came of posting.
func (f *Flow) tell(docs publish.Docs, p publish.Posted, w, log io.Writer) error {
	outputs := append(docs.Outputs, publish.Output{Name: "comment_url", Value: p.CommentURL}, publish.Output{Name: "check_url", Value: p.CheckURL})
	if f.GitHub.Output != "" {
		if err := appendTo(f.GitHub.Output, publish.OutputLines(outputs)); err != nil {
			return fmt.Errorf("writing the step's outputs: %w", err)
		}
	}
	for _, n := range p.Notes {
		if _, err := fmt.Fprintln(log, publish.ForLog(n)); err != nil {
			return err
		}
	}
	if p.Refused && f.GitHub.Actions {
		if _, err := io.WriteString(w, publish.Commands(docs.Check.Annotations)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(log, publish.ForLog("conclusion: "+docs.Check.Conclusion+" ("+docs.Why+")"))
	return err
}

// writeSummary appends to the step's summary, or writes the file that was
// asked for; without either it goes to w.
func (f *Flow) writeSummary(name, text string, w io.Writer) error {
	var err error
	switch {
	case name == "-" || name == "" && f.GitHub.Summary == "":
		_, err = io.WriteString(w, text)
	case name != "":
		err = os.WriteFile(name, []byte(text), 0o644) //nolint:gosec // a summary is meant to be read
	default:
		err = appendTo(f.GitHub.Summary, text)
	}
	if err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

func appendTo(name, text string) (err error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the runner's own file
	if err != nil {
		return err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	_, err = file.WriteString(text)
	return err
}

// score gathers what is published of a results folder.
func (f *Flow) score(req PublishRequest) (publish.Score, error) {
	rep, err := f.buildReport(req.Dir)
	if err != nil {
		return publish.Score{}, err
	}
	var against *compare.Comparison
	if req.Base != "" {
		c, err := f.comparison(CompareRequest{A: req.Base, B: req.Dir, Margin: req.Margin})
		if err != nil {
			return publish.Score{}, err
		}
		against = &c
	}
	s, err := f.scored(req.Dir, rep, against)
	if err != nil {
		return s, err
	}
	s.Lint, err = f.faults(req.Dir, req.Tasks)
	return s, err
}

// scored is the score of a report of a results folder, with what it is
// compared with, if anything.
func (f *Flow) scored(dir string, rep report.Report, against *compare.Comparison) (publish.Score, error) {
	l, err := ledger.OpenRead(dir)
	if err != nil {
		return publish.Score{}, err
	}
	plan, err := l.Plan()
	if err != nil {
		return publish.Score{}, err
	}
	places := map[string]string{}
	for _, t := range plan.Trials {
		places[t.ID] = t.Dir()
	}
	paths := pathsOf(rep, places)
	s := scoreOf(rep, paths)
	var full bytes.Buffer
	if err := report.Render(rep, "markdown", &full); err != nil {
		return s, err
	}
	if against != nil {
		s.Versus = versus(*against, paths)
		full.WriteString("\n")
		if err := compare.Render(*against, "markdown", &full); err != nil {
			return s, err
		}
	}
	s.Full = full.String()
	return s, nil
}

// faults are those of the suite's files, where the suite is here.
func (f *Flow) faults(dir, tasks string) (assay.Problems, error) {
	if tasks == "" {
		l, err := ledger.OpenRead(dir)
		if err != nil {
			return nil, err
		}
		meta, err := l.Run()
		if err != nil || meta.Request.Tasks == "" || !isDir(meta.Request.Tasks) {
			return nil, nil //nolint:nilerr // a run without its request has no suite to look at
		}
		tasks = meta.Request.Tasks
	}
	sum, err := f.Lint([]string{tasks})
	for i := range sum.Problems {
		sum.Problems[i].File = filepath.ToSlash(filepath.Clean(sum.Problems[i].File))
	}
	return sum.Problems, err
}

// pathsOf are the folders of the counting attempts, by trial.
func pathsOf(rep report.Report, places map[string]string) map[string]string {
	out := map[string]string{}
	for _, t := range rep.Trials {
		if t.Attempt > 0 && places[t.ID] != "" {
			out[t.ID] = fmt.Sprintf("%s/attempts/%d", places[t.ID], t.Attempt)
		}
	}
	return out
}

func scoreOf(rep report.Report, paths map[string]string) publish.Score {
	s := publish.Score{Title: rep.Title, Suite: rep.Suite, Complete: rep.Complete, Summary: rep.Summary,
		Totals: rowOf(rep.Totals), Notes: rep.Notes, Problems: rep.Problems}
	for _, r := range rep.Headline {
		s.Rows = append(s.Rows, rowOf(r))
	}
	for _, r := range rep.ByTask {
		s.Tasks = append(s.Tasks, rowOf(r))
	}
	for _, m := range rep.Misses {
		s.Misses = append(s.Misses, publish.Miss{Name: nameOf(m.Key), Ending: ending(m), Missed: missedBy(m),
			Path: paths[m.ID], Ours: !m.Outcome.InRate()})
	}
	for _, a := range rep.NotRun {
		s.NotRun = append(s.NotRun, publish.Absent{What: nameOf(a.Key), Why: a.Reason})
	}
	return s
}

func ending(m report.Miss) string {
	if kind := cmp.Or(string(m.Limit), string(m.Infra)); kind != "" {
		return string(m.Outcome) + " (" + kind + ")"
	}
	return string(m.Outcome)
}

func nameOf(k report.Key) string {
	var parts []string
	for _, p := range []string{k.Task, k.Agent, k.Model, k.Effort, k.Variant} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return cmp.Or(strings.Join(parts, " / "), "all")
}

func rowOf(r report.Row) publish.Row {
	var missing []string
	for _, m := range []struct {
		what assay.Outcome
		word string
	}{{assay.InfraFail, "infra"}, {assay.Cancelled, "cancelled"}, {assay.NotRun, "not run"}} {
		if n := r.Outcomes[m.what]; n > 0 {
			missing = append(missing, fmt.Sprintf("%d %s", n, m.word))
		}
	}
	return publish.Row{Name: nameOf(r.Key), Trials: r.Trials, Resolved: r.Resolved, N: r.N, Rate: r.Rate, Worst: r.Worst, Best: r.Best,
		Turns: r.Turns, Cost: r.Cost.String(), USD: r.Cost.USD, Priced: r.Cost.Unknown == 0, Missing: strings.Join(missing, ", ")}
}

func versus(c compare.Comparison, paths map[string]string) *publish.Versus {
	v := &publish.Versus{Base: filepath.Base(c.A), Verdict: c.Verdict, Reason: c.Reason, Headline: c.Headline(), Diff: c.Diff,
		Same: c.Same, Notes: c.Notes, Worse: changesOf(c.Worse, paths), Better: changesOf(c.Better, nil)}
	// A runner's folders mean nothing to readers.
	short := strings.NewReplacer(c.A, filepath.Base(c.A), c.B, filepath.Base(c.B))
	for _, a := range c.LeftOut {
		v.LeftOut = append(v.LeftOut, publish.Absent{What: a.What, Why: short.Replace(a.Why)})
	}
	for _, f := range []struct {
		format string
		fig    compare.Figure
	}{{"turns %.1f, was %.1f (mean per task; %d up, %d down, p %.3f)", c.Turns},
		{"cost $%.4f, was $%.4f (mean per task; %d up, %d down, p %.3f)", c.Cost},
		{"%.0f seconds, was %.0f (mean per task; %d up, %d down, p %.3f)", c.Seconds}} {
		if f.fig.Tasks > 0 {
			v.Figures = append(v.Figures, fmt.Sprintf(f.format, f.fig.B, f.fig.A, f.fig.Up, f.fig.Down, f.fig.P))
		}
	}
	return v
}

func changesOf(all []compare.Change, paths map[string]string) []publish.Change {
	out := make([]publish.Change, len(all))
	for i, ch := range all {
		out[i] = publish.Change{Task: ch.Task, Missed: ch.Missed,
			From: fmt.Sprintf("%d/%d", ch.A.Passed, ch.A.N), To: fmt.Sprintf("%d/%d", ch.B.Passed, ch.B.N)}
		for _, id := range ch.Trials {
			if p := paths[id]; p != "" {
				out[i].Paths = append(out[i].Paths, p)
			}
		}
	}
	return out
}
