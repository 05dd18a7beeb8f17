package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	gh "github.com/google/go-github/v66/github"

	"github.com/assaybot/assay/internal/assay"
)

// The limits of a check run: bytes of its summary and of its text, and
// annotations of one request.
const (
	MaxCheckText   = 65535
	MaxAnnotations = 50
)

// The limits of an annotation: bytes of its message, characters of its title.
const (
	maxMessage = 64 << 10
	maxTitle   = 255
)

// Check is a check run. Status is queued, in_progress or completed; a
// conclusion completes it. ExternalID is the caller's key: it finds a check
// run again whose creation got no reply.
type Check struct {
	ID          int64
	Name, SHA   string
	ExternalID  string
	Status      string
	Conclusion  string
	DetailsURL  string
	URL         string
	Title       string
	Summary     string
	Text        string
	Started     time.Time
	Completed   time.Time
	Annotations []Annotation // to write; never read
	Annotated   int          // how many there are
	App         int64        // the App that made it
}

// Annotation is a note on lines of a file. Level is notice, warning or
// failure; lines are from 1; columns count on one line only.
type Annotation struct {
	Path                   string
	StartLine, EndLine     int
	StartColumn, EndColumn int
	Level, Title, Message  string
	Raw                    string
}

// wire makes lines that the server takes: from 1, the end not before the
// start, columns only on one line, texts cut to their limits.
func (a Annotation) wire() *gh.CheckRunAnnotation {
	start := max(1, a.StartLine)
	end := max(start, a.EndLine)
	out := &gh.CheckRunAnnotation{Path: &a.Path, StartLine: &start, EndLine: &end, AnnotationLevel: &a.Level, Message: gh.String(cut(a.Message, maxMessage))}
	if start == end && a.StartColumn > 0 {
		out.StartColumn, out.EndColumn = &a.StartColumn, gh.Int(max(a.StartColumn, a.EndColumn))
	}
	if runes := []rune(a.Title); len(runes) > 0 {
		out.Title = gh.String(string(runes[:min(len(runes), maxTitle)]))
	}
	if a.Raw != "" {
		out.RawDetails = gh.String(cut(a.Raw, maxMessage))
	}
	return out
}

// cut shortens s to n bytes, between runes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func checkOf(r *gh.CheckRun) Check {
	o := r.GetOutput()
	return Check{ID: r.GetID(), Name: r.GetName(), SHA: r.GetHeadSHA(), ExternalID: r.GetExternalID(), Status: r.GetStatus(), Conclusion: r.GetConclusion(),
		DetailsURL: r.GetDetailsURL(), URL: r.GetHTMLURL(), Title: o.GetTitle(), Summary: o.GetSummary(), Text: o.GetText(),
		Started: r.GetStartedAt().Time, Completed: r.GetCompletedAt().Time, Annotated: o.GetAnnotationsCount(), App: r.GetApp().GetID()}
}

func (k Check) fits() error {
	for name, text := range map[string]string{"summary": k.Summary, "text": k.Text} {
		if len(text) > MaxCheckText {
			return assay.Infra(assay.InfraAPI, "writing a check run", fmt.Errorf("its %s has %d bytes, %d are the most: cut it", name, len(text), MaxCheckText))
		}
	}
	return nil
}

// output is the part that is shown; nil when nothing is to be.
func (k Check) output(some []Annotation) *gh.CheckRunOutput {
	if k.Title == "" && k.Summary == "" && k.Text == "" && len(some) == 0 {
		return nil
	}
	out := &gh.CheckRunOutput{Title: gh.String(first(k.Title, k.Name)), Summary: &k.Summary, Text: optional(k.Text)}
	for _, a := range some {
		out.Annotations = append(out.Annotations, a.wire())
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func moment(t time.Time) *gh.Timestamp {
	if t.IsZero() {
		return nil
	}
	return &gh.Timestamp{Time: t.UTC()}
}

// CreateCheck makes a check run, with all its annotations. When the server
// gives no clear answer it looks for the run by its external id before it
// makes another.
func (c *Client) CreateCheck(ctx context.Context, k Check) (Check, error) {
	if err := k.fits(); err != nil {
		return Check{}, err
	}
	n := min(len(k.Annotations), MaxAnnotations)
	o := gh.CreateCheckRunOptions{Name: k.Name, HeadSHA: k.SHA, DetailsURL: optional(k.DetailsURL), ExternalID: optional(k.ExternalID),
		Status: optional(k.Status), Conclusion: optional(k.Conclusion), StartedAt: moment(k.Started), CompletedAt: moment(k.Completed), Output: k.output(k.Annotations[:n])}
	made, err := c.createCheck(ctx, o)
	if err != nil {
		return Check{}, c.failed("creating check run "+k.Name, err)
	}
	return c.annotate(ctx, made, k, n)
}

func (c *Client) createCheck(ctx context.Context, o gh.CreateCheckRunOptions) (Check, error) {
	for tries := 0; ; tries++ {
		r, _, err := c.gh.Checks.CreateCheckRun(ctx, c.repo.Owner, c.repo.Name, o)
		if err == nil {
			return checkOf(r), nil
		}
		var u *UncertainError
		if !errors.As(err, &u) || o.ExternalID == nil || tries == maxRetries {
			return Check{}, err
		}
		there, listErr := c.Checks(ctx, o.HeadSHA, o.Name)
		if listErr != nil {
			return Check{}, errors.Join(err, listErr)
		}
		if i := slices.IndexFunc(there, func(k Check) bool { return k.ExternalID == *o.ExternalID }); i >= 0 {
			return there[i], nil
		}
	}
}

// UpdateCheck changes a check run by its id, and appends the annotations that
// it was not given before: the server appends and never replaces, so hand
// over each annotation once.
func (c *Client) UpdateCheck(ctx context.Context, k Check) (Check, error) {
	if err := k.fits(); err != nil {
		return Check{}, err
	}
	var before Check
	if len(k.Annotations) > 0 {
		var err error
		if before, err = c.Check(ctx, k.ID); err != nil {
			return Check{}, err
		}
	}
	n := min(len(k.Annotations), MaxAnnotations)
	done, err := c.patchCheck(ctx, k, k.Annotations[:n], before.Annotated)
	if err != nil {
		return Check{}, c.failed("updating check run "+k.Name, err)
	}
	return c.annotate(ctx, done, k, n)
}

// annotate sends the annotations from the n-th on, fifty at a time.
func (c *Client) annotate(ctx context.Context, done, k Check, n int) (Check, error) {
	k.ID = done.ID
	for n < len(k.Annotations) {
		next := min(n+MaxAnnotations, len(k.Annotations))
		var err error
		if done, err = c.patchCheck(ctx, k, k.Annotations[n:next], done.Annotated); err != nil {
			return Check{}, c.failed(fmt.Sprintf("annotating check run %s (%d of %d are there)", k.Name, n, len(k.Annotations)), err)
		}
		n = next
	}
	return done, nil
}

// patchCheck sends one update. Had the run count annotations before, then one
// whose fate is unknown has landed when there are more now; without any
// annotations an update can be repeated at will.
func (c *Client) patchCheck(ctx context.Context, k Check, some []Annotation, count int) (Check, error) {
	o := gh.UpdateCheckRunOptions{Name: k.Name, DetailsURL: optional(k.DetailsURL), ExternalID: optional(k.ExternalID), Status: optional(k.Status),
		Conclusion: optional(k.Conclusion), CompletedAt: moment(k.Completed), Output: k.output(some)}
	for tries := 0; ; tries++ {
		r, _, err := c.gh.Checks.UpdateCheckRun(ctx, c.repo.Owner, c.repo.Name, k.ID, o)
		if err == nil {
			return checkOf(r), nil
		}
		var u *UncertainError
		if !errors.As(err, &u) || tries == maxRetries {
			return Check{}, err
		}
		now, readErr := c.Check(ctx, k.ID)
		if readErr != nil {
			return Check{}, errors.Join(err, readErr)
		}
		if len(some) > 0 && now.Annotated >= count+len(some) {
			return now, nil
		}
	}
}

// Check reads a check run by its id.
func (c *Client) Check(ctx context.Context, id int64) (Check, error) {
	r, _, err := c.gh.Checks.GetCheckRun(ctx, c.repo.Owner, c.repo.Name, id)
	if err != nil {
		return Check{}, c.failed(fmt.Sprintf("reading check run %d", id), err)
	}
	return checkOf(r), nil
}

// Checks are the check runs of a commit or a branch with that name, newest
// first, all pages; "" is every name.
func (c *Client) Checks(ctx context.Context, ref, name string) ([]Check, error) {
	var out []Check
	o := &gh.ListCheckRunsOptions{CheckName: optional(name), Filter: gh.String("all"), ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		page, resp, err := c.gh.Checks.ListCheckRunsForRef(ctx, c.repo.Owner, c.repo.Name, ref, o)
		if err != nil {
			return nil, c.failed("listing check runs of "+ref, err)
		}
		for _, r := range page.CheckRuns {
			out = append(out, checkOf(r))
		}
		if resp.NextPage <= o.Page {
			return out, nil
		}
		o.Page = resp.NextPage
	}
}
