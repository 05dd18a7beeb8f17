package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/history"
	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/publish"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/tree"
)

// TasksBranch is the branch that new tasks are proposed from. It can't lie
// below the history's branch: git keeps a name either as a branch or as a
// folder of branches.
const TasksBranch = "assay-tasks"

// miningFolder holds what mining knows, on the history's branch.
const miningFolder = "mining"

// MinedCandidates is the file of candidates within a mined folder.
const MinedCandidates = "candidates.jsonl"

// ProposeRequest asks to offer the new tasks of a mined folder (tasks/ and
// candidates.jsonl) as one pull request. Tasks is the suite's folder in the
// repository. Without Write nothing is written, only told.
type ProposeRequest struct {
	HistoryPlace
	Dir, Tasks, From, Repo string
	Write                  bool
}

// ProposeSummary says what came of it. Refused are tasks of a pull request
// that was closed.
type ProposeSummary struct {
	New, Pending, Refused []string
	Pull                  publish.Proposal
	Notes                 []string
}

// Propose offers new tasks: it adds them to the branch of the open pull
// request, or begins a branch on the default branch and makes one. Tasks of a
// pull request that was closed are not offered again.
func (f *Flow) Propose(ctx context.Context, r ProposeRequest) (sum ProposeSummary, err error) {
	r.Tasks, r.From = cmp.Or(r.Tasks, "tasks"), cmp.Or(r.From, TasksBranch)
	if clean, err := tree.Clean(r.Tasks); err != nil || clean != r.Tasks {
		return sum, assay.Userf("%q is no folder within a repository", r.Tasks)
	}
	desk, err := f.desk(r.Repo)
	if err != nil {
		return sum, err
	}
	p := proposing{flow: f, req: r, desk: desk, sum: &sum}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.look(ctx); err != nil {
		return sum, err
	}
	if err := p.choose(); err != nil || !r.Write {
		return sum, err
	}
	if err := p.push(ctx); err != nil {
		return sum, err
	}
	if err := p.offer(ctx); err != nil {
		return sum, err
	}
	// Last: what mining knows must not be ahead of what was proposed.
	return sum, f.keepMining(ctx, r)
}

// desk is the repository that is answered.
func (f *Flow) desk(repo string) (publish.Desk, error) {
	repo = cmp.Or(repo, f.GitHub.Repo)
	switch {
	case f.GitHub.Desk == nil:
		return nil, assay.Userf("there is no GITHUB_TOKEN")
	case repo == "":
		return nil, assay.Userf("no repository is named (--repo owner/name)")
	}
	return f.GitHub.Desk(repo)
}

// proposing is one run. base and pending are the files of the default branch
// and of the tasks' branch below the suite's folder.
type proposing struct {
	flow       *Flow
	req        ProposeRequest
	desk       publish.Desk
	sum        *ProposeSummary
	open       []Branch
	standing   publish.Standing
	branch     string // the default one
	on         Branch // that the commit is made on
	tip        string
	begun      bool // the tasks' branch is there, and is gone on with
	base, have map[string][]byte
	put        tree.Tree
}

func (p *proposing) close() error {
	var errs []error
	for _, b := range p.open {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

func (p *proposing) at(ctx context.Context, name, folder string) (Branch, error) {
	place := p.req.HistoryPlace
	place.Branch = name
	b, err := p.flow.openBranch(ctx, place, folder)
	if err == nil {
		p.open = append(p.open, b)
	}
	return b, err
}

// look reads what is there: the default branch, the proposals so far, and the
// branch that they came from.
func (p *proposing) look(ctx context.Context) (err error) {
	if p.branch, err = p.desk.DefaultBranch(ctx); err != nil {
		return err
	}
	if p.branch == p.req.From {
		return assay.Userf("tasks can't be proposed from %s: it is the default branch", p.branch)
	}
	all, err := p.desk.Proposals(ctx, p.req.From)
	if err != nil {
		return err
	}
	p.standing = publish.Stand(all)
	main, err := p.at(ctx, p.branch, p.req.Tasks)
	if err != nil {
		return err
	}
	if p.tip, p.base, err = main.Read(ctx); err != nil {
		return err
	}
	if p.tip == "" {
		return assay.Userf("the default branch %s has no commit", p.branch)
	}
	p.on, p.have = main, p.base
	last, err := main.Tip(ctx, p.req.From)
	if err != nil || last == "" || p.standing.Open == nil && p.standing.Ended[last] {
		return err
	}
	p.begun = true
	if p.on, err = p.at(ctx, p.req.From, p.req.Tasks); err != nil {
		return err
	}
	p.tip, p.have, err = p.on.Read(ctx)
	return err
}

// choose finds the tasks that are new, with their files.
func (p *proposing) choose() error {
	dir := filepath.Join(p.req.Dir, "tasks")
	if !isDir(dir) {
		return assay.Userf("%s holds no mined tasks (it has no folder tasks)", p.req.Dir)
	}
	entries := map[string]suite.Entry{}
	for id, e := range p.flow.standing(dir) {
		if v := e.Task.Validation; e.Task.Source != nil && v != nil && v.Status == string(assay.StatusValid) {
			entries[id] = e
		}
	}
	there := tasksIn(p.have, p.req.Tasks)
	maps.Copy(there, tasksIn(p.base, p.req.Tasks))
	offered := slices.Sorted(maps.Keys(entries))
	p.sum.New = publish.NewTasks(offered, there, p.standing)
	for id := range tasksIn(p.have, p.req.Tasks) {
		if !tasksIn(p.base, p.req.Tasks)[id] {
			p.sum.Pending = append(p.sum.Pending, id)
		}
	}
	slices.Sort(p.sum.Pending)
	for _, id := range offered {
		if p.standing.Refused[id] && !there[id] {
			p.sum.Refused = append(p.sum.Refused, id)
		}
	}
	p.put = tree.Tree{}
	for _, id := range p.sum.New {
		if err := p.take(dir, entries[id]); err != nil {
			return err
		}
	}
	return nil
}

// tasksIn are the folders of a suite that hold a task.
func tasksIn(files map[string][]byte, folder string) map[string]bool {
	out := map[string]bool{}
	for name := range files {
		if rest, ok := strings.CutPrefix(name, folder+"/"); ok && path.Base(rest) == "task.json" && strings.Count(rest, "/") == 1 {
			out[path.Dir(rest)] = true
		}
	}
	return out
}

// proposedBounds are those of one task's folder, or of a shared environment.
func proposedBounds() tree.Bounds { return tree.Bounds{Bytes: 256 << 20, Files: 20000} }

// take adds a task's files, and the environment that it shares.
func (p *proposing) take(dir string, e suite.Entry) error {
	folders := []string{e.Dir}
	if shared := e.Task.Environment.Shared; shared != "" {
		folders = append(folders, path.Join("environment", shared))
	}
	for _, name := range folders {
		t, err := tree.FromDir(filepath.Join(dir, filepath.FromSlash(name)), proposedBounds())
		if err != nil {
			return fmt.Errorf("reading the task %s: %w", e.Task.ID, err)
		}
		for file, entry := range t.In(path.Join(p.req.Tasks, name)) {
			if _, ok := p.have[file]; !ok {
				p.put[file] = entry
			}
		}
	}
	return nil
}

// push puts the new tasks onto their branch. One that is begun is never
// rewound: what people pushed to it stays.
func (p *proposing) push(ctx context.Context) error {
	if len(p.sum.New) == 0 {
		return nil
	}
	c := history.Commit{Tip: p.tip, Put: p.put,
		Message: fmt.Sprintf("Add %s\n\nMade from merged changes and proven both ways by assay:\n%s", countOf(len(p.sum.New), "task", "tasks"), strings.Join(p.sum.New, "\n"))}
	if !p.begun {
		c.To = p.req.From
	}
	moved, err := p.on.Write(ctx, c)
	if err == nil && moved {
		err = assay.Infra(assay.InfraNetwork, "pushing "+p.req.From, errors.New("somebody else pushed to it meanwhile; run it again"))
	}
	return err
}

// offer makes or updates the pull request.
func (p *proposing) offer(ctx context.Context) error {
	tasks := p.offered()
	if len(tasks) == 0 {
		return nil
	}
	title, body := publish.ProposalOf(tasks)
	pull, note, err := publish.Offer(ctx, p.desk, publish.Proposal{Title: title, Body: body, Head: p.req.From, Base: p.branch}, p.standing)
	var denied *publish.Denied
	switch {
	case errors.As(err, &denied):
		p.note("the branch %s holds the tasks, and no pull request could be made of it: %v\nMake it by hand, or let workflows do so (Settings, Actions, General, Workflow permissions).", p.req.From, denied)
		return nil
	case err != nil:
		return err
	case note != "":
		p.note("%s", note)
	}
	p.sum.Pull = pull
	return nil
}

func (p *proposing) note(format string, args ...any) {
	p.sum.Notes = append(p.sum.Notes, fmt.Sprintf(format, args...))
}

// offered are all tasks of the branch that the default branch lacks.
func (p *proposing) offered() []publish.Offered {
	var out []publish.Offered
	for _, id := range slices.Sorted(slices.Values(slices.Concat(p.sum.Pending, p.sum.New))) {
		file := path.Join(p.req.Tasks, id, "task.json")
		data, ok := p.have[file]
		if !ok {
			data = p.put[file].Data
		}
		o := publish.Offered{ID: id, Proof: "?"}
		var t assay.Task
		if json.Unmarshal(data, &t) == nil { // a person may have edited it
			o.Title, o.Proof = t.Title, proofOf(t)
			if t.Source != nil {
				o.Source = t.Source.URL
			}
		}
		out = append(out, o)
	}
	return out
}

func proofOf(t assay.Task) string {
	if t.Validation == nil {
		return "not proven"
	}
	out := "fails before, passes after"
	if s := t.Strength; s != nil && s.Hunks > 0 {
		out += fmt.Sprintf("; tests notice %d of %d hunks", s.Noticed, s.Hunks)
	}
	return out
}

// miningFiles are the files of candidates that a mined folder may have.
func miningFiles(dir string) []string {
	store := candidates.At(filepath.Join(dir, MinedCandidates))
	return []string{store.Path(), store.MarkPath(), store.ReviewPath()}
}

// noteValidation writes what validation said of the tasks into the mined
// folder's candidates: only those of new tasks are kept.
func (f *Flow) noteValidation(dir string) error {
	var tasks []assay.Task
	for _, e := range f.standing(filepath.Join(dir, "tasks")) {
		if e.Task.Validation != nil {
			tasks = append(tasks, e.Task)
		}
	}
	store := candidates.At(filepath.Join(dir, MinedCandidates))
	if have, err := store.LoadOrNone(); err != nil || len(have) == 0 || len(tasks) == 0 {
		return err
	}
	slices.SortFunc(tasks, func(a, b assay.Task) int { return strings.Compare(a.ID, b.ID) })
	return store.Update(f.Owner, func(all []assay.Candidate) ([]assay.Candidate, error) {
		return mine.WithTasks(all, tasks)[:len(all)], nil
	})
}

// maxMining bounds what mining may keep on the branch.
const maxMining = 64 << 20

// keepMining puts what mining knows on the history's branch, so that the next
// night goes on from there.
func (f *Flow) keepMining(ctx context.Context, r ProposeRequest) (err error) {
	if err := f.noteValidation(r.Dir); err != nil {
		return err
	}
	put := tree.Tree{}
	for _, name := range miningFiles(r.Dir) {
		info, err := os.Stat(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil && info.Size() > maxMining {
			err = assay.Userf("%s is too large to be kept on the branch; begin with a later date", name)
		}
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		put[miningFolder+"/"+filepath.Base(name)] = tree.Entry{Mode: tree.File, Data: data}
	}
	b, err := f.openBranch(ctx, r.HistoryPlace, miningFolder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for n := 1; ; n++ {
		tip, files, err := b.Read(ctx)
		if err != nil || sameFiles(files, put) {
			return err
		}
		moved, err := b.Write(ctx, history.Commit{Tip: tip, Message: "What mining knows", Put: put})
		if err != nil || !moved {
			return err
		}
		if n == 10 {
			return assay.Infra(assay.InfraNetwork, "keeping what mining knows", errors.New("others wrote to the branch first, 10 times"))
		}
		if err := pauseLonger(ctx, n); err != nil {
			return err
		}
	}
}

func sameFiles(have map[string][]byte, put tree.Tree) bool {
	for name, e := range put {
		if data, ok := have[name]; !ok || string(data) != string(e.Data) {
			return false
		}
	}
	return true
}

// FetchMining writes what mining knew last into a mined folder, where there is
// nothing yet. It tells what it wrote.
func (f *Flow) FetchMining(ctx context.Context, place HistoryPlace, dir string) (wrote []string, err error) {
	b, err := f.openBranch(ctx, place, miningFolder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	_, files, err := b.Read(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, name := range miningFiles(dir) {
		data, ok := files[miningFolder+"/"+filepath.Base(name)]
		if _, err := os.Stat(name); !ok || err == nil {
			continue
		}
		if err := os.WriteFile(name, data, 0o644); err != nil { //nolint:gosec // no secret
			return wrote, err
		}
		wrote = append(wrote, name)
	}
	return wrote, nil
}

// WriteProposed tells a person what came of it.
func WriteProposed(w io.Writer, s ProposeSummary, wrote bool) error {
	var b strings.Builder
	verb := map[bool]string{true: "", false: "would be "}[wrote]
	switch {
	case len(s.New) > 0:
		fmt.Fprintf(&b, "%s %sproposed: %s\n", countOf(len(s.New), "new task", "new tasks"), verb, strings.Join(s.New, ", "))
	default:
		b.WriteString("No new task.\n")
	}
	if len(s.Pending) > 0 {
		fmt.Fprintf(&b, "Proposed before, and open: %s\n", strings.Join(s.Pending, ", "))
	}
	if len(s.Refused) > 0 {
		fmt.Fprintf(&b, "Not proposed again, since their pull request was closed: %s\n", strings.Join(s.Refused, ", "))
	}
	if s.Pull.Number > 0 {
		fmt.Fprintf(&b, "Pull request #%d %s\n", s.Pull.Number, s.Pull.URL)
	}
	for _, n := range s.Notes {
		b.WriteString(publish.ForLog(n) + "\n")
	}
	if !wrote && len(s.New) > 0 {
		b.WriteString("Nothing was written; --write does it.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
