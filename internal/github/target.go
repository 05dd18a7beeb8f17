package github

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assaybot/assay/internal/publish"
)

var _ publish.Target = (*Target)(nil)

// Target is where a score is published: one repository, through a client. The
// token's own account is asked for once, when comments are first read.
type Target struct {
	c      *Client
	author string
}

// NewTarget publishes through c.
func NewTarget(c *Client) *Target { return &Target{c: c} }

// told puts an error into publish's words.
func told(err error) error {
	var denied *PermissionError
	var uncertain *UncertainError
	switch {
	case errors.As(err, &denied):
		return &publish.Denied{Err: err}
	case errors.As(err, &uncertain):
		return fmt.Errorf("%w: %w", publish.ErrUncertain, err)
	}
	return err
}

// Pull reads a pull request.
func (t *Target) Pull(ctx context.Context, number int) (publish.Pull, error) {
	p, err := t.c.Pull(ctx, number)
	return publish.Pull{Head: p.Head, Open: p.Open, Fork: p.Fork}, told(err)
}

// PullOf finds the pull request of a head, 0 for none.
func (t *Target) PullOf(ctx context.Context, h publish.Head) (int, error) {
	p, err := t.c.PullOf(ctx, Head(h))
	return p.Number, told(err)
}

// Checks are the check runs of a commit with a name.
func (t *Target) Checks(ctx context.Context, sha, name string) ([]publish.CheckRun, error) {
	all, err := t.c.Checks(ctx, sha, name)
	out := make([]publish.CheckRun, len(all))
	for i, k := range all {
		out[i] = runOf(k)
	}
	return out, told(err)
}

func runOf(k Check) publish.CheckRun {
	return publish.CheckRun{ID: k.ID, Name: k.Name, SHA: k.SHA, ExternalID: k.ExternalID, Conclusion: k.Conclusion, Title: k.Title,
		Summary: k.Summary, Text: k.Text, DetailsURL: k.DetailsURL, URL: k.URL, Annotated: k.Annotated}
}

func checkFrom(k publish.CheckRun) Check {
	out := Check{ID: k.ID, Name: k.Name, SHA: k.SHA, ExternalID: k.ExternalID, Status: "completed", Conclusion: k.Conclusion,
		Title: k.Title, Summary: k.Summary, Text: k.Text, DetailsURL: k.DetailsURL}
	for _, a := range k.Annotations {
		out.Annotations = append(out.Annotations, Annotation{Path: a.Path, StartLine: a.Line, EndLine: a.Line,
			Level: a.Level, Title: a.Title, Message: a.Message})
	}
	return out
}

// CreateCheck makes a completed check run.
func (t *Target) CreateCheck(ctx context.Context, k publish.CheckRun) (publish.CheckRun, error) {
	made, err := t.c.CreateCheck(ctx, checkFrom(k))
	return runOf(made), told(err)
}

// UpdateCheck changes a check run and completes it.
func (t *Target) UpdateCheck(ctx context.Context, k publish.CheckRun) (publish.CheckRun, error) {
	done, err := t.c.UpdateCheck(ctx, checkFrom(k))
	return runOf(done), told(err)
}

// Comments are all comments of a pull request.
func (t *Target) Comments(ctx context.Context, number int) ([]publish.Comment, error) {
	if err := t.whoami(ctx); err != nil {
		return nil, told(err)
	}
	all, err := t.c.Comments(ctx, number)
	out := make([]publish.Comment, len(all))
	for i, c := range all {
		out[i] = t.commentOf(c)
	}
	return out, told(err)
}

func (t *Target) commentOf(c Comment) publish.Comment {
	return publish.Comment{ID: c.ID, Node: c.Node, Body: c.Body, URL: c.URL, Mine: t.mine(c.Author)}
}

// mine tells whether a login, as REST writes it, is the token's own account.
// GraphQL may leave out the "[bot]" that an App's login ends with.
func (t *Target) mine(login string) bool {
	return t.author != "" && (strings.EqualFold(login, t.author) || strings.EqualFold(login, t.author+"[bot]"))
}

const viewerQuery = `query Viewer { viewer { login } }`

func (t *Target) whoami(ctx context.Context) error {
	if t.author != "" {
		return nil
	}
	var out struct{ Viewer *struct{ Login string } }
	if _, err := (graph{t.c.t}).do(ctx, operation{text: viewerQuery}, &out); err != nil {
		return fmt.Errorf("asking GitHub whose token this is: %w", err)
	}
	if out.Viewer == nil || out.Viewer.Login == "" {
		return errors.New("GitHub didn't say whose token this is")
	}
	t.author = out.Viewer.Login
	return nil
}

// CreateComment writes a comment.
func (t *Target) CreateComment(ctx context.Context, number int, body string) (publish.Comment, error) {
	c, err := t.c.CreateComment(ctx, number, body)
	return t.commentOf(c), told(err)
}

// UpdateComment replaces a comment's text.
func (t *Target) UpdateComment(ctx context.Context, id int64, body string) error {
	_, err := t.c.UpdateComment(ctx, id, body)
	return told(err)
}

// Minimise hides a comment as outdated.
func (t *Target) Minimise(ctx context.Context, c publish.Comment) error {
	return told(t.c.Minimize(ctx, c.Node))
}
