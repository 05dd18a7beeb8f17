package mine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

func day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

const plain = "When I parse a date before 1970 the parser returns an error that says the value is out of range. It should return the date."

func kinds(cs []assay.Confounder) []string {
	out := []string{}
	for _, c := range cs {
		out = append(out, c.Kind)
	}
	return out
}

func TestMining10NothingAfterTheFixBegan(t *testing.T) {
	issue := Issue{
		Number: 7, Title: "Old dates fail", Body: plain + " Fixed by changing line 40.", Created: day(1), Edited: day(9),
		Edits: []Edit{{day(9), plain + " Fixed by changing line 40."}, {day(1), plain[:40]}, {day(2), plain}},
		Comments: []Comment{
			{Author: "ann", Created: day(2), Body: "Same here.\r\n"},
			{Author: "bob", Created: day(2), Edited: day(8), Body: "See line 40, edited after."},
			{Author: "cat", Created: day(6), Body: "see line 40"},
			{Author: "dan", Created: day(5), Body: "at the same moment"},
		},
	}
	in := StatementInput{Pull: Pull{Number: 8, FirstCommit: day(5), Created: day(6)}, Issues: []Issue{issue}}
	got, cs := MakeStatement(in)
	want := assay.Statement{Origin: "issue", Number: 7, Title: "Old dates fail", Body: plain, Created: day(1), Edited: day(2), Clean: true, Hints: "ann:\nSame here."}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(cs) != 0 {
		t.Errorf("doubts: %+v", cs)
	}

	// Without the history the late edit stays, and is told.
	in.Issues[0].Edits = nil
	got, cs = MakeStatement(in)
	if got.Clean || !strings.Contains(got.Body, "line 40") || !cmp.Equal(kinds(cs), []string{DoubtSolution, DoubtLateEdit}) && !cmp.Equal(kinds(cs), []string{DoubtLateEdit}) {
		t.Errorf("unknown history: %+v, %+v", got, cs)
	}

	// Edited before the fix only: nothing to undo.
	in.Issues[0].Edited, in.Issues[0].Body = day(3), plain
	if got, _ = MakeStatement(in); !got.Clean || got.Body != plain || !got.Edited.Equal(day(3)) {
		t.Errorf("early edit: %+v", got)
	}
}

func TestStatementOrigin(t *testing.T) {
	a := Issue{Number: 9, Title: "Nine", Body: plain, Created: day(1)}
	b := Issue{Number: 4, Title: "Four", Body: "<!-- template -->\r\n" + plain + "\n\n\n\n\nMore.  \n", Created: day(1)}
	pull := Pull{Number: 12, Title: "Parse old dates", Body: plain, Created: day(3)}
	got, cs := MakeStatement(StatementInput{Pull: pull, Issues: []Issue{a, b}})
	if got.Number != 4 || got.Body != plain+"\n\nMore." || !cmp.Equal(kinds(cs), []string{DoubtMultiIssue}) || cs[0].Evidence != "#4, #9" {
		t.Errorf("two issues: %+v %+v", got, cs)
	}
	got, cs = MakeStatement(StatementInput{Pull: pull})
	if got.Origin != "pull" || got.Number != 12 || !got.Clean || !cmp.Equal(kinds(cs), []string{DoubtFromPull}) {
		t.Errorf("no issue: %+v %+v", got, cs)
	}
	a.Created = day(4)
	if _, cs = MakeStatement(StatementInput{Pull: pull, Issues: []Issue{a}}); !cmp.Equal(kinds(cs), []string{DoubtAfterWork}) {
		t.Errorf("late issue: %+v", cs)
	}
	if got, cs = MakeStatement(StatementInput{}); got.Origin != "pull" || !cmp.Equal(kinds(cs), []string{DoubtFromPull, DoubtNoStatement}) {
		t.Errorf("nothing: %+v %+v", got, cs)
	}
}

func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"fine", plain, []string{}},
		{"empty", "", []string{DoubtNoStatement}},
		{"only a template", "<!-- describe -->", []string{DoubtNoStatement}},
		{"short", "It crashes on start.", []string{DoubtTooShort}},
		{"link", "https://example.com/a/b", []string{DoubtOnlyLink}},
		{"titled link", "[see the thread](https://example.com/a)", []string{DoubtOnlyLink}},
		{"image", "![shot](https://example.com/a.png)", []string{DoubtOnlyImage, DoubtHasImage}},
		{"image tag", plain + "\n<img width=1 src=\"x\">", []string{DoubtHasImage}},
		{"diff", plain + "\n```diff\n-a\n+b\n```", []string{DoubtContainsDiff}},
		{"hunk", plain + "\n@@ -1,2 +3 @@\n", []string{DoubtContainsDiff}},
		{"solution", plain + " The fix is to drop the check.", []string{DoubtSolution}},
		{"solution in a quote", plain + "\n> the fix is to drop the check", []string{}},
		{"taste", plain + " What do you think?", []string{DoubtTaste}},
		{"outside", plain + " See https://gist.github.com/x/1.", []string{DoubtOutside}},
		{"attachment", plain + " https://github.com/o/r/files/123/log.zip", []string{DoubtOutside}},
		{"sha", plain + " Broken since 1a2b3c4d.", []string{DoubtContainsSHA}},
		{"no sha", plain + " Since 20260101 it is defaced at 1234567.", []string{}},
		{"gold", plain + " Maybe   return epoch.add(offset, clamp=False) does it", []string{DoubtGold}},
		{"gold line", plain + " Look at src/date.py:40 for it", []string{DoubtGold}},
		{"file only", plain + " Look at src/date.py for it", []string{}},
		{"Chinese", "解析一九七〇年以前的日期时出错，解析器返回超出范围的错误。应该返回日期。请修复这个问题，谢谢大家的帮助。", []string{DoubtTooShort, DoubtNonEnglish}},
		{"German", "Wenn ich ein Datum vor dem Jahr einlese, dann meldet der Parser einen Fehler und bricht ab. Er soll aber das Datum liefern, so wie es früher auch war.", []string{DoubtNonEnglish}},
		{"code isn't a language", plain + "\n```\n" + strings.Repeat("数据 ", 60) + "\n```", []string{}},
	} {
		in := StatementInput{Pull: Pull{Created: day(3)}, Issues: []Issue{{Number: 1, Title: "Dates", Body: c.body, Created: day(1)}},
			Gold: []string{"    return epoch.add(offset, clamp=False)", "}"}, Paths: []string{"src/date.py"}}
		_, cs := MakeStatement(in)
		if d := cmp.Diff(c.want, kinds(cs)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		for _, d := range cs {
			if d.Evidence == "" || len([]rune(d.Evidence)) > 160 || strings.Contains(d.Evidence, "\n") {
				t.Errorf("%s: evidence %q", c.name, d.Evidence)
			}
		}
	}
}

func TestProseAndTidy(t *testing.T) {
	for _, c := range []struct{ in, prose, tidy string }{
		{"a <!-- x --> b", "a   b", "a   b"},
		{"a\n<!-- x\ny -->\nb", "a\n\n\nb", "a\n\nb"},
		{"```html\n<!-- kept\n```\nfixes #1", "\n\n\nfixes #1", "```html\n<!-- kept\n```\nfixes #1"},
		{"the `<!--` mark\nb", "the   mark\nb", "the `<!--` mark\nb"},
		{"a <!-- open\nb", "a <!-- open\nb", "a <!-- open\nb"},
		{"<!-- open\nb", "\n", ""},
		{"<!-- ``` -->\nb\n", " \nb\n", "b"},
		{"a\n> q\nb", "a\n\nb", "a\n> q\nb"},
		{"<!-- a --> b <!-- c\nd --> e `f`", "  b \n e  ", "b\n e `f`"},
	} {
		if got := Prose(c.in); got != c.prose {
			t.Errorf("Prose(%q) = %q, want %q", c.in, got, c.prose)
		}
		if got := tidy(c.in); got != c.tidy {
			t.Errorf("tidy(%q) = %q, want %q", c.in, got, c.tidy)
		}
	}
}

func FuzzStatement(f *testing.F) {
	for _, s := range []string{"", plain, "<!--", "```", "![", "\xff", "@@ -1 +1 @@", "[a](b)"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, title, body string) {
		s, cs := MakeStatement(StatementInput{Issues: []Issue{{Number: 1, Title: title, Body: body}}, Gold: []string{body}, Paths: []string{title}})
		if strings.Contains(s.Body, "\r") || strings.TrimSpace(s.Body) != s.Body {
			t.Fatalf("not tidy: %q", s.Body)
		}
		for _, c := range cs {
			if c.Kind == "" {
				t.Fatalf("a doubt without a kind for %q", body)
			}
		}
	})
}
