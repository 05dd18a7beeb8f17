package report

import (
	"encoding/csv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/joshdk/go-junit"
	"github.com/mattn/go-runewidth"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/assaybot/assay/internal/assay"
)

// hostile texts for every renderer.
func hostile() []string {
	return []string{
		evilTask, evilClause, "a | b", "a\\| b", "`", "```\nfence", "<!-- x", "</details>", "@octocat", "x@octocat hi",
		"#1", "see owner/repo#12", "gh-33", "GH-33", "fixes #9", "http://evil.example", "www.evil.example/x", "[a](b)", "![i](http://x)",
		"~~x~~", "__init__", "**b**", "$a$ $b$", "&lt;b&gt;", "&#64;octocat", "# head", "- [ ] item", "---", "===", "\xff\xfe bad", "a\u2028b",
		"\x1b]0;title\x07", "mailto:a@b.c", "<http://a.b>", strings.Repeat("é|", 400), "-1", "+1", "=1", "　@x", "\\", "\\\\", "a\\", "",
	}
}

func hostileInput() Input {
	in := Input{Title: "t"}
	for i, h := range hostile() {
		t := trialOf("task "+h, h, "m"+h, "", "v"+h, i)
		r := miss(resultOf(t, 1, assay.Failed), assay.CheckResult{Name: h, Kind: assay.CheckCommand, Status: assay.CheckIntegrity, Clause: h,
			Misses: []assay.TestResult{{ID: h, Status: assay.TestFailed, Message: h}}})
		r.Detail = h
		in.Results = append(in.Results, r)
		in.NotRun = append(in.NotRun, assay.Unrunnable{Task: h, Agent: h, Reason: h})
		in.Problems.Addf(h, 1, "%s", h)
	}
	return in
}

func TestMarkdownIsInert(t *testing.T) {
	in := hostileInput()
	in.Title = evilTask
	src := []byte(rendered(t, Build(in), Style{Format: "markdown"}))
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	cols := 0
	err := ast.Walk(doc, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if !in {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.RawHTML, *ast.HTMLBlock, *ast.Link, *ast.Image, *ast.AutoLink, *ast.CodeSpan, *ast.FencedCodeBlock,
			*ast.CodeBlock, *ast.Blockquote, *ast.ThematicBreak, *east.Strikethrough, *east.TaskCheckBox:
			t.Errorf("foreign text made a %s: %q", n.Kind(), string(n.Parent().Lines().Value(src)))
		case *east.TableHeader:
			cols = n.ChildCount()
		case *east.TableRow:
			if n.ChildCount() != cols {
				t.Errorf("a row of %d cells in a table of %d", n.ChildCount(), cols)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMarkdownMakesNoMentionOrReference(t *testing.T) {
	for _, h := range hostile() {
		got := escape(h)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00\x1b\x07\u202e") {
			t.Errorf("%q: control characters in %q", h, got)
		}
		for i, r := range got {
			rest := got[i+utf8.RuneLen(r):]
			if r == '@' && !strings.HasPrefix(rest, "\u200b") {
				t.Errorf("%q: a mention in %q", h, got)
			}
			if r == '#' && rest != "" && rest[0] >= '0' && rest[0] <= '9' && (i == 0 || got[i-1] != '&') {
				t.Errorf("%q: a reference in %q", h, got)
			}
		}
		if strings.Contains(got, "://") && strings.Contains(got, "http:") || strings.Contains(got, "www.") {
			t.Errorf("%q: a link in %q", h, got)
		}
	}
}

func TestCSVReadsBackWithoutFormulas(t *testing.T) {
	r := Build(hostileInput())
	lines, err := csv.NewReader(strings.NewReader(rendered(t, r, Style{Format: "csv"}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != len(r.Trials)+1 {
		t.Errorf("%d lines for %d trials", len(lines), len(r.Trials))
	}
	for _, line := range lines {
		for _, cell := range line {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("a formula: %q", cell)
			}
		}
	}
}

func TestJUnitReadsBack(t *testing.T) {
	for _, in := range []Input{varied(), hostileInput(), {}} {
		r := Build(in)
		suites, err := junit.Ingest([]byte(rendered(t, r, Style{Format: "junit"})))
		if err != nil {
			t.Fatal(err)
		}
		var got junit.Totals
		for _, s := range suites {
			got.Tests += s.Totals.Tests
			got.Passed += s.Totals.Passed
			got.Failed += s.Totals.Failed
			got.Error += s.Totals.Error
			got.Skipped += s.Totals.Skipped
		}
		o := r.Totals.Outcomes
		want := junit.Totals{Tests: r.Totals.Trials, Passed: o[assay.Passed], Failed: r.Totals.N - o[assay.Passed],
			Error: o[assay.InfraFail], Skipped: o[assay.NotRun] + o[assay.Cancelled]}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if len(suites) != len(r.Headline) {
			t.Errorf("%d suites for %d rows", len(suites), len(r.Headline))
		}
	}
}

func TestJUnitNamesTheClause(t *testing.T) {
	suites, err := junit.Ingest([]byte(rendered(t, Build(varied()), Style{Format: "junit"})))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		for _, c := range s.Tests {
			if c.Classname == "nop / baseline" && strings.HasPrefix(c.Name, "date-parse") {
				if c.Message != "failed: dates before 1970 parse" || !strings.Contains(c.Error.Error(), "test_y[a b]") {
					t.Errorf("message %q, error %v", c.Message, c.Error)
				}
				return
			}
		}
	}
	t.Error("no case of nop")
}

func TestTerminalFitsItsWidth(t *testing.T) {
	measure := &runewidth.Condition{StrictEmojiNeutral: true}
	in := varied()
	in.Results = append(in.Results, hostileInput().Results...)
	in.Planned = nil
	in.Results = append(in.Results, resultOf(trialOf("数据解析器的一个很长的名字数据解析器的一个很长的名字", "代理", "模型", "", "变体", 0), 1, assay.Passed))
	r := Build(in)
	for _, width := range []int{60, 132} {
		for _, line := range strings.Split(rendered(t, r, Style{Format: "terminal", Width: width}), "\n") {
			if got := measure.StringWidth(line); got > width {
				t.Errorf("a line of %d columns at width %d: %q", got, width, line)
			}
			if strings.ContainsAny(line, "\x1b\x07\x00\r") {
				t.Errorf("control characters: %q", line)
			}
		}
	}
}

func TestColorsOnlyWhenAsked(t *testing.T) {
	r := Build(varied())
	plain := rendered(t, r, Style{Format: "terminal", Width: 100})
	colored := rendered(t, r, Style{Format: "terminal", Width: 100, Color: true})
	if strings.Contains(plain, "\x1b") || !strings.Contains(colored, "\x1b[1m") {
		t.Error("colours don't follow Color")
	}
	var bare strings.Builder
	for i := 0; i < len(colored); i++ {
		if colored[i] == 0x1b {
			i += strings.IndexByte(colored[i:], 'm')
			continue
		}
		bare.WriteByte(colored[i])
	}
	if bare.String() != plain {
		t.Error("colours move the text")
	}
}

func FuzzEscape(f *testing.F) {
	for _, h := range hostile() {
		f.Add(h)
	}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM))
	f.Fuzz(func(t *testing.T, s string) {
		src := []byte("| a | b |\n| --- | --- |\n| " + escape(s) + " | x |\n")
		doc := md.Parser().Parse(text.NewReader(src))
		table, ok := doc.LastChild().(*east.Table)
		if !ok || table.ChildCount() != 2 || table.LastChild().ChildCount() != 2 {
			t.Fatalf("the table is broken by %q: %q", s, src)
		}
		for n := table.LastChild().FirstChild().FirstChild(); n != nil; n = n.NextSibling() {
			switch n.Kind() {
			case ast.KindText, ast.KindString:
			default:
				t.Fatalf("%q makes a %s", s, n.Kind())
			}
		}
	})
}
