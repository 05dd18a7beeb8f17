package github_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/github"
	"github.com/assaybot/assay/internal/publish"
	fake "github.com/assaybot/assay/internal/testkit/github"
)

// scored are the texts of a small score with n faults of task files.
func scored(sha string, n int) publish.Docs {
	s := publish.Score{Summary: "1/1 ran", Complete: true, Totals: publish.Row{Trials: 1, N: 1}}
	for i := range n {
		s.Lint.Addf(fmt.Sprintf("tasks/%d/task.json", i), i, "a fault")
	}
	return publish.Make(publish.Context{Repo: "acme/shop", Number: 1, SHA: sha, Name: "assay", Key: "assay"}, s, publish.Gate{})
}

func wants() publish.Wants { return publish.Wants{Check: true, Comment: true} }

func (k *kit) pulled() *fake.Pull {
	return k.r.AddPull(fake.Pull{Thread: fake.Thread{Author: fake.User("ann")}})
}

func (k *kit) publish(d publish.Docs) publish.Posted {
	k.Helper()
	p, err := publish.Post(context.Background(), github.NewTarget(k.client()), d, wants())
	if err != nil {
		k.Fatal(err)
	}
	return p
}

func TestPublishedTwiceIsThereOnce(t *testing.T) {
	k := newKit(t)
	schemas.Attach(t, k.s)
	pull := k.pulled()
	// Row 3: our own comment is beyond the first page.
	d := scored(pull.HeadSHA, 120)
	k.publish(d)
	for i := range 150 {
		pull.Comments = append([]*fake.Comment{{ID: int64(i + 1), Author: fake.User("bob"), Body: "hello"}}, pull.Comments...)
	}
	p := k.publish(d)
	if len(pull.Comments) != 151 || len(k.r.Checks) != 1 || len(k.r.Checks[0].Annotations) != 120 {
		t.Errorf("%d comments, %d checks, %d annotations", len(pull.Comments), len(k.r.Checks), len(k.r.Checks[0].Annotations))
	}
	if p.CheckURL == "" || p.CommentURL == "" || p.Refused {
		t.Errorf("%+v", p)
	}
}

// A report job may make fifteen calls: a workflow's token has a thousand an
// hour for all of its repository's jobs.
func TestPublishingTakesFewCalls(t *testing.T) {
	k := newKit(t)
	pull := k.pulled()
	d := scored(pull.HeadSHA, 1000)
	for _, run := range []string{"first", "second"} {
		k.s.Forget()
		k.publish(d)
		if rest, graph := k.s.Count(); rest+graph > 15 {
			t.Errorf("the %s run made %d calls", run, rest+graph)
		}
	}
	if len(k.r.Checks) != 1 || len(pull.Comments) != 1 {
		t.Errorf("%d checks, %d comments", len(k.r.Checks), len(pull.Comments))
	}
}

func TestPublishingHidesOlderComments(t *testing.T) {
	k := newKit(t)
	pull := k.pulled()
	d := scored(pull.HeadSHA, 0)
	k.publish(d)
	body := pull.Comments[0].Body
	older := &fake.Comment{ID: 1, Author: fake.Bot(strings.TrimSuffix(fake.AppLogin, "[bot]")), Body: body}
	spoof := &fake.Comment{ID: 99999, Author: fake.User("mallory"), Body: body}
	pull.Comments = append(pull.Comments, older, spoof)
	k.publish(d)
	if older.Minimized == "" || spoof.Minimized != "" || spoof.Body != body || pull.Comments[0].Minimized != "" {
		t.Errorf("older %q, spoof %q, newest %q", older.Minimized, spoof.Minimized, pull.Comments[0].Minimized)
	}
}

func TestRow17PublishingThrough502(t *testing.T) {
	k := newKit(t)
	pull := k.pulled()
	k.s.Fail(fake.Fault{Method: http.MethodPost, Path: "/repos/acme/shop/issues/*/comments", Status: http.StatusBadGateway, After: true})
	k.s.Fail(fake.Fault{Method: http.MethodPost, Path: "/repos/acme/shop/check-runs", Status: http.StatusBadGateway, After: true})
	k.s.Fail(fake.Fault{Method: http.MethodPatch, Path: "/repos/acme/shop/check-runs/*", Status: http.StatusBadGateway, After: true})
	k.publish(scored(pull.HeadSHA, 120))
	if len(pull.Comments) != 1 || len(k.r.Checks) != 1 || len(k.r.Checks[0].Annotations) != 120 {
		t.Errorf("%d comments, %d checks, %d annotations", len(pull.Comments), len(k.r.Checks), len(k.r.Checks[0].Annotations))
	}
}

func TestRow10And11ATokenThatMayNotWrite(t *testing.T) {
	for name, scopes := range map[string]map[string]string{
		"a fork's":     {"contents": "read", "checks": "read", "issues": "read", "pull_requests": "read"},
		"without PRs":  {"contents": "read", "checks": "write", "pull_requests": "read"},
		"without any":  {},
		"metadata too": {"metadata": "read"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			pull := k.pulled()
			k.s.Tokens[fake.LongToken] = fake.Token{Login: fake.AppLogin, Scopes: scopes}
			p := k.publish(scored(pull.HeadSHA, 1))
			notes := strings.Join(p.Notes, "\n")
			if !p.Refused || len(pull.Comments) > 0 || !strings.Contains(notes, "permissions:") {
				t.Errorf("%+v", p)
			}
			if scopes["checks"] == "write" && (len(k.r.Checks) != 1 || p.CheckURL == "") {
				t.Errorf("the check run is missing: %s", notes)
			}
		})
	}
}

func TestAWrongTokenIsAMistake(t *testing.T) {
	k := newKit(t, func(o *github.Options) { o.Token = func(context.Context) (string, error) { return "ghs_wrong", nil } })
	pull := k.pulled()
	_, err := publish.Post(context.Background(), github.NewTarget(k.client()), scored(pull.HeadSHA, 0), wants())
	if !assay.IsUser(err) {
		t.Errorf("got %v", err)
	}
}
