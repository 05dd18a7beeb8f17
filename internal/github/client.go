package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v66/github"

	"github.com/assaybot/assay/internal/assay"
)

// Client reads and writes one repository over REST.
type Client struct {
	t    *Transport
	gh   *gh.Client
	repo Repo
}

// NewClient is a client of repo on t.
func NewClient(t *Transport, repo Repo) (*Client, error) {
	base, err := url.Parse(t.o.Host.REST + "/")
	if err != nil {
		return nil, assay.Userf("%q is no address of a GitHub API", t.o.Host.REST)
	}
	h := t.Client()
	h.Transport = quiet{t}
	c := gh.NewClient(h)
	c.BaseURL, c.UploadURL, c.UserAgent = base, base, t.o.UserAgent
	return &Client{t: t, gh: c, repo: repo}, nil
}

// quiet hides the limit headers from the library, which would refuse calls by
// its own clock instead of leaving the waits to the transport.
type quiet struct{ t *Transport }

func (q quiet) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := q.t.RoundTrip(req)
	if err == nil {
		for name := range resp.Header {
			if strings.HasPrefix(name, "X-Ratelimit-") {
				resp.Header.Del(name)
			}
		}
	}
	return resp, err
}

// failed explains an error of the library, in the words of what was done.
func (c *Client) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	doing = fmt.Sprintf("%s in %s", doing, c.repo)
	var r *gh.ErrorResponse
	if !errors.As(err, &r) || r.Response == nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	said := refused{status: r.Response.StatusCode, header: r.Response.Header, message: r.Message,
		approve: fmt.Sprintf("%s/organizations/%s/settings/installations", c.t.o.Host.Web, c.repo.Owner)}
	if q := r.Response.Request; q != nil {
		said.method, said.path = q.Method, q.URL.Path
	}
	for _, e := range r.Errors {
		said.message += fmt.Sprintf("; %s: %s", e.Field, first(e.Message, e.Code))
	}
	return fmt.Errorf("%s: %w", doing, said.explain(c.t.o.Now()))
}

// Ping asks whether the host is a GitHub at all.
func (c *Client) Ping(ctx context.Context) error {
	_, _, err := c.gh.Meta.Get(ctx)
	if err != nil {
		return fmt.Errorf("asking %s/meta, is it the address of a GitHub API? %w", c.t.o.Host.REST, c.failed("looking around", err))
	}
	return nil
}

// RepoInfo is what a repository is now: its name may have changed.
type RepoInfo struct {
	ID      int64
	Repo    Repo
	Default string // branch
	Private bool
}

// Repository reads the repository; its default branch is never assumed.
func (c *Client) Repository(ctx context.Context) (RepoInfo, error) {
	r, _, err := c.gh.Repositories.Get(ctx, c.repo.Owner, c.repo.Name)
	if err != nil {
		return RepoInfo{}, c.failed("reading the repository", err)
	}
	return RepoInfo{ID: r.GetID(), Repo: Repo{r.GetOwner().GetLogin(), r.GetName()}, Default: r.GetDefaultBranch(), Private: r.GetPrivate()}, nil
}

// PullInfo is what publishing needs of a pull request. Fork is true when its
// branch lives elsewhere, or its repository is gone.
type PullInfo struct {
	Number     int
	Head, Base string // commits
	HeadBranch string
	BaseBranch string
	HeadRepo   string // full name; "" when it is gone
	Fork       bool
	Open       bool
	Draft      bool
	Author     string
	Labels     []string
}

// Pull reads a pull request.
func (c *Client) Pull(ctx context.Context, number int) (PullInfo, error) {
	p, _, err := c.gh.PullRequests.Get(ctx, c.repo.Owner, c.repo.Name, number)
	if err != nil {
		return PullInfo{}, c.failed(fmt.Sprintf("reading pull request #%d", number), err)
	}
	return pullOf(p), nil
}

func pullOf(p *gh.PullRequest) PullInfo {
	out := PullInfo{
		Number: p.GetNumber(), Head: p.GetHead().GetSHA(), Base: p.GetBase().GetSHA(), HeadBranch: p.GetHead().GetRef(), BaseBranch: p.GetBase().GetRef(),
		HeadRepo: p.GetHead().GetRepo().GetFullName(), Open: p.GetState() == "open", Draft: p.GetDraft(), Author: p.GetUser().GetLogin(),
	}
	out.Fork = p.GetHead().GetRepo().GetID() != p.GetBase().GetRepo().GetID()
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}

// Head is where a pull request comes from: the full name of the repository
// that its branch lives in, and the commit at its tip.
type Head struct{ Repo, Branch, SHA string }

// PullOf finds the pull request of a head, an open one before a closed one: a
// workflow run of a fork's names none. One that has moved on to another commit
// isn't it. No such pull request is number 0 and no error.
func (c *Client) PullOf(ctx context.Context, h Head) (PullInfo, error) {
	owner, _, ok := strings.Cut(h.Repo, "/")
	if !ok || h.Branch == "" || h.SHA == "" {
		return PullInfo{}, nil
	}
	var closed PullInfo
	o := &gh.PullRequestListOptions{State: "all", Head: owner + ":" + h.Branch, ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		page, resp, err := c.gh.PullRequests.List(ctx, c.repo.Owner, c.repo.Name, o)
		if err != nil {
			return PullInfo{}, c.failed("looking for the pull request of "+h.SHA, err)
		}
		for _, one := range page {
			switch p := pullOf(one); {
			case !strings.EqualFold(p.Head, h.SHA) || !strings.EqualFold(p.HeadRepo, h.Repo):
			case p.Open:
				return p, nil
			default:
				closed = p
			}
		}
		if resp.NextPage <= o.Page {
			return closed, nil
		}
		o.Page = resp.NextPage
	}
}

// PullSeen reads a pull request that a webhook has told of. The server may not
// know it yet: a 404 is asked again a few times.
func (c *Client) PullSeen(ctx context.Context, number int) (PullInfo, error) {
	for tries := 0; ; tries++ {
		p, err := c.Pull(ctx, number)
		if !NotFound(err) || tries == maxRetries {
			return p, err
		}
		if err := c.t.o.Sleep(ctx, time.Second<<tries); err != nil {
			return PullInfo{}, err
		}
	}
}

// Permission is a user's role in the repository: admin, maintain, write,
// triage, read or none.
func (c *Client) Permission(ctx context.Context, user string) (string, error) {
	p, _, err := c.gh.Repositories.GetPermissionLevel(ctx, c.repo.Owner, c.repo.Name, user)
	if err != nil {
		return "", c.failed("reading the permission of "+user, err)
	}
	return first(p.GetRoleName(), p.GetPermission()), nil
}

// MayWrite tells whether a role allows to change the repository. A role of an
// organization's own making counts by what it is based on, which the server
// doesn't say here: it is not enough.
func MayWrite(role string) bool {
	return role == "admin" || role == "maintain" || role == "write"
}

// AddLabels puts labels on an issue or a pull request; those that are there
// stay.
func (c *Client) AddLabels(ctx context.Context, number int, labels []string) error {
	// The library sends a bare list, which the description doesn't have.
	req, err := c.gh.NewRequest(http.MethodPost, fmt.Sprintf("repos/%s/issues/%d/labels", c.repo, number), map[string][]string{"labels": labels})
	if err == nil {
		_, err = c.gh.Do(ctx, req, nil)
	}
	return c.failed(fmt.Sprintf("labelling #%d", number), err)
}

// RemoveLabel takes a label off; one that isn't there is fine.
func (c *Client) RemoveLabel(ctx context.Context, number int, name string) error {
	_, err := c.gh.Issues.RemoveLabelForIssue(ctx, c.repo.Owner, c.repo.Name, number, url.PathEscape(name))
	if err = c.failed(fmt.Sprintf("taking a label off #%d", number), err); NotFound(err) {
		return nil
	}
	return err
}

// Labels are the labels of an issue or a pull request, all pages.
func (c *Client) Labels(ctx context.Context, number int) ([]string, error) {
	var out []string
	for o := (&gh.ListOptions{PerPage: 100}); ; {
		page, resp, err := c.gh.Issues.ListLabelsByIssue(ctx, c.repo.Owner, c.repo.Name, number, o)
		if err != nil {
			return nil, c.failed(fmt.Sprintf("reading the labels of #%d", number), err)
		}
		for _, l := range page {
			out = append(out, l.GetName())
		}
		if resp.NextPage <= o.Page {
			return out, nil
		}
		o.Page = resp.NextPage
	}
}
