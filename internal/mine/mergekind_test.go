package mine

import (
	"strings"
	"testing"
	"time"
)

func TestMergeOf(t *testing.T) {
	one, two := []string{"p1"}, []string{"p1", "p2"}
	for name, tc := range map[string]struct {
		parents       []string
		subject, body string
		kind          string
		number        int
		title         string
	}{
		"GitHub squash":             {one, "Fix the cart (#12)", "", MergeSquash, 12, "Fix the cart"},
		"last number counts":        {one, "Backport the fix (#12) (#15)", "", MergeSquash, 15, "Backport the fix (#12)"},
		"cut title":                 {one, "Fix a thing that is told at some le… (#12)", "…ngth\n\nMore", MergeSquash, 12, "Fix a thing that is told at some length"},
		"a number in the middle":    {one, "Fix (#12) and more", "", MergeDirect, 0, "Fix (#12) and more"},
		"issue in the title":        {one, "Fix #12", "", MergeDirect, 0, "Fix #12"},
		"GitHub merge":              {two, "Merge pull request #7 from dana/topic", "Fix the cart\n\nIt was empty.", MergeCommit, 7, "Fix the cart"},
		"GitHub merge with a title": {two, "Fix the cart (#7)", "", MergeCommit, 7, "Fix the cart"},
		"GitLab merge":              {two, "Merge branch 'topic' into 'main'", "Fix the cart\n\nCloses #3\n\nSee merge request group/thing!41", MergeCommit, 41, "Fix the cart"},
		"GitLab fast-forward":       {one, "Fix the cart", "Text\n\nSee merge request group/sub/thing!41", MergeSquash, 41, "Fix the cart"},
		"Bitbucket Cloud":           {two, "Merged in topic (pull request #9)", "Fix the cart\n\nApproved-by: Eve", MergeCommit, 9, "Fix the cart"},
		"Bitbucket Server":          {two, "Merge pull request #9 in P/thing from topic to main", "* commit 'abc':\n  Fix", MergeCommit, 9, "First commit"},
		"Bitbucket Server, newer":   {two, "Pull request #9: Fix the cart", "Merge in P/thing from topic to main\n\n* commit 'a':", MergeCommit, 9, "Fix the cart"},
		"Gitea merge":               {two, "Merge pull request 'Fix the cart' (#9) from dana/topic into main", "Reviewed-on: https://g.example/o/r/pulls/9", MergeCommit, 9, "Fix the cart"},
		"Azure":                     {one, "Merged PR 33: Fix the cart", "", MergeSquash, 33, "Fix the cart"},
		"merge queue":               {two, "Auto merge of #77 - dana:topic, r=eve", "Fix the cart\n\nText", MergeCommit, 77, "Fix the cart"},
		"rebase PR-URL":             {one, "Fix the cart", "Text\n\nPR-URL: https://github.com/o/r/pull/88\nReviewed-By: Eve", MergeRebase, 88, "Fix the cart"},
		"rebase Pull-Request":       {one, "Fix the cart", "Pull-Request: #88", MergeRebase, 88, "Fix the cart"},
		"rebase Reviewed-on":        {one, "Fix the cart", "Reviewed-on: https://g.example/o/r/pulls/88", MergeRebase, 88, "Fix the cart"},
		"rebase Part-of":            {one, "Fix the cart", "Part-of: <https://gitlab.example/o/r/-/merge_requests/88>", MergeRebase, 88, "Fix the cart"},
		"rebase Closes":             {one, "Fix the cart", "Text\n\nCloses #88", MergeRebase, 88, "Fix the cart"},
		"merge script":              {one, "Fix the cart", "Closes #88 from dana/topic.", MergeRebase, 88, "Fix the cart"},
		"fixes an issue":            {one, "Fix the cart", "Fixes #88", MergeDirect, 0, "Fix the cart"},
		"trailer within a sentence": {one, "Fix the cart", "See the PR-URL: https://github.com/o/r/pull/88 for more", MergeDirect, 0, "Fix the cart"},
		"local merge":               {two, "Merge branch 'topic'", "", MergeBranch, 0, "Merge branch 'topic'"},
		"too large a number":        {one, "Fix (#99999999999999999999)", "", MergeDirect, 0, "Fix (#99999999999999999999)"},
		"empty":                     {one, "", "", MergeDirect, 0, ""},
	} {
		c := Change{Parents: tc.parents, Subject: tc.subject, Body: tc.body, Author: "Merger <m@x>", Authored: day(5), Committed: day(5)}
		if len(tc.parents) > 1 {
			c.Inner = []InnerCommit{{Commit: "b", Author: "Late <l@x>", Authored: day(3), Subject: "Second"}, {Commit: "a", Author: "Dana <d@x>", Authored: day(2), Subject: "First commit"}}
		}
		got := MergeOf(c)
		if got.Kind != tc.kind || got.Number != tc.number || got.Title != tc.title {
			t.Errorf("%s: %s %d %q, want %s %d %q", name, got.Kind, got.Number, got.Title, tc.kind, tc.number, tc.title)
		}
		if len(tc.parents) > 1 && (got.Author != "Dana <d@x>" || !got.FirstWork.Equal(day(2))) {
			t.Errorf("%s: the work is %s's of %s", name, got.Author, got.FirstWork)
		}
	}
}

// A squash merge is dated by the host; that date tells nothing of when the
// work began.
func TestFirstWorkOfASquashIsUnknown(t *testing.T) {
	c := Change{Parents: []string{"p"}, Subject: "Fix (#1)", Authored: day(5), Committed: day(5).Add(time.Second)}
	if m := MergeOf(c); !m.FirstWork.IsZero() {
		t.Errorf("first work at %s", m.FirstWork)
	}
	c.Authored = day(2)
	if m := MergeOf(c); !m.FirstWork.Equal(day(2)) {
		t.Errorf("first work at %s", m.FirstWork)
	}
}

func TestHostsLinesAreNotTheText(t *testing.T) {
	m := MergeOf(Change{Parents: []string{"p"}, Subject: "Fix (#1)", Body: "Why.\n\nFixes #5\n\n---------\n\nCo-authored-by: Eve <e@x>\nSigned-off-by: Dana <d@x>"})
	if m.Body != "Why.\n\nFixes #5" {
		t.Errorf("body %q", m.Body)
	}
}

func TestWebURL(t *testing.T) {
	for in, want := range map[string]string{
		"git@github.com:o/r.git":         "https://github.com/o/r",
		"ssh://git@host.example:22/o/r":  "https://host.example/o/r",
		"https://u:p@github.com/o/r.git": "https://github.com/o/r",
		"https://github.com/o/r/":        "https://github.com/o/r",
		"/srv/git/r":                     "",
		"file:///srv/git/r":              "",
		"C:/git/r":                       "",
		"":                               "",
	} {
		if got := WebURL(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Slug("git@github.com:o/r.git"); got != "o/r" {
		t.Errorf("slug %q", got)
	}
}

func FuzzMergeOf(f *testing.F) {
	for _, s := range []string{"Fix (#1)", "Merge pull request #1 from a/b", "Merged in x (pull request #2)", "Merge pull request '' (#1) from a into b", "Pull request #1: x", "(#1)", "x…  (#3)"} {
		f.Add(s, "…a\n\nPR-URL: https://x/pull/3", true)
	}
	f.Fuzz(func(t *testing.T, subject, body string, merged bool) {
		c := Change{Parents: []string{"a"}, Subject: subject, Body: body}
		if merged {
			c.Parents = append(c.Parents, "b")
		}
		m := MergeOf(c)
		if m.Number < 0 || m.Kind == "" || strings.Contains(m.Title, "\n") && !strings.Contains(subject, "\n") {
			t.Errorf("%+v", m)
		}
	})
}
