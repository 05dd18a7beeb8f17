package github_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/github"
	fake "github.com/assaybot/assay/internal/testkit/github"
)

func (k *kit) used() (n string) {
	k.s.Watch(func(e fake.Exchange) { n = e.Reply.Get("X-RateLimit-Used") })
	if _, err := k.client().Repository(context.Background()); err != nil {
		k.Fatal(err)
	}
	return n
}

func TestAReplyThatIsKnownCostsNoQuota(t *testing.T) {
	k := newKit(t)
	i := k.r.AddIssue(fake.Issue{})
	for n := range 150 {
		i.Comments = append(i.Comments, &fake.Comment{ID: int64(n + 1), Body: fmt.Sprint(n)})
	}
	if first, second := k.used(), k.used(); first != "1" || second != "1" {
		t.Errorf("used %s, then %s", first, second)
	}
	// Both pages are found again by the first one's Link.
	for range 3 {
		if all, err := k.client().Comments(context.Background(), 1); err != nil || len(all) != 150 {
			t.Fatalf("%d comments, %v", len(all), err)
		}
	}
	if got := k.used(); got != "3" {
		t.Errorf("used %s", got)
	}
	// What has changed is read anew.
	k.s.Edit(func() { i.Comments[149].Body = "changed" })
	all, err := k.client().Comments(context.Background(), 1)
	if err != nil || all[149].Body != "changed" {
		t.Errorf("%q, %v", all[149].Body, err)
	}
	if got := k.used(); got != "4" {
		t.Errorf("used %s: the first page of comments is known still", got)
	}
}

func TestAReplyBelongsToTheTokenThatItWasGivenTo(t *testing.T) {
	tokens := []string{fake.ShortToken, fake.LongToken, fake.LongToken, fake.ShortToken}
	k := newKit(t, func(o *github.Options) {
		o.Token = func(context.Context) (string, error) {
			next := tokens[0]
			tokens = tokens[1:]
			return next, nil
		}
	})
	for range 4 {
		if _, err := k.client().Repository(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	var asked []bool
	for _, r := range k.s.Requests() {
		asked = append(asked, r.Header.Get("If-None-Match") != "")
	}
	if !slices.Equal(asked, []bool{false, false, true, true}) {
		t.Errorf("conditional: %v", asked)
	}
}

func TestLongRepliesPassUnremembered(t *testing.T) {
	k := newKit(t)
	i := k.r.AddIssue(fake.Issue{})
	for n := range 40 {
		i.Comments = append(i.Comments, &fake.Comment{ID: int64(n + 1), Body: strings.Repeat("x", 60_000)})
	}
	for range 2 {
		if all, err := k.client().Comments(context.Background(), 1); err != nil || len(all) != 40 || len(all[39].Body) != 60_000 {
			t.Errorf("%d comments, %v", len(all), err)
		}
	}
	for _, r := range k.s.Requests() {
		if r.Header.Get("If-None-Match") != "" {
			t.Error("a reply of two megabytes was remembered")
		}
	}
}

func TestRow14PullRequestOfAForksWorkflowRun(t *testing.T) {
	k := newKit(t)
	schemas.Attach(t, k.s)
	for _, name := range []string{"ann/shop", "ann/other", "bob/shop"} {
		k.s.Add(name).Fork = true
	}
	const sha = "4f2c9d7e8b1a0c3d5e6f708192a3b4c5d6e7f801"
	k.r.AddPull(fake.Pull{Head: "topic", HeadSHA: sha})                                        // a branch of the same name here
	k.r.AddPull(fake.Pull{Head: "topic", HeadSHA: sha, HeadRepo: "bob/shop"})                  // and in another fork
	k.r.AddPull(fake.Pull{Head: "topic", HeadSHA: sha, HeadRepo: "ann/shop", State: "CLOSED"}) // closed before
	k.r.AddPull(fake.Pull{Head: "topic", HeadSHA: sha, HeadRepo: "ann/shop"})
	k.r.AddPull(fake.Pull{Head: "topic", HeadSHA: sha, HeadRepo: "ann/other"})
	for h, want := range map[github.Head]int{
		{Repo: "ann/shop", Branch: "topic", SHA: sha}:                     4,
		{Repo: "Bob/Shop", Branch: "topic", SHA: strings.ToUpper(sha)}:    2,
		{Repo: "acme/shop", Branch: "topic", SHA: sha}:                    1,
		{Repo: "ann/shop", Branch: "topic", SHA: strings.Repeat("0", 40)}: 0,
		{Repo: "ann/shop", Branch: "other", SHA: sha}:                     0,
		{Repo: "", Branch: "topic", SHA: sha}:                             0,
	} {
		if p, err := k.client().PullOf(context.Background(), h); err != nil || p.Number != want {
			t.Errorf("%+v: #%d, want #%d, %v", h, p.Number, want, err)
		}
	}
}
