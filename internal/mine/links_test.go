package mine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

// brief shows links as "repo#1 evidence".
func brief(links []assay.Link) string {
	var out []string
	for _, l := range links {
		out = append(out, fmt.Sprintf("%s#%d %s", l.Repo, l.Issue, l.Evidence))
	}
	return strings.Join(out, ", ")
}

func TestMining01SeveralLinksInOneText(t *testing.T) {
	links := Links(LinkInput{Repo: "o/r", Body: "fixes #1, fixes #2"})
	if got := Closes(links); !cmp.Equal(got, []int{1, 2}) {
		t.Errorf("closes %v, want both", got)
	}
}

func TestMining03ClosingWordsCountWhereGitHubListsNone(t *testing.T) {
	// The base is v2, not the default branch: closingIssuesReferences is empty.
	in := LinkInput{Repo: "o/r", Body: "Closes #5"}
	if got := brief(Links(in)); got != "#5 keyword_body" {
		t.Errorf("without references: %s", got)
	}
	in.Closing = []IssueRef{{"o/r", 5}, {"", 7}, {"o/other", 5}}
	want := "#5 closing_reference, #5 keyword_body, #7 closing_reference, o/other#5 closing_reference"
	if got := brief(Links(in)); got != want {
		t.Errorf("union: %s, want %s", got, want)
	}
}

func TestClosingKeywordsAsDocumented(t *testing.T) {
	for body, want := range map[string]string{
		"close #1": "1", "Closes #1": "1", "closed #1": "1", "fix #1": "1", "FIXES #1": "1", "Fixed #1.": "1",
		"resolve #1": "1", "resolves #1": "1", "Resolved #1": "1", "Fixes: #1": "1", "CLOSES: #1": "1", "fixes:#1": "1",
		"Fixes GH-9": "9", "fixes gh-9": "9", "Resolves o/r#8": "8", "closes O/R#8": "8",
		"Fixes https://github.com/o/r/issues/12": "12", "fixes https://github.com/o/r/issues/12#issuecomment-5)": "12",
		"(fixes #3)": "3", "**Fixes #3**": "3", "Resolves #10, resolves #123, resolves octo/x#100": "10 123",
		"fixes #1 and closes #2\nresolves: #3": "1 2 3", "fixes #1\r\nfixes #2\r\n": "1 2", "- fixes #4": "4",
		// Not closing.
		"prefixes #1": "", "hotfixes #1": "", "bug-fixes #1": "", "fixing #1": "", "fixes#1": "", "fixes 1": "", "fix the #1 cause": "",
		"fixes #12abc": "", "fixes other/repo#3": "", "see #4": "", "fixes #0": "", "closes https://github.com/o/r/pull/12": "",
		"<!-- fixes #1 -->": "", "<!--\nfixes #1\n-->\nfixes #2": "2", "<!-- fixes #1": "",
		"```\nfixes #1\n```\nfixes #2": "2", "~~~sh\nfixes #1\n~~~": "", "```\nfixes #1": "", "`fixes #1`": "", "> fixes #1": "",
		"````\n```\nfixes #1\n````\nfixes #5": "5", "  > fixes #1\nfixes #6": "6",
	} {
		got := strings.Trim(fmt.Sprint(Closes(Links(LinkInput{Repo: "o/r", Body: body}))), "[]")
		if got != want {
			t.Errorf("%q closes %q, want %q", body, got, want)
		}
	}
}

func TestLinkEvidence(t *testing.T) {
	for _, c := range []struct {
		name string
		in   LinkInput
		want string
	}{
		{"title", LinkInput{Title: "Parse dates (fixes #1)"}, "#1 keyword_title"},
		{"commit", LinkInput{Commits: []string{"Parse\n\nFixes #1 for good"}}, "#1 keyword_commit"},
		{"trailer", LinkInput{Commits: []string{"Parse\n\nMore.\n\nIssue: #3, #4\nSigned-off-by: A <a@b.c>"}}, "#3 trailer, #4 trailer"},
		{"trailer with a keyword", LinkInput{Commits: []string{"Parse\n\nCloses: #3"}}, "#3 keyword_commit, #3 trailer"},
		{"no trailer in prose", LinkInput{Commits: []string{"Parse\n\nIssue: #3\nand more words"}}, "#3 mention"},
		{"a commit isn't an issue", LinkInput{Commits: []string{"Parse\n\nFixes: 0123456789ab (\"x\")"}}, ""},
		{"branch", LinkInput{Branch: "fix/123-crash"}, "#123 branch"},
		{"branch of GitHub", LinkInput{Branch: "45-crash-on-start"}, "#45 branch"},
		{"branch without", LinkInput{Branch: "release-2.0"}, ""},
		{"mention", LinkInput{Body: "see #4 and x/y#5"}, "#4 mention, x/y#5 mention"},
		{"a mention besides a keyword is none", LinkInput{Body: "fixes #4, as #4 says"}, "#4 keyword_body"},
		{"nothing", LinkInput{}, ""},
	} {
		if got := brief(Links(c.in)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzLinks(f *testing.F) {
	for _, s := range []string{"fixes #1, fixes #2", "<!-- x", "```\n", "Closes: o/r#1", "`", "\xff fixes #1", "Issue: #1\n\nFixes: #2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := LinkInput{Repo: "o/r", Title: s, Body: s, Commits: []string{s}, Branch: s}
		a, b := Links(in), Links(in)
		if !cmp.Equal(a, b) {
			t.Fatalf("%q: not the same twice", s)
		}
		for _, l := range a {
			if l.Issue <= 0 || l.Evidence == "" {
				t.Fatalf("%q: %+v", s, l)
			}
		}
	})
}

func TestNoise(t *testing.T) {
	for _, c := range []struct {
		change NoiseInput
		want   assay.Reason
	}{
		{NoiseInput{Title: "Bump lodash from 1.0 to 2.0"}, assay.ReasonBot},
		{NoiseInput{Title: "chore(deps-dev): bump @types/node from 1.0.0 to 2.0.0 in /web"}, assay.ReasonBot},
		{NoiseInput{Title: "fix(deps): update module x/y to v2"}, assay.ReasonBot},
		{NoiseInput{Title: "Add page", Author: "dependabot[bot]"}, assay.ReasonBot},
		{NoiseInput{Title: "Add page", Author: "x", Bot: true}, assay.ReasonBot},
		{NoiseInput{Title: "Translate", Author: "weblate"}, assay.ReasonBot},
		{NoiseInput{Title: "Fix crash", Author: "Copilot", Bot: true}, ""},
		{NoiseInput{Title: "Fix crash", Author: "devin-ai-integration[bot]", Bot: true}, ""},
		{NoiseInput{Title: "Fix crash", Author: "abbot"}, ""},
		{NoiseInput{Title: "Bump the limit of open files"}, ""},
		{NoiseInput{Title: `Revert "Add page"`}, assay.ReasonRevert},
		{NoiseInput{Title: "revert: add page"}, assay.ReasonRevert},
		{NoiseInput{Title: "Undo", Body: "This reverts commit 0123456789abcdef."}, assay.ReasonRevert},
		{NoiseInput{Title: "Undo", Body: "Reverts o/r#12"}, assay.ReasonRevert},
		{NoiseInput{Title: "Undo", Head: "revert-12-page", SameRepo: true}, assay.ReasonRevert},
		{NoiseInput{Title: "Fix revert button"}, ""},
		{NoiseInput{Title: "Revert to the old colour on hover"}, ""},
		{NoiseInput{Title: "Fix", Body: "> This reverts commit 0123456789abcdef.\nno it doesn't"}, ""},
		{NoiseInput{Title: "Release 1.2.3"}, assay.ReasonRelease},
		{NoiseInput{Title: "chore(release): 1.2.3"}, assay.ReasonRelease},
		{NoiseInput{Title: "chore: release v1.2.3"}, assay.ReasonRelease},
		{NoiseInput{Title: "v2.0.0-rc.1"}, assay.ReasonRelease},
		{NoiseInput{Title: "Bump version to 1.2"}, assay.ReasonRelease},
		{NoiseInput{Title: "Version Packages"}, assay.ReasonRelease},
		{NoiseInput{Title: "Release the lock when the reader fails"}, ""},
		{NoiseInput{Title: "Fix version comparison"}, ""},
		{NoiseInput{Title: "Update version handling in parser"}, ""},
		{NoiseInput{Title: "Merge branch 'main' into dev"}, assay.ReasonBranchMerge},
		{NoiseInput{Title: "Merge develop into main"}, assay.ReasonBranchMerge},
		{NoiseInput{Title: "Things", Head: "develop", Base: "main", SameRepo: true}, assay.ReasonBranchMerge},
		{NoiseInput{Title: "Things", Head: "release/2.x", Base: "main", SameRepo: true}, assay.ReasonBranchMerge},
		{NoiseInput{Title: "Fix crash", Head: "main", Base: "main"}, ""},
		{NoiseInput{Title: "Fix crash", Head: "main", Base: "dev"}, ""},
		{NoiseInput{Title: "Merge branch 'main' of https://example.com/o/r"}, assay.ReasonBranchMerge},
		{NoiseInput{Title: "Merge branch 'fix-crash' into 'main'"}, ""},
		{NoiseInput{Title: "Merge pull request #12 from a/fix-crash"}, ""},
		{NoiseInput{Title: "Add page", Author: "renovate[bot] <29139614+renovate[bot]@users.noreply.example>"}, assay.ReasonBot},
		{NoiseInput{Title: "Merge sorted lists in linear time"}, ""},
		{NoiseInput{Title: "Merge overlapping ranges into one"}, ""},
		{NoiseInput{Title: "Fix crash", Head: "fix-main", Base: "main", SameRepo: true}, ""},
	} {
		got, detail := Noise(c.change)
		if got != c.want || (got == "") != (detail == "") {
			t.Errorf("%+v: %q (%s), want %q", c.change, got, detail, c.want)
		}
	}
}
