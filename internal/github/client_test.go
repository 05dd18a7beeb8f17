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

func TestClientKeepsTheSchema(t *testing.T) {
	k := newKit(t)
	schemas.Attach(t, k.s)
	k.r.AddPull(fake.Pull{Thread: fake.Thread{Author: fake.User("ann"), Labels: []string{"bug"}}})
	c, ctx := k.client(), context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Ping(ctx))
	p, err := c.Pull(ctx, 1)
	must(err)
	if p.Fork || !p.Open || p.Head != k.r.Pull(1).HeadSHA || p.Base != k.r.Heads["main"] || !slices.Equal(p.Labels, []string{"bug"}) {
		t.Errorf("%+v", p)
	}
	run, err := c.CreateCheck(ctx, github.Check{Name: "assay", SHA: p.Head, ExternalID: "k1", Status: "in_progress", Started: day(3), Title: "Running", Summary: "0/3"})
	must(err)
	run.Conclusion, run.Status, run.Summary, run.Completed = "success", "completed", "3/3", day(4)
	run.Annotations = []github.Annotation{{Path: "a.go", StartLine: 0, EndLine: 3, StartColumn: 2, Level: "warning", Message: "m", Title: strings.Repeat("t", 300), Raw: "r"}}
	_, err = c.UpdateCheck(ctx, run)
	must(err)
	list, err := c.Checks(ctx, p.Head, "assay")
	must(err)
	if len(list) != 1 || list[0].Conclusion != "success" || list[0].Summary != "3/3" || list[0].ExternalID != "k1" || list[0].App != fake.AppID || list[0].Annotated != 1 {
		t.Errorf("%+v", list)
	}
	said, err := c.CreateComment(ctx, 1, "one")
	must(err)
	_, err = c.UpdateComment(ctx, said.ID, "two")
	must(err)
	must(c.Minimize(ctx, said.Node))
	if got := k.r.Pull(1).Comments[0]; got.Body != "two" || got.Minimized != "outdated" || said.Author != fake.AppLogin {
		t.Errorf("%+v by %q", got, said.Author)
	}
	must(c.DeleteComment(ctx, said.ID))
	must(c.DeleteComment(ctx, said.ID))
	if err := c.Minimize(ctx, said.Node); err == nil || !strings.Contains(err.Error(), "Could not resolve") {
		t.Errorf("hiding what is gone: %v", err)
	}
	must(c.AddLabels(ctx, 1, []string{"a b/c?"}))
	labels, err := c.Labels(ctx, 1)
	must(err)
	if !slices.Equal(labels, []string{"bug", "a b/c?"}) {
		t.Errorf("labels %q", labels)
	}
	must(c.RemoveLabel(ctx, 1, "a b/c?"))
	must(c.RemoveLabel(ctx, 1, "a b/c?"))
	if got := k.r.Pull(1).Labels; !slices.Equal(got, []string{"bug"}) {
		t.Errorf("labels %q", got)
	}
	for user, want := range map[string]string{"octocat": "admin", "mia": "maintain", "stranger": "read"} {
		k.r.Permissions["mia"] = "maintain"
		if role, err := c.Permission(ctx, user); err != nil || role != want || github.MayWrite(role) != (want != "read") {
			t.Errorf("%s: %q, %v", user, role, err)
		}
	}
}

func TestRow3CommentsBeyondTheFirstPage(t *testing.T) {
	k := newKit(t)
	i := k.r.AddIssue(fake.Issue{})
	for n := range 231 {
		i.Comments = append(i.Comments, &fake.Comment{ID: int64(n + 1), Body: fmt.Sprint(n)})
	}
	got, err := k.client().Comments(context.Background(), 1)
	if err != nil || len(got) != 231 || got[230].Body != "230" {
		t.Errorf("%d comments, %v", len(got), err)
	}
}

func TestRow6BytesAreCounted(t *testing.T) {
	k := newKit(t)
	_, err := k.client().CreateCheck(context.Background(), github.Check{Name: "assay", SHA: "abc", Summary: strings.Repeat("\U0001F600", 17000)})
	if err == nil || !strings.Contains(err.Error(), "68000 bytes") {
		t.Errorf("%v", err)
	}
	k.r.AddIssue(fake.Issue{})
	if _, err = k.client().CreateComment(context.Background(), 1, strings.Repeat("ü", 65537)); err == nil {
		t.Error("a comment above the limit was sent")
	}
	if rest, _ := k.s.Count(); rest != 0 {
		t.Errorf("%d requests", rest)
	}
}

func annotations(n int) []github.Annotation {
	out := make([]github.Annotation, n)
	for i := range out {
		out[i] = github.Annotation{Path: "a.go", StartLine: i + 1, Level: "notice", Message: fmt.Sprint(i)}
	}
	return out
}

func TestAnnotationsGoFiftyAtATimeAndEachOnce(t *testing.T) {
	for name, faults := range map[string][]fake.Fault{
		"plain":              nil,
		"create landed":      {{Method: "POST", Status: 502, After: true}},
		"create lost":        {{Method: "POST", Status: 502}},
		"second landed":      {{Method: "PATCH", Status: 504, After: true}},
		"third lost":         {{Method: "PATCH", Skip: 1, Status: 502}},
		"all of it, at once": {{Method: "POST", Status: 502, After: true}, {Method: "PATCH", Status: 502, After: true}, {Method: "PATCH", Status: 502}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			for _, f := range faults {
				k.s.Fail(f)
			}
			got, err := k.client().CreateCheck(context.Background(), github.Check{Name: "assay", SHA: "abc", ExternalID: "key", Title: "t", Summary: "s", Annotations: annotations(120)})
			if err != nil || got.Annotated != 120 || len(k.r.Checks) != 1 {
				t.Fatalf("%d annotations in %d runs, %v", got.Annotated, len(k.r.Checks), err)
			}
			for i, a := range k.r.Checks[0].Annotations {
				if a.Message != fmt.Sprint(i) {
					t.Fatalf("annotation %d is %q", i, a.Message)
				}
			}
		})
	}
}

func TestUpdateAppendsAnnotationsOnce(t *testing.T) {
	k := newKit(t)
	c, ctx := k.client(), context.Background()
	run, err := c.CreateCheck(ctx, github.Check{Name: "assay", SHA: "abc", Title: "t", Annotations: annotations(3)})
	if err != nil {
		t.Fatal(err)
	}
	k.s.Fail(fake.Fault{Method: "PATCH", Status: 502, After: true})
	run.Annotations = annotations(2)
	if got, err := c.UpdateCheck(ctx, run); err != nil || got.Annotated != 5 {
		t.Errorf("%d annotations, %v", got.Annotated, err)
	}
}

func TestRow10ForkIsTold(t *testing.T) {
	k := newKit(t)
	k.s.Add("ann/shop").Fork = true
	k.r.AddPull(fake.Pull{HeadRepo: "ann/shop"})
	k.r.AddPull(fake.Pull{HeadRepo: "gone/shop"})
	for n, repo := range map[int]string{1: "ann/shop", 2: ""} {
		if p, err := k.client().Pull(context.Background(), n); err != nil || !p.Fork || p.HeadRepo != repo {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

func TestRow25PullThatTheServerDoesNotKnowYet(t *testing.T) {
	k := newKit(t)
	k.r.AddPull(fake.Pull{})
	k.s.Fail(fake.Fault{Status: 404, Times: 2})
	if _, err := k.client().PullSeen(context.Background(), 1); err != nil {
		t.Error(err)
	}
	if _, err := k.client().PullSeen(context.Background(), 99); !github.NotFound(err) {
		t.Errorf("%v", err)
	}
	k.s.Forget()
	if _, err := k.client().Pull(context.Background(), 99); !github.NotFound(err) {
		t.Errorf("%v", err)
	}
	if rest, _ := k.s.Count(); rest != 1 {
		t.Errorf("%d requests for what no webhook told", rest)
	}
}

func TestRow36DefaultBranchIsRead(t *testing.T) {
	k := newKit(t)
	for _, name := range []string{"trunk", "main"} {
		k.s.Edit(func() { k.r.Default = name })
		if info, err := k.client().Repository(context.Background()); err != nil || info.Default != name {
			t.Errorf("%+v, %v", info, err)
		}
	}
}
