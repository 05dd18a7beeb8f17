package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/mine"
)

// Why a Desk refuses. Its errors wrap one of these.
var (
	// ErrUnknown: there is no candidate of that ID.
	ErrUnknown = errors.New("no such candidate")
	// ErrConflict: what was decided on isn't what the reviewer saw.
	ErrConflict = errors.New("changed in the meantime")
	// ErrNothing: the reviewer has no decision that could be taken back.
	ErrNothing = errors.New("nothing to undo")
)

// DiffSource gives the change that a candidate was mined from, as a git
// patch. A Desk without one shows no diffs.
type DiffSource interface {
	Diff(ctx context.Context, c assay.Candidate) ([]byte, error)
}

// DeskOptions say where the candidates are and who decides. Store is the
// candidates file or its folder.
type DeskOptions struct {
	Store string
	Who   string
	Now   func() time.Time
	Diff  DiffSource
	// Tasks is the folder of the tasks that were built from the candidates,
	// "" for none: what validation says of them is shown too.
	Tasks string
}

// ReviewReason is a typed reason of a rejection, with its words for a person.
type ReviewReason struct{ Name, Text string }

// Desk is one reviewer's view of a store of candidates. It reads the files
// again whenever they changed on disk, so several desks can share a store. A
// Desk may be used from several goroutines.
type Desk struct {
	store candidates.Store
	opts  DeskOptions

	mu      sync.Mutex
	all     []assay.Candidate
	index   map[string]int
	log     []assay.Review
	stamps  [2]stamp // of the candidates file and of the log
	warning string
}

// stamp tells whether a file changed.
type stamp struct {
	when time.Time
	size int64
}

// NewDesk opens a store of candidates for a reviewer. A missing file and
// faulty lines are the user's mistakes.
func NewDesk(o DeskOptions) (*Desk, error) {
	if o.Who == "" {
		return nil, assay.Userf("a review records who decided: name the reviewer with --who")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Desk{store: candidates.At(o.Store), opts: o}
	err := d.refresh()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, assay.Userf("there are no candidates at %s; 'assay mine' makes them", d.store.Path())
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Who is the reviewer whose decisions this desk records.
func (d *Desk) Who() string { return d.opts.Who }

// Path is the file of candidates.
func (d *Desk) Path() string { return d.store.Path() }

// Reasons lists the reasons that a rejection can have, in the order in which
// a page shows them.
func (d *Desk) Reasons() []ReviewReason {
	return []ReviewReason{
		{"not_a_bug", "Not a bug or a wish"},
		{"unclear_statement", "Statement is unclear"},
		{"tests_too_narrow", "Tests demand one solution"},
		{"tests_miss_it", "Tests miss the problem"},
		{"solution_leaked", "Statement tells the solution"},
		{"needs_outside", "Needs outside knowledge"},
		{"too_easy", "Too easy"},
		{"too_large", "Too large"},
		{"duplicate", "Duplicate"},
		{"other", "Other"},
	}
}

// refresh reads what changed on disk. A file that can't be read leaves what
// was read before in place.
func (d *Desk) refresh() error {
	if now := stampOf(d.store.Path()); d.index == nil || now != d.stamps[0] {
		all, err := d.store.Load()
		if err != nil {
			return err
		}
		d.all, d.stamps[0] = all, now
		d.index = make(map[string]int, len(all))
		for i, c := range all {
			d.index[c.ID] = i
		}
	}
	if now := stampOf(d.store.ReviewPath()); now != d.stamps[1] {
		log, err := d.store.Reviews()
		if err != nil {
			return err
		}
		d.log, d.stamps[1] = log, now
	}
	return nil
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// look is refresh for readers: a fault becomes a warning beside what is known.
func (d *Desk) look() {
	d.warning = ""
	if err := d.refresh(); err != nil {
		d.warning = fmt.Sprintf("shown as it was before: %v", err)
	}
}

func (d *Desk) find(id string) (assay.Candidate, error) {
	i, ok := d.index[id]
	if !ok {
		return assay.Candidate{}, fmt.Errorf("candidate %q: %w", id, ErrUnknown)
	}
	return d.proven(d.all[i]), nil
}

// proven is a candidate with what its task's file says of its proof by now. One
// without a task, or whose file can't be read, stays as it is.
func (d *Desk) proven(c assay.Candidate) assay.Candidate {
	name := cmp.Or(c.Task, c.ID)
	if d.opts.Tasks == "" || !filepath.IsLocal(name) {
		return c
	}
	data, err := os.ReadFile(filepath.Join(d.opts.Tasks, name, "task.json"))
	if err != nil {
		return c
	}
	t := assay.Task{}
	if json.Unmarshal(data, &t) != nil {
		return c
	}
	t.ID = name
	return mine.WithTasks([]assay.Candidate{c}, []assay.Task{t})[0]
}

// Get is one candidate with the decision that stands.
func (d *Desk) Get(id string) (Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.look()
	c, err := d.find(id)
	if err != nil {
		return Entry{}, err
	}
	return entry(c, candidates.Decisions(d.log)), nil
}

// Diff is the patch of a candidate's change; nil without an error where there
// is no source of diffs.
func (d *Desk) Diff(ctx context.Context, c assay.Candidate) ([]byte, error) {
	if d.opts.Diff == nil {
		return nil, nil
	}
	return d.opts.Diff.Diff(ctx, c)
}

// Verdict is what a reviewer says of a candidate. Digest is that of the
// candidate which the reviewer saw.
type Verdict struct {
	Candidate string
	Decision  assay.Decision
	Reason    string
	Note      string
	Digest    string
}

// Decide records a verdict. It is on disk before Decide returns. The same
// verdict told twice, as by a browser that lost the answer, is recorded once.
func (d *Desk) Decide(v Verdict) error {
	if err := d.check(&v); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(); err != nil {
		return fmt.Errorf("recording the decision on %s: %w", v.Candidate, err)
	}
	c, err := d.find(v.Candidate)
	if err != nil {
		return err
	}
	if c.Digest != v.Digest {
		return fmt.Errorf("candidate %s was mined again since it was shown; look at it once more: %w", c.ID, ErrConflict)
	}
	r := assay.Review{Candidate: v.Candidate, Decision: v.Decision, Reason: v.Reason, Note: v.Note,
		Who: d.opts.Who, When: d.opts.Now().UTC(), Digest: v.Digest}
	if stands, ok := candidates.Decisions(d.log)[v.Candidate]; ok && same(stands, r) {
		return nil
	}
	return d.append(r)
}

// noteLimit bounds a note, in bytes.
const noteLimit = 8 << 10

func (d *Desk) check(v *Verdict) error {
	switch v.Decision {
	case assay.Accept, assay.Skip:
		v.Reason = ""
	case assay.Reject:
		known := func(r ReviewReason) bool { return r.Name == v.Reason }
		if !slices.ContainsFunc(d.Reasons(), known) {
			return assay.Userf("a rejection needs one of the known reasons, not %q", v.Reason)
		}
	default:
		return assay.Userf("a decision is accept, reject or skip, not %q", v.Decision)
	}
	if len(v.Note) > noteLimit {
		return assay.Userf("the note has %d bytes; %d are the most", len(v.Note), noteLimit)
	}
	return nil
}

func same(a, b assay.Review) bool {
	a.When, b.When = time.Time{}, time.Time{}
	return a == b
}

// append writes one line. The log is read again at the next look, so that
// what is shown is what is on disk.
func (d *Desk) append(r assay.Review) error {
	if err := d.store.Append(r); err != nil {
		return fmt.Errorf("recording the decision on %s: %w", r.Candidate, err)
	}
	d.log = append(d.log, r)
	d.stamps[1] = stamp{}
	return nil
}

// Undo takes back the last decision of this reviewer that stands, and tells
// which it was.
func (d *Desk) Undo() (assay.Review, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(); err != nil {
		return assay.Review{}, fmt.Errorf("taking a decision back: %w", err)
	}
	last, ok := lastOf(d.log, d.opts.Who)
	if !ok {
		return assay.Review{}, fmt.Errorf("%s has decided nothing that stands: %w", d.opts.Who, ErrNothing)
	}
	if stands := candidates.Decisions(d.log)[last.Candidate]; stands != last {
		return assay.Review{}, fmt.Errorf("%s decided on %s after you; decide it again instead: %w", stands.Who, last.Candidate, ErrConflict)
	}
	undo := assay.Review{Candidate: last.Candidate, Decision: assay.Undo, Who: d.opts.Who, When: d.opts.Now().UTC(), Digest: last.Digest}
	return last, d.append(undo)
}

// lastOf is the last decision of a reviewer that wasn't taken back, in the
// order of the log.
func lastOf(log []assay.Review, who string) (assay.Review, bool) {
	stacks := map[string][]int{}
	for i, r := range log {
		stack := stacks[r.Candidate]
		switch {
		case r.Decision != assay.Undo:
			stacks[r.Candidate] = append(stack, i)
		case len(stack) > 0:
			stacks[r.Candidate] = stack[:len(stack)-1]
		}
	}
	last := -1
	for _, stack := range stacks {
		for _, i := range stack {
			if log[i].Who == who && i > last {
				last = i
			}
		}
	}
	if last < 0 {
		return assay.Review{}, false
	}
	return log[last], true
}

// ReviewRequest asks for a desk over the candidates at Path.
type ReviewRequest struct{ Path, Who, Tasks string }

// Review opens the candidates at a path for one reviewer. Diffs come from the
// repositories that the candidates name.
func (f *Flow) Review(_ context.Context, r ReviewRequest) (*Desk, error) {
	o := DeskOptions{Store: r.Path, Who: r.Who, Now: f.Now, Tasks: r.Tasks}
	if f.Repos != nil {
		o.Diff = &repoDiffs{open: f.Repos, repos: map[string]Repository{}}
	}
	return NewDesk(o)
}

// repoDiffs is DiffSource over Repositories; each is opened once.
type repoDiffs struct {
	open  Repositories
	mu    sync.Mutex
	repos map[string]Repository
}

func (s *repoDiffs) Diff(ctx context.Context, c assay.Candidate) ([]byte, error) {
	if c.Source.Commit == "" {
		return nil, nil
	}
	repo, err := s.repo(ctx, c.Repo)
	if err != nil {
		return nil, err
	}
	parent, err := repo.Resolve(ctx, c.Source.Commit+"^1")
	if err != nil {
		return nil, err
	}
	return repo.Diff(ctx, parent, c.Source.Commit, nil)
}

func (s *repoDiffs) repo(ctx context.Context, name string) (Repository, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if repo, ok := s.repos[name]; ok {
		return repo, nil
	}
	repo, err := s.open(ctx, name)
	if err == nil {
		s.repos[name] = repo
	}
	return repo, err
}
