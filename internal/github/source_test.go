package github_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/github"
	"github.com/assaybot/assay/internal/mine"
	fake "github.com/assaybot/assay/internal/testkit/github"
)

func pulls(t *testing.T, s *github.Source, after mine.Cursor) []mine.Pull {
	t.Helper()
	var out []mine.Pull
	if err := s.Pulls(context.Background(), after, func(p mine.Pull) error { out = append(out, p); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func numbers(all []mine.Pull) []int {
	var out []int
	for _, p := range all {
		out = append(out, p.Number)
	}
	return out
}

// merged adds n merged pull requests, a day apart.
func merged(r *fake.Repo, n int) {
	for range n {
		p := r.AddPull(fake.Pull{Thread: fake.Thread{Author: fake.User("ann")}, Merged: day(1)})
		p.Updated = day(p.Number)
	}
}

func said(n int) []*fake.Comment {
	out := make([]*fake.Comment, n)
	for i := range out {
		out[i] = &fake.Comment{ID: int64(1000000 + i), Author: fake.User("bob"), Body: fmt.Sprint(i), Created: day(1).Add(time.Duration(i) * time.Minute)}
	}
	return out
}

func TestPullIsTold(t *testing.T) {
	k := newKit(t)
	schemas.Attach(t, k.s)
	other := k.s.Add("acme/lib")
	far := other.AddIssue(fake.Issue{Thread: fake.Thread{Title: "Far", Author: fake.User("zoe")}})
	near := k.r.AddIssue(fake.Issue{Thread: fake.Thread{Title: "Crash", Body: "second", Author: fake.User("eve"), Labels: []string{"bug"}, Comments: said(1), Created: day(1), Closed: day(6),
		Edits: []fake.Edit{{When: day(1), Text: "first"}, {When: day(3), Text: "second"}}}, State: "CLOSED"})
	k.r.AddPull(fake.Pull{Thread: fake.Thread{Title: "Fix", Body: "b", Author: fake.Bot("renovate"), Labels: []string{"fix"}, Created: day(4), Updated: day(7),
		Comments: []*fake.Comment{{Body: "gone", Created: day(5)}, {Author: fake.Bot("ci"), Body: "ok", Created: day(5), Edited: day(6)}}},
		Merged: day(6), MergeCommit: "m1", Head: "fix/crash", Commits: []fake.Commit{{SHA: "c1", Authored: day(2)}, {SHA: "c2", Authored: day(3)}},
		Reviews: []fake.Review{{Author: fake.User("bob"), State: "APPROVED", Submitted: day(5)}},
		Closes:  []fake.Ref{{Number: near.Number}, {Repo: "acme/lib", Number: far.Number}, {Number: 404}}})
	k.r.AddPull(fake.Pull{Thread: fake.Thread{Updated: day(8)}, Merged: day(8), Base: "v1"})
	k.r.AddPull(fake.Pull{Thread: fake.Thread{Updated: day(9)}})

	got := pulls(t, k.source(github.State{}), mine.Cursor{})
	if !slices.Equal(numbers(got), []int{2, 3}) || got[1].Default || got[1].Author != "ghost" {
		t.Fatalf("%+v", got)
	}
	want := mine.Pull{
		Number: 2, Title: "Fix", Body: "b", Author: "renovate[bot]", Bot: true, Base: "main", Default: true, MergeCommit: "m1", HeadBranch: "fix/crash",
		Labels: []string{"fix"}, Created: day(4), Updated: day(7), Merged: day(6), FirstCommit: day(2), Commits: 2, URL: k.s.URL + "/acme/shop/pull/2",
		Comments: []mine.Comment{{Author: "ghost", Created: day(5), Body: "gone"}, {Author: "ci[bot]", Created: day(5), Edited: day(6), Body: "ok"}},
		Reviews:  []mine.ReviewState{{Author: "bob", State: "APPROVED", When: day(5)}},
		Closes: []mine.Issue{
			{Number: 1, Repo: "acme/lib", Title: "Far", Author: "zoe", State: "OPEN", Created: got[0].Closes[0].Created, Updated: got[0].Closes[0].Updated, URL: k.s.URL + "/acme/lib/issues/1"},
			{Number: 1, Repo: "acme/shop", Title: "Crash", Body: "second", Author: "eve", State: "CLOSED", Labels: []string{"bug"}, Created: day(1), Updated: day(1), Closed: day(6),
				Edited: day(3), Edits: []mine.Edit{{When: day(1), Text: "first"}, {When: day(3), Text: "second"}},
				Comments: []mine.Comment{{Author: "bob", Created: day(1), Body: "0"}}, URL: k.s.URL + "/acme/shop/issues/1"},
		},
	}
	if d := cmp.Diff(want, got[0]); d != "" {
		t.Error(d)
	}
}

func TestMining320PullsTakesAtMost20Requests(t *testing.T) {
	k := newKit(t)
	issue := k.r.AddIssue(fake.Issue{Thread: fake.Thread{Comments: said(40)}})
	merged(k.r, 320)
	for i, p := range k.r.Pulls {
		p.Closes = []fake.Ref{{Number: issue.Number}}
		if i%10 == 0 { // each tenth is a long talk
			p.Comments = said(35 + i)
		}
	}
	got := pulls(t, k.source(github.State{}), mine.Cursor{})
	for i, p := range got {
		if want := k.r.Pulls[i]; len(p.Comments) != len(want.Comments) || len(p.Closes[0].Comments) != 40 {
			t.Fatalf("#%d: %d comments of %d, issue %d", p.Number, len(p.Comments), len(want.Comments), len(p.Closes[0].Comments))
		}
	}
	rest, graphql := k.s.Count()
	if len(got) != 320 || graphql > 20 || rest != 0 {
		t.Errorf("%d pull requests by %d GraphQL and %d REST requests", len(got), graphql, rest)
	}
	t.Logf("%d GraphQL requests", graphql)
}

func TestPageHalvesAndIsRemembered(t *testing.T) {
	k := newKit(t)
	merged(k.r, 60)
	k.s.MaxFirst = 13
	s := k.source(github.State{})
	if got := pulls(t, s, mine.Cursor{}); len(got) != 60 || s.State().Page != 12 {
		t.Errorf("%d pull requests, state %+v", len(got), s.State())
	}
	k.s.Forget()
	pulls(t, k.source(s.State()), mine.Cursor{})
	if _, n := k.s.Count(); n != 6 { // five pages and a look at the newest
		t.Errorf("%d requests with the page that worked", n)
	}
	k.s.Fail(fake.Fault{Path: "/graphql", Status: 504, Times: -1})
	var infra *assay.InfraError
	err := k.source(github.State{}).Pulls(context.Background(), mine.Cursor{}, nil)
	if !errors.As(err, &infra) || infra.Kind != assay.InfraAPI {
		t.Errorf("a server that is down: %v", err)
	}
}

func TestCursorGoesForwardWithOverlap(t *testing.T) {
	k := newKit(t)
	merged(k.r, 200)
	for _, n := range []int{150, 151, 152} { // one second, three pulls
		k.r.Pull(n).Updated = day(151)
	}
	s := k.source(github.State{Page: 25})
	got := pulls(t, s, mine.Cursor{Updated: day(151), Number: 151})
	if want := 51; len(got) != want || !slices.Equal(numbers(got)[:4], []int{150, 151, 152, 153}) {
		t.Errorf("%d pull requests from %v", len(got), numbers(got))
	}
	if _, n := k.s.Count(); n != 4 { // 51 of them are three pages, and a look at the newest
		t.Errorf("%d requests", n)
	}
}

func TestUpdateDuringTheSweepIsNotMissed(t *testing.T) {
	k := newKit(t)
	merged(k.r, 30)
	once := false
	k.s.Watch(func(fake.Exchange) {
		k.s.Edit(func() {
			if !once { // an old one moves to the front after the first page was read
				once = true
				k.r.Pull(3).Updated, k.r.Pull(3).Title = day(99), "new title"
			}
		})
	})
	got := pulls(t, k.source(github.State{Page: 10}), mine.Cursor{})
	if len(got) != 30 || got[29].Number != 3 || got[29].Title != "new title" {
		t.Errorf("%v", numbers(got))
	}
}

func TestEveryNestedListIsPaginated(t *testing.T) {
	k := newKit(t)
	schemas.Attach(t, k.s)
	labels, edits, reviews := make([]string, 130), make([]fake.Edit, 130), make([]fake.Review, 130)
	for i := range 130 {
		labels[i], edits[i] = fmt.Sprintf("l%d", i), fake.Edit{When: day(1).Add(time.Duration(i) * time.Hour), Text: fmt.Sprint(i)}
		reviews[i] = fake.Review{Author: fake.User("bob"), State: "COMMENTED", Submitted: day(1)}
	}
	var closes []fake.Ref
	for range 12 {
		closes = append(closes, fake.Ref{Number: k.r.AddIssue(fake.Issue{Thread: fake.Thread{Labels: labels, Edits: edits, Comments: said(130)}}).Number})
	}
	k.r.AddPull(fake.Pull{Thread: fake.Thread{Labels: labels, Edits: edits, Comments: said(130)}, Merged: day(3), Reviews: reviews, Closes: closes})
	p := pulls(t, k.source(github.State{}), mine.Cursor{})[0]
	if len(p.Labels) != 130 || len(p.Edits) != 130 || len(p.Comments) != 130 || len(p.Reviews) != 130 || len(p.Closes) != 12 || p.Edits[129].Text != "129" {
		t.Errorf("%d labels, %d edits, %d comments, %d reviews, %d issues", len(p.Labels), len(p.Edits), len(p.Comments), len(p.Reviews), len(p.Closes))
	}
	for _, i := range p.Closes {
		if len(i.Labels) != 130 || len(i.Edits) != 130 || len(i.Comments) != 130 {
			t.Errorf("issue %d: %d labels, %d edits, %d comments", i.Number, len(i.Labels), len(i.Edits), len(i.Comments))
		}
	}
	k.s.Fail(fake.Fault{Operation: "More", Status: 502, Times: 2})
	if got := pulls(t, k.source(github.State{}), mine.Cursor{}); len(got[0].Comments) != 130 {
		t.Error("a follow-up that is too large was not made smaller")
	}
}

func TestTotalsMustAddUp(t *testing.T) {
	k := newKit(t)
	merged(k.r, 1)
	page := func(total int, comments string) string {
		return fmt.Sprintf(`{"data":{"repository":{"defaultBranchRef":null,"page":{"totalCount":%d,"pageInfo":{"hasNextPage":false},"nodes":[{"number":1,"comments":%s}]}}}}`, total, comments)
	}
	for body, want := range map[string]string{
		page(2, "null"): "has 2 merged pull requests and listed 1",
		page(1, `{"totalCount":3,"pageInfo":{"hasNextPage":false},"nodes":[null]}`): "comments: GitHub says 3 and listed 1",
	} {
		k.s.Fail(fake.Fault{Path: "/graphql", Status: 200, Body: body})
		err := k.source(github.State{}).Pulls(context.Background(), mine.Cursor{}, func(mine.Pull) error { t.Error("yielded"); return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestRow52GraphQLErrorIsNotNothing(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":null,"errors":[{"message":"Internal error"}]}`:                                                                   "Internal error",
		`{"errors":[{"message":"Field 'x' doesn't exist on type 'Query'"}]}`:                                                      "doesn't exist",
		`{"data":{"repository":null},"errors":[{"type":"NOT_FOUND","path":["repository"],"message":"Could not resolve to it."}]}`: "Could not resolve to it (or the token can't see it)",
		`{"data":{"repository":{"page":{"nodes":[]}}},"errors":[{"path":["repository","page"],"message":"partly broken"}]}`:       "partly broken",
		`{"data":{"repository":null}}`: "no list",
		`<html>`:                       "decoding",
		`{"data":null,"errors":[{"message":"Something went wrong while executing your query. This may be the result of a timeout."}]}`: "could not answer",
	} {
		k := newKit(t)
		k.s.Fail(fake.Fault{Path: "/graphql", Status: 200, Body: body, Times: -1})
		err := k.source(github.State{}).Pulls(context.Background(), mine.Cursor{}, func(mine.Pull) error { t.Error("yielded"); return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestGraphQLLimitTold200IsWaitedFor(t *testing.T) {
	k := newKit(t)
	merged(k.r, 1)
	k.s.Fail(fake.Fault{Path: "/graphql", Status: 200, Body: `{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}`,
		Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Resource": "graphql", "X-RateLimit-Reset": unix(k.clock.Now().Add(5 * time.Minute))}})
	if got := pulls(t, k.source(github.State{}), mine.Cursor{}); len(got) != 1 || k.clock.waited() != 5*time.Minute {
		t.Errorf("%d pull requests after %v", len(got), k.clock.waited())
	}
}

func TestIssueThatMayNotBeSeenIsNoted(t *testing.T) {
	k := newKit(t)
	secret := k.s.Add("other/secret").AddIssue(fake.Issue{})
	secret.Hidden = true
	k.r.AddPull(fake.Pull{Merged: day(2), Closes: []fake.Ref{{Repo: "other/secret", Number: secret.Number}}})
	s := k.source(github.State{})
	if got := pulls(t, s, mine.Cursor{}); len(got) != 1 || len(got[0].Closes) != 0 || len(s.Notes()) != 1 || !strings.Contains(s.Notes()[0], "SAML") {
		t.Errorf("%+v, notes %q", got, s.Notes())
	}
}

func TestOpenIssuesSince(t *testing.T) {
	k := newKit(t)
	schemas.Attach(t, k.s)
	for n := range 120 {
		k.r.AddIssue(fake.Issue{Thread: fake.Thread{Updated: day(n + 1), Created: day(1)}})
	}
	k.r.AddIssue(fake.Issue{Thread: fake.Thread{Updated: day(121)}, State: "CLOSED"})
	var got []int
	s := k.source(github.State{})
	err := s.Issues(context.Background(), mine.Cursor{Updated: day(50), Number: 50}, func(i mine.Issue) error { got = append(got, i.Number); return nil })
	if err != nil || len(got) != 71 || got[0] != 50 || got[70] != 120 {
		t.Errorf("%v, %v", got, err)
	}
	stop := errors.New("stop")
	if err := s.Issues(context.Background(), mine.Cursor{}, func(mine.Issue) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func TestRenamedRepositoryIsMined(t *testing.T) {
	k := newKit(t)
	merged(k.r, 2)
	k.s.Rename(k.r, "umbrella/store")
	if got := pulls(t, k.source(github.State{}), mine.Cursor{}); len(got) != 2 {
		t.Errorf("%d pull requests", len(got))
	}
	err := github.NewSource(k.t, github.Repo{Owner: "no", Name: "body"}, github.State{}).Pulls(context.Background(), mine.Cursor{}, nil)
	if !assay.IsUser(err) {
		t.Errorf("%v", err)
	}
}

func TestIssueDeletedDuringTheSweepKeepsWhatIsKnown(t *testing.T) {
	k := newKit(t)
	issue := k.r.AddIssue(fake.Issue{Thread: fake.Thread{Comments: said(40)}})
	k.r.AddPull(fake.Pull{Thread: fake.Thread{Comments: said(40)}, Merged: day(2), Closes: []fake.Ref{{Number: issue.Number}}})
	k.s.Watch(func(e fake.Exchange) {
		if strings.Contains(string(e.Body), "query Pulls") {
			k.s.Edit(func() { k.r.Issues = nil })
		}
	})
	s := k.source(github.State{})
	p := pulls(t, s, mine.Cursor{})[0]
	if len(p.Comments) != 40 || len(p.Closes[0].Comments) != 30 || len(s.Notes()) != 1 {
		t.Errorf("%d and %d comments, notes %q", len(p.Comments), len(p.Closes[0].Comments), s.Notes())
	}
}

func TestIssuesByNumber(t *testing.T) {
	k := newKit(t)
	schemas.Attach(t, k.s)
	for range 70 {
		k.r.AddIssue(fake.Issue{Thread: fake.Thread{Title: "t", Comments: said(31)}, State: "CLOSED"})
	}
	k.r.AddPull(fake.Pull{Merged: day(2)})
	var got []int
	s := k.source(github.State{})
	ask := []int{71, 9999}
	for n := range 60 {
		ask = append(ask, n+1)
	}
	err := s.Numbered(context.Background(), ask, func(i mine.Issue) error {
		if len(i.Comments) != 31 {
			t.Errorf("#%d: %d comments", i.Number, len(i.Comments))
		}
		got = append(got, i.Number)
		return nil
	})
	if err != nil || len(got) != 60 || len(s.Notes()) != 0 {
		t.Errorf("%v %v %q", got, err, s.Notes())
	}
}
