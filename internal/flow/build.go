package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/build"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/tree"
)

// BuildRequest asks for task folders from candidates.
type BuildRequest struct {
	// Candidates is the file that mine wrote; Tasks the folder of the suite.
	Candidates string
	Tasks      string
	// Repo overrides the repository that the candidates name.
	Repo string
	// IDs picks candidates; empty means all that were not rejected.
	IDs []string
	// Accepted takes only candidates that a reviewer accepted.
	Accepted bool
	// New leaves out those that validation has a final word on, Issue takes
	// only those whose change is for an issue, 0 for all.
	New   bool
	Issue int
	// Most bounds how many are built, 0 for all.
	Most int
	// Dockerfile is used for all tasks in place of a proposal, with Test and
	// Format as the tests' command and report.
	Dockerfile string
	Test       []string
	Format     string
	// All makes the whole test suite the tests that must go on passing,
	// FileSec bounds each file of it (0: a minute).
	All     bool
	FileSec int
}

// defaultFileSec is how long a file of the whole suite may take.
const defaultFileSec = 60

// BuildSummary says what became of the candidates. Kept counts tasks that
// stood there already and would come out the same.
type BuildSummary struct {
	Built    []string
	Rejected map[assay.Reason]int
	Kept     int
	// Removed are rejected now; their folders from an earlier build are gone.
	Removed []string
}

// Build makes a task folder for each candidate that can have one. Those that
// can't are rejected with a typed reason in the candidates file.
func (f *Flow) Build(ctx context.Context, b BuildRequest, note func(string)) (sum BuildSummary, err error) {
	sum.Rejected = map[assay.Reason]int{}
	store := candidates.At(b.Candidates)
	w := builder{flow: f, req: b, have: f.standing(b.Tasks), sum: &sum, note: note}
	err = store.Update(f.Owner, func(all []assay.Candidate) ([]assay.Candidate, error) {
		if len(all) == 0 {
			return all, assay.Userf("there are no candidates in %s; 'assay mine' makes them", store.Path())
		}
		chosen, err := b.choose(store, all)
		if err != nil {
			return all, err
		}
		for _, i := range chosen {
			if ctx.Err() != nil {
				return all, context.Cause(ctx)
			}
			if err := w.one(ctx, &all[i]); err != nil {
				return all, fmt.Errorf("building %s: %w", all[i].ID, err)
			}
		}
		return all, nil
	})
	return sum, err
}

// choose gives the indices of the candidates to build.
func (b BuildRequest) choose(store candidates.Store, all []assay.Candidate) ([]int, error) {
	log, err := store.Reviews()
	if err != nil {
		return nil, err
	}
	decided := candidates.Decisions(log)
	var out []int
	known := map[string]bool{}
	for i, c := range all {
		known[c.ID] = true
		if mine.Parked(c) && slices.Contains(b.IDs, c.ID) {
			return nil, assay.Userf("%s is an open issue: no merged change closes it, so that nothing proves a solution; it can't be built", c.ID)
		}
		if b.wants(c, decided[c.ID].Decision) {
			out = append(out, i)
		}
	}
	var problems assay.Problems
	for _, id := range b.IDs {
		if !known[id] {
			problems.Addf(store.Path(), 0, "there is no candidate %q", id)
		}
	}
	if b.Most > 0 && len(out) > b.Most {
		out = out[:b.Most]
	}
	return out, problems.Err()
}

func (b BuildRequest) wants(c assay.Candidate, d assay.Decision) bool {
	if len(b.IDs) > 0 {
		return slices.Contains(b.IDs, c.ID)
	}
	if b.Issue > 0 && !OfIssue(c, b.Issue) {
		return false
	}
	if b.New && (c.Status == assay.StatusValid || c.Status == assay.StatusQuarantined) {
		return false
	}
	if c.Status == assay.StatusRejected || d == assay.Reject || (b.Accepted && d != assay.Accept) {
		return false
	}
	return c.Source.Commit != ""
}

// builder makes task folders one after another.
type builder struct {
	flow *Flow
	req  BuildRequest
	// have are the tasks that stood in the folder before.
	have map[string]suite.Entry
	sum  *BuildSummary
	note func(string)
}

// standing are the sound tasks of a folder, which need not exist.
func (f *Flow) standing(dir string) map[string]suite.Entry {
	out := map[string]suite.Entry{}
	if !isDir(dir) {
		return out
	}
	s, err := f.openSuite(dir)
	if err != nil {
		return out // a folder without tasks; writing to it tells what else is wrong
	}
	for _, e := range s.Entries {
		if len(e.Problems) == 0 {
			out[e.Task.ID] = e
		}
	}
	return out
}

// one builds a candidate, or rejects it. The error is a failure of ours.
func (w builder) one(ctx context.Context, c *assay.Candidate) error {
	m, reason, detail, err := w.flow.makeTask(ctx, w.req, c)
	if err != nil {
		return err
	}
	if reason != "" {
		c.Status, c.Reason, c.Detail, c.Task = assay.StatusRejected, reason, detail, ""
		w.sum.Rejected[reason]++
		w.note(fmt.Sprintf("%-12s rejected: %s: %s", c.ID, reason, detail))
		return w.withdraw(m.task, reason)
	}
	kept, err := w.put(m)
	if err != nil {
		return err
	}
	c.Status, c.Reason, c.Detail, c.Task = assay.StatusBuilt, "", "", c.ID
	if kept {
		w.sum.Kept++
		w.note(fmt.Sprintf("%-12s as before", c.ID))
		return nil
	}
	w.sum.Built = append(w.sum.Built, c.ID)
	w.note(fmt.Sprintf("%-12s built", c.ID))
	return nil
}

// withdraw removes the folder that an earlier build made of a candidate that
// is rejected now. A folder of anybody else's stays, and so does one of which
// only the commit is out of reach today.
func (w builder) withdraw(t assay.Task, reason assay.Reason) error {
	dir := filepath.Join(w.req.Tasks, t.ID)
	if !isDir(dir) || reason == assay.ReasonUnfetchable {
		return nil
	}
	if !suite.MadeFrom(dir, t) {
		w.note(fmt.Sprintf("%-12s %s stays: it was not made from this candidate", t.ID, dir))
		return nil
	}
	if err := suite.RemoveTask(dir); err != nil {
		return err
	}
	w.sum.Removed = append(w.sum.Removed, t.ID)
	w.note(fmt.Sprintf("%-12s %s is removed: an earlier build made it", t.ID, dir))
	return nil
}

// parts are the trees of a change: what the agent gets, what tests and the
// rest of the change lay over it. inline are the test items of files whose
// rest belongs to the solution.
type parts struct {
	base, gold      tree.Tree
	tests, solution tree.Tree
	inline          tree.Tree
}

func (p parts) laying() laying { return laying{files: p.tests, inline: p.inline} }

func (f *Flow) makeTask(ctx context.Context, b BuildRequest, c *assay.Candidate) (m made, reason assay.Reason, detail string, err error) {
	name := c.Repo
	if b.Repo != "" {
		name = b.Repo
	}
	repo, err := f.Repos(ctx, name)
	if err != nil {
		return m, "", "", err
	}
	m.task = assay.Task{ID: c.ID, Repository: repository(b, c, repo.Dir()), Source: &c.Source}
	p, reason, detail, err := readParts(ctx, repo, c)
	if reason != "" || err != nil {
		return m, reason, detail, err
	}
	c.Doubts = mine.WithGold(c.Doubts, c.Statement, p.added())
	recipe, reason, detail := propose(b, c, p)
	if reason != "" {
		return m, reason, detail, nil
	}
	return compose(b, c, p, recipe, repo.Dir()), "", "", nil
}

// added are the lines that the reference brings into the files that it changes.
func (p parts) added() []string {
	var out []string
	for _, path := range p.solution.Paths() {
		was := map[string]bool{}
		for line := range strings.Lines(string(p.base[path].Data)) {
			was[strings.TrimSpace(line)] = true
		}
		for line := range strings.Lines(string(p.solution[path].Data)) {
			if line = strings.TrimSpace(line); path != run.DeletedList && !was[line] {
				out = append(out, line)
			}
		}
	}
	return out
}

// readParts splits the change as mining did, and proves that base, tests and
// solution together give the merged tree for every file of the change.
func readParts(ctx context.Context, repo Repository, c *assay.Candidate) (p parts, reason assay.Reason, detail string, err error) {
	if p.base, _, err = repo.Tree(ctx, c.Base.Commit); err != nil {
		return p, assay.ReasonUnfetchable, err.Error(), ctx.Err()
	}
	if p.gold, _, err = repo.Tree(ctx, c.Source.Commit); err != nil {
		return p, assay.ReasonUnfetchable, err.Error(), ctx.Err()
	}
	p.tests, p.solution = splitTrees(c.Files, p.gold)
	if why := p.partInline(c.Files); why != "" {
		return p, assay.ReasonInlineTests, why, nil
	}
	if len(p.tests)+len(p.inline) == 0 {
		return p, assay.ReasonNoTests, "the change touches no tests, but for those of files that it adds", nil
	}
	if len(p.solution) == 0 {
		return p, assay.ReasonNoSource, "the change touches nothing but tests", nil
	}
	whole := run.Overlaid(run.Overlaid(p.base, p.tests), p.solution)
	for _, file := range c.Files {
		if file.Class == assay.ClassInline {
			continue // PartRust proves its own parts
		}
		for _, path := range []string{file.Path, file.Old} {
			if g, ok := p.gold[path]; path != "" && (ok != has(whole, path) || ok && !tree.Same(g, whole[path])) {
				return p, assay.ReasonGoldTree, "base, tests and solution don't give the merged " + path, nil
			}
		}
	}
	return p, "", "", nil
}

func has(t tree.Tree, p string) bool { _, ok := t[p]; return ok }

// partInline parts the files that hold source and tests. The tests of a file
// that the change adds are left out: nobody can guess where it goes. why names
// the first file that can't be parted.
func (p *parts) partInline(files []assay.SplitFile) (why string) {
	p.inline = tree.Tree{}
	for _, f := range files {
		if f.Class != assay.ClassInline {
			continue
		}
		was, now := p.base[f.Path], p.gold[f.Path]
		source, tests, why := mine.PartRust(was.Data, now.Data)
		if why != "" || was.Mode == tree.Link || now.Mode == tree.Link {
			return strings.TrimSuffix(f.Path+": "+why, ": ")
		}
		p.solution[f.Path] = tree.Entry{Mode: now.Mode, Data: source}
		if !has(p.base, f.Path) {
			continue
		}
		p.inline[f.Path] = tree.Text(string(tests))
		if tree.Same(was, p.solution[f.Path]) {
			delete(p.solution, f.Path)
		}
	}
	return ""
}

// splitTrees lays out the change: the whole files of its tests and of all the
// rest, with a list of what each deletes.
func splitTrees(files []assay.SplitFile, gold tree.Tree) (tests, rest tree.Tree) {
	tests, rest = tree.Tree{}, tree.Tree{}
	gone := map[bool][]string{}
	for _, f := range files {
		isTest := f.Class == assay.ClassTest
		to := rest
		if isTest {
			to = tests
		}
		if e, ok := gold[f.Path]; ok {
			to[f.Path] = e
		} else {
			gone[isTest] = append(gone[isTest], f.Path)
		}
		if f.Old != "" && !has(gold, f.Old) {
			gone[isTest] = append(gone[isTest], f.Old)
		}
	}
	for isTest, t := range map[bool]tree.Tree{true: tests, false: rest} {
		if len(gone[isTest]) > 0 {
			slices.Sort(gone[isTest])
			t[run.DeletedList] = tree.Text(strings.Join(gone[isTest], "\n") + "\n")
		}
	}
	return tests, rest
}

// propose makes the recipe, from --dockerfile or from the repository.
func propose(b BuildRequest, c *assay.Candidate, p parts) (build.Recipe, assay.Reason, string) {
	after := p.laying().over(p.base)
	var tests []string
	changed := make([]string, 0, len(c.Files))
	for _, f := range c.Files {
		changed = append(changed, f.Path)
		if f.Class == assay.ClassTest && has(after, f.Path) || has(p.inline, f.Path) {
			tests = append(tests, f.Path)
		}
	}
	in := build.Input{Files: after, Tests: tests, Changed: changed, Date: c.Source.Merged, Language: c.Language, All: b.All}
	if b.All {
		in.Suite = suiteFiles(after)
	}
	if b.Dockerfile != "" {
		r, err := build.Given(in, build.Own{Dockerfile: b.Dockerfile, Test: b.Test, Format: b.Format})
		if err != nil {
			return r, assay.ReasonNoEnvironment, err.Error()
		}
		return r, "", ""
	}
	r, err := build.Propose(in)
	if n, ok := build.IsNoRecipe(err); ok {
		return r, assay.ReasonNoEnvironment, n.Why
	}
	if err != nil {
		return r, assay.ReasonNoEnvironment, err.Error()
	}
	return r, "", ""
}

// suiteFiles are the test files of a repository, by the rules by which mining
// splits a change.
func suiteFiles(t tree.Tree) []string {
	return slices.DeleteFunc(t.Paths(), func(p string) bool {
		return t[p].Mode == tree.Link || mine.Classify(p) != assay.ClassTest
	})
}

// made is a task in memory: all that its folder will hold, and the shared
// environment.
type made struct {
	task        assay.Task
	prompt      string
	files       map[string]tree.Tree
	environment tree.Tree
}

func compose(b BuildRequest, c *assay.Candidate, p parts, r build.Recipe, repoDir string) made {
	env := r.Context.Clone()
	env["Dockerfile"] = tree.Text(r.Dockerfile)
	check := assay.Check{Name: "hidden-tests", Kind: assay.CheckTests, Command: r.Test, Report: &r.Report, Shards: r.Shards}
	var scope assay.Scope
	if b.All {
		scope = assay.ScopeAll
	}
	if len(r.Shards) > 0 {
		check.FileSec = cmp.Or(b.FileSec, defaultFileSec)
	}
	return made{
		task: assay.Task{
			Schema: assay.TaskSchema, ID: c.ID, Title: c.Title, Tier: suite.Mined, Kind: assay.KindCorrectness, Language: r.Language,
			PromptFile: "prompt.md", Repository: repository(b, c, repoDir), Source: &c.Source, Base: &c.Base,
			Environment: assay.Environment{Shared: r.Key, Setup: r.Setup, Env: r.Env, Requires: r.Requires},
			Checks:      []assay.Check{check}, Scope: scope,
		},
		prompt: prompt(c), environment: env,
		files: map[string]tree.Tree{"verify": p.laying().hidden(), "solution": p.solution},
	}
}

// put writes a task's folder, unless the one that stands there says the same:
// then it keeps what validation wrote into it.
func (w builder) put(m made) (kept bool, err error) {
	if err := writeShared(filepath.Join(w.req.Tasks, "environment", m.task.Environment.Shared), m.environment); err != nil {
		return false, err
	}
	if e, ok := w.have[m.task.ID]; ok {
		if same, err := m.equals(e); same || err != nil {
			return same, err
		}
	}
	return false, suite.WriteTask(filepath.Join(w.req.Tasks, m.task.ID), m.task, m.prompt, m.files)
}

// equals tells whether a task on disk is m, whatever proves it.
func (m made) equals(e suite.Entry) (bool, error) {
	if e.Prompt != m.prompt {
		return false, nil
	}
	for name, read := range map[string]func() (tree.Tree, error){"verify": e.Verify, "solution": e.Solution} {
		if t, err := read(); err != nil || t.Digest() != m.files[name].Digest() {
			return false, err
		}
	}
	old, err := json.Marshal(unproven(e.Task))
	if err != nil {
		return false, err
	}
	fresh, err := json.Marshal(unproven(m.task))
	return string(old) == string(fresh), err
}

// unproven is a task without what validation writes into it.
func unproven(t assay.Task) assay.Task {
	t.FailToPass, t.PassToPass, t.Strength, t.Validation = nil, nil, nil, nil
	t.Environment.Lock, t.Environment.ImageDigest, t.Environment.Undated = "", "", nil
	t.Limits = assay.Limits{}
	return t
}

func repository(b BuildRequest, c *assay.Candidate, dir string) string {
	if b.Repo != "" {
		return b.Repo
	}
	if isDir(c.Repo) {
		return dir
	}
	return c.Repo
}

// writeShared writes a shared environment once.
func writeShared(dir string, t tree.Tree) error {
	if isDir(dir) {
		return nil
	}
	tmp := dir + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := t.WriteDir(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// prompt is the statement as the agent gets it.
func prompt(c *assay.Candidate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", strings.TrimSpace(c.Statement.Title))
	if body := strings.TrimSpace(c.Statement.Body); body != "" {
		b.WriteString(body + "\n\n")
	}
	b.WriteString("Make the change in this repository. Hidden tests will check the behaviour.\n")
	return b.String()
}

// errNoRepos tells a door that was wired without repositories.
var errNoRepos = errors.New("this program was built without access to repositories")
