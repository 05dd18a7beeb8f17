package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/plain"
)

// Target is the repository that is posted to. Its errors are *Denied where
// the token may not do a thing, and ErrUncertain where nobody knows whether a
// write took effect.
type Target interface {
	// Pull reads a pull request.
	Pull(ctx context.Context, number int) (Pull, error)
	// PullOf finds the pull request of a head, 0 for none.
	PullOf(ctx context.Context, h Head) (int, error)
	// Checks are the check runs of a commit with a name.
	Checks(ctx context.Context, sha, name string) ([]CheckRun, error)
	// CreateCheck and UpdateCheck write a check run with all its annotations,
	// which are added to those it has.
	CreateCheck(ctx context.Context, k CheckRun) (CheckRun, error)
	UpdateCheck(ctx context.Context, k CheckRun) (CheckRun, error)
	// Comments are all comments of a pull request, all pages.
	Comments(ctx context.Context, number int) ([]Comment, error)
	CreateComment(ctx context.Context, number int, body string) (Comment, error)
	UpdateComment(ctx context.Context, id int64, body string) error
	// Minimise hides a comment as outdated.
	Minimise(ctx context.Context, c Comment) error
}

// Pull is what posting needs of a pull request.
type Pull struct {
	Head string // commit
	Open bool
	Fork bool
}

// Head is where a pull request comes from: a repository's full name, which is
// a fork's for one from outside, its branch and its commit.
type Head struct{ Repo, Branch, SHA string }

// Comment is one comment. Node is the name that Minimise takes. Mine is true
// when the token's own account wrote it.
type Comment struct {
	ID   int64
	Node string
	Body string
	URL  string
	Mine bool
}

// ErrUncertain is a write that got no clear reply: it may have taken effect.
var ErrUncertain = errors.New("it is unknown whether the write took effect")

// Denied is a token that may not do something.
type Denied struct{ Err error }

func (d *Denied) Error() string { return d.Err.Error() }

func (d *Denied) Unwrap() error { return d.Err }

// Wants says what to post. Closed allows a comment on a pull request that is
// closed already. State of the comment is Final unless it is a placeholder.
type Wants struct {
	Check, Comment, Closed bool
	State                  string
}

// Posted says what came of it. Notes are reasons why something wasn't posted.
type Posted struct {
	CheckURL, CommentURL string
	Notes                []string
	// Refused is true when the token may not write: the summary, the log's
	// annotations and the outputs must do.
	Refused bool
}

func (p *Posted) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// Post writes the check run and the comment of docs. What is there already is
// edited. A token that may not write is no error: Posted says so. Both are
// tried whatever comes of the other.
func Post(ctx context.Context, t Target, d Docs, w Wants) (Posted, error) {
	var p Posted
	var errs []error
	if w.Check {
		errs = append(errs, p.settle("the check run", p.check(ctx, t, d)))
	}
	if w.Comment {
		errs = append(errs, p.settle("the comment", p.comment(ctx, t, d, w)))
	}
	return p, errors.Join(errs...)
}

// settle turns a refusal into a note.
func (p *Posted) settle(what string, err error) error {
	var d *Denied
	if !errors.As(err, &d) {
		return err
	}
	p.Refused = true
	p.note("%s was not written: %v", what, d)
	return nil
}

// check finds the score's check run on its commit and edits it, or makes one.
func (p *Posted) check(ctx context.Context, t Target, d Docs) error {
	k := d.Check
	if k.SHA == "" {
		p.note("no check run: the commit is not known")
		return nil
	}
	there, err := t.Checks(ctx, k.SHA, k.Name)
	if err != nil {
		return err
	}
	if old, ok := sameCheck(there, k); ok {
		k.ID = old.ID
		k.Annotations = k.Annotations[min(old.Annotated, len(k.Annotations)):]
		k, err = t.UpdateCheck(ctx, k)
	} else {
		k, err = t.CreateCheck(ctx, k)
	}
	p.CheckURL = k.URL
	return err
}

// sameCheck is the newest check run of the same score that k can take the
// place of: with the same annotations, or with none yet. GitHub shows the
// newest of a name, so that one with other annotations needs a new run.
func sameCheck(there []CheckRun, k CheckRun) (CheckRun, bool) {
	mine := slices.DeleteFunc(slices.Clone(there), func(o CheckRun) bool { return !sameKey(o.ExternalID, k.ExternalID) })
	if len(mine) == 0 {
		return CheckRun{}, false
	}
	newest := slices.MaxFunc(mine, func(a, b CheckRun) int { return cmp.Compare(a.ID, b.ID) })
	return newest, newest.ExternalID == k.ExternalID || newest.Annotated == 0
}

func sameKey(a, b string) bool {
	cutLast := func(s string) string { return s[:max(strings.LastIndex(s, ":"), 0)] }
	return strings.HasPrefix(a, idPrefix) && cutLast(a) == cutLast(b)
}

// comment edits the newest comment with this score's mark, or makes one, and
// hides the others.
func (p *Posted) comment(ctx context.Context, t Target, d Docs, w Wants) error {
	c := d.Context
	if c.Number == 0 && c.Head != (Head{}) {
		var err error
		if c.Number, err = t.PullOf(ctx, c.Head); err != nil {
			return err
		}
	}
	if c.Number == 0 {
		p.note("no comment: there is no pull request")
		return nil
	}
	pull, err := t.Pull(ctx, c.Number)
	if err != nil {
		return err
	}
	if !pull.Open && !w.Closed {
		p.note("no comment: pull request #%d is closed (--comment writes one nevertheless)", c.Number)
		return nil
	}
	s := sticky{t: t, number: c.Number, mark: c.mark(cmp.Or(w.State, Final)), head: strings.ToLower(pull.Head)}
	s.body = marked(d.Comment+s.moved(), s.mark)
	return p.put(ctx, s)
}

// sticky is one comment that is to stand alone among those with its mark.
type sticky struct {
	t      Target
	number int
	mark   Mark
	head   string
	body   string
}

// moved says that the pull request has got newer commits than the one scored.
func (s sticky) moved() string {
	if s.head == "" || s.mark.SHA == "" || s.head == s.mark.SHA {
		return ""
	}
	return "\n⚠️ The pull request has moved on to " + plain.Code(s.head, 8) + "; this is not its score.\n"
}

// attempts bounds how often a comment is written whose fate is unknown.
const attempts = 3

func (p *Posted) put(ctx context.Context, s sticky) error {
	for tries := 0; tries < attempts; tries++ {
		newest, older, err := s.find(ctx)
		if err != nil {
			return err
		}
		if newest != nil {
			return p.replace(ctx, s, *newest, older)
		}
		made, err := s.t.CreateComment(ctx, s.number, s.body)
		switch {
		case errors.Is(err, ErrUncertain):
			continue // it is looked for before it is written again
		case err != nil:
			return err
		}
		p.CommentURL = made.URL
		return p.alone(ctx, s, made)
	}
	return fmt.Errorf("commenting on #%d: %w, %d times", s.number, ErrUncertain, attempts)
}

// find lists our own comments with the mark: the one that stays, the newest,
// and the others.
func (s sticky) find(ctx context.Context) (newest *Comment, older []Comment, err error) {
	all, err := s.t.Comments(ctx, s.number)
	if err != nil {
		return nil, nil, err
	}
	var ours []Comment
	for _, c := range all {
		m, ok := ParseMark(c.Body)
		if ok && c.Mine && m.Kind == s.mark.Kind && m.Key == s.mark.Key && m.State != Old {
			ours = append(ours, c)
		}
	}
	if len(ours) == 0 {
		return nil, nil, nil
	}
	slices.SortFunc(ours, before)
	return &ours[0], ours[1:], nil
}

// before orders comments with the same mark so that all jobs agree which one
// stays: a score before a placeholder, then the newest.
func before(a, b Comment) int {
	running := func(c Comment) int {
		if m, _ := ParseMark(c.Body); m.State == Running {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(running(a), running(b)), cmp.Compare(b.ID, a.ID))
}

// replace edits the newest comment, unless what it says is newer.
func (p *Posted) replace(ctx context.Context, s sticky, newest Comment, older []Comment) error {
	p.CommentURL = newest.URL
	there, _ := ParseMark(newest.Body)
	switch {
	case s.head != "" && there.SHA == s.head && s.mark.SHA != s.head:
		p.note("the comment stands: it is about %s, which is newer than %s", there.SHA, s.mark.SHA)
	case s.mark.State == Running && there.State == Final && there.SHA == s.mark.SHA:
		p.note("the comment stands: it holds the score already")
	case newest.Body != s.body:
		if err := s.update(ctx, newest.ID, s.body); err != nil {
			return err
		}
	}
	return s.hide(ctx, older)
}

// alone sees to it that a comment that was just made has no rival: another
// job may have made one meanwhile. All agree that the newest one stays.
func (p *Posted) alone(ctx context.Context, s sticky, made Comment) error {
	newest, older, err := s.find(ctx)
	if err != nil || newest == nil || newest.ID == made.ID {
		return errors.Join(err, s.hide(ctx, older))
	}
	return p.replace(ctx, s, *newest, older)
}

// hide minimises comments and takes their mark's meaning, so that they are
// hidden once only: a person may open them again.
func (s sticky) hide(ctx context.Context, older []Comment) error {
	for _, c := range older {
		if err := s.t.Minimise(ctx, c); err != nil {
			return fmt.Errorf("hiding an older comment: %w", err)
		}
		m, _ := ParseMark(c.Body)
		if err := s.update(ctx, c.ID, remark(c.Body, m, Old)); err != nil {
			return err
		}
	}
	return nil
}

// update may be repeated at will: the same text comes of it.
func (s sticky) update(ctx context.Context, id int64, body string) error {
	var err error
	for tries := 0; tries < attempts; tries++ {
		if err = s.t.UpdateComment(ctx, id, body); !errors.Is(err, ErrUncertain) {
			return err
		}
	}
	return err
}
