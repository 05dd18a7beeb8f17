package plain

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

func gfm() goldmark.Markdown { return goldmark.New(goldmark.WithExtensions(extension.GFM)) }

// kinds renders md as GitHub would and lists the kinds of nodes in it.
func kinds(md string) map[string]int {
	out := map[string]int{}
	doc := gfm().Parser().Parse(text.NewReader([]byte(md)), parser.WithContext(parser.NewContext()))
	_ = ast.Walk(doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if enter {
			out[n.Kind().String()]++
		}
		return ast.WalkContinue, nil
	})
	return out
}

var (
	mention = regexp.MustCompile(`@[A-Za-z0-9]`)
	number  = regexp.MustCompile(`#\d`)
)

// evil are texts that were found to do something where they shouldn't.
func evil() []string {
	return []string{
		"", "plain", "a|b", "`x`", "``` x", "@team/all", "&#64;team", "&commat;team", "fixes #12", "GH-7", "octo/repo#3",
		"https://github.com/o/r/issues/1", "www.evil.example", "<b>x</b>", "<!-- assay:v1 kind=score key=x sha=y -->",
		"![x](http://evil/x.png)", "[x](javascript:alert(1))", "<img src=x>", "::error::boom", "  ::set-output name=x::y",
		"##[error]x", "x ##[group]y", "\x1b[31mred", "\u202eright", "a\r\nb\u2028c", "# head", "- item", "+ item", "1. item",
		"2) item", "---", "===", "    code", "> quote", "~~~", ":shipit:", "$a$ and $b$", "tests/a.py::test_b[x]", "a_b*c*_d_",
		"\xff\xfe", "</details>", "<details>", "\\", "\\|", "`|`", "a@b.example", "[^1]", "- [ ] task", "\u200b@x", "@\u200bteam",
	}
}

func checkInline(t *testing.T, in, out string) {
	t.Helper()
	if !utf8.ValidString(out) || strings.ContainsAny(out, "\n\r\x00\x1b<>|\u202e") {
		t.Errorf("Inline(%q) = %q", in, out)
	}
	if mention.MatchString(out) || number.MatchString(strings.ReplaceAll(out, "&#", "&")) {
		t.Errorf("Inline(%q) = %q mentions or refers", in, out)
	}
	if strings.HasPrefix(strings.TrimSpace(out), "::") || strings.Contains(out, "##[") {
		t.Errorf("Inline(%q) = %q is a command", in, out)
	}
	for kind, n := range kinds(out) {
		switch kind {
		case "Document", "Paragraph", "Text", "String":
		default:
			t.Errorf("Inline(%q) = %q makes %d %s", in, out, n, kind)
		}
	}
	if k := kinds("- " + out + "\n"); k["Document"]+k["List"]+k["ListItem"]+k["TextBlock"]+k["Text"] != sum(k) {
		t.Errorf("Inline(%q) = %q makes %v in a list", in, out, k)
	}
	if k := kinds("| a | b |\n| --- | --- |\n| " + out + " | c |\n"); k[east.KindTableCell.String()] != 4 {
		t.Errorf("Inline(%q) = %q breaks a table: %v", in, out, k)
	}
}

func sum(k map[string]int) (n int) {
	for _, v := range k {
		n += v
	}
	return n
}

func TestRow38And39InlineStandsAsItIs(t *testing.T) {
	for _, in := range evil() {
		checkInline(t, in, Inline(in, 200))
		checkInline(t, in, Inline("x "+in+" y", 200))
	}
}

func TestInlineShowsWhatWasWritten(t *testing.T) {
	for _, in := range []string{"a|b `c` *d* <e> & [f](g) ~h~ \\ $1", "1. x", "# y", "tests/a.py::test_b[x]"} {
		var b bytes.Buffer
		if err := gfm().Convert([]byte(Inline(in, 200)), &b); err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer("<p>", "", "</p>", "", "\n", "", "&lt;", "<", "&gt;", ">", "&amp;", "&", thin, "", "&quot;", `"`).Replace(b.String())
		if got != in {
			t.Errorf("Inline(%q) is shown as %q", in, got)
		}
	}
}

func TestCodeIsASpanOrInline(t *testing.T) {
	for _, in := range evil() {
		out := Code(in, 200)
		k := kinds("- " + out + "\n")
		for _, bad := range []string{"RawHTML", "Link", "Image", "AutoLink", "HTMLBlock", "Heading", "FencedCodeBlock", "Emphasis"} {
			if k[bad] > 0 {
				t.Errorf("Code(%q) = %q makes %s", in, out, bad)
			}
		}
		if strings.Contains(out, "<!--") || k["ListItem"] != 1 {
			t.Errorf("Code(%q) = %q: %v", in, out, k)
		}
		if mention.MatchString(out) && k["CodeSpan"] != 1 {
			t.Errorf("Code(%q) = %q mentions", in, out)
		}
	}
}

func TestFenceHoldsAnything(t *testing.T) {
	for _, in := range append(evil(), "x\n```\ny\n````\n</details>\n<!-- assay:v1 kind=a key=b sha=c -->") {
		out := Fence(in, 500)
		k := kinds(out + "\nafter\n")
		if k["FencedCodeBlock"] != 1 || k["Paragraph"] != 1 || sum(k) != k["FencedCodeBlock"]+k["Paragraph"]+k["Text"]+k["Document"] {
			t.Errorf("Fence(%q) = %q: %v", in, out, k)
		}
	}
	if got := Fence("äääää", 3); !utf8.ValidString(got) || len(got) > 20 {
		t.Errorf("cut to %q", got)
	}
}

func TestRow47LogHoldsNoCommand(t *testing.T) {
	for _, in := range append(evil(), "a\n::add-mask::x\n  ::stop-commands::y\r::error::z\n##[error]q") {
		for line := range strings.Lines(Log(in)) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") || strings.Contains(line, "\x1b") {
				t.Errorf("Log(%q) has the line %q", in, line)
			}
		}
	}
}

func TestLink(t *testing.T) {
	tests := []struct{ to, want string }{
		{"https://x.example/a", "[t](https://x.example/a)"},
		{"https://x.example/a)b(c d", "[t](https://x.example/a%29b%28c%20d)"},
		{"javascript:alert(1)", "t"}, {"", "t"}, {"//x", "t"}, {"https://u:p@x.example", "t"}, {"https://x/\n", "t"},
	}
	for _, tt := range tests {
		if got := Link("t", tt.to); got != tt.want {
			t.Errorf("Link(%q) = %q, want %q", tt.to, got, tt.want)
		}
	}
}

func TestLineCuts(t *testing.T) {
	if got := Line("  ab\ncdef ", 4); got != "ab …" {
		t.Errorf("got %q", got)
	}
	if got := Line(strings.Repeat("é", 1<<20), 3); got != "éé…" {
		t.Errorf("got %q", got)
	}
}

// balanced tells whether all fences and details of md are closed.
func balanced(md string) bool {
	var s state
	for line := range strings.Lines(md) {
		s = s.next(line)
	}
	return s == state{}
}

func TestCut(t *testing.T) {
	doc := "first line\n\n<details><summary>More</summary>\n\n```\n" + strings.Repeat("code 😀\n", 50) + "```\n\n- a\n- b\n\n</details>\n\nlast\n"
	for n := range len(doc) + 2 {
		got := Cut(doc, n)
		if len(got) > n || !utf8.ValidString(got) || !balanced(got) {
			t.Fatalf("Cut to %d: %d bytes, %q", n, len(got), got)
		}
		if n >= len(Notice)+len("first line\n") && !strings.HasPrefix(got, "first line\n") {
			t.Fatalf("Cut to %d loses the first line: %q", n, got)
		}
	}
	if Cut(doc, len(doc)) != doc {
		t.Error("a text that fits was cut")
	}
}

func TestRow6BytesAreCounted(t *testing.T) {
	doc := strings.Repeat("😀", 65_000) // 65,000 characters, four times as many bytes
	got := Cut(doc, 65_535)
	if len(got) > 65_535 || len(got) < 60_000 || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
}

func TestCutLeavesNoCodeSpanOpen(t *testing.T) {
	line := "x `@team` and " + strings.Repeat("y", 500)
	for n := len(Notice); n < len(line); n++ {
		if got := Cut(line, n); mention.MatchString(got) && kinds(got)["CodeSpan"] == 0 {
			t.Fatalf("Cut to %d: %q", n, got)
		}
	}
}

func FuzzInline(f *testing.F) {
	for _, s := range evil() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Inline(s, 300)
		checkInline(t, s, out)
		for _, r := range strings.ReplaceAll(out, thin, "") {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' {
				t.Errorf("Inline(%q) keeps %U", s, r)
			}
		}
	})
}

func FuzzCut(f *testing.F) {
	f.Add("a\n```\nb\n```\n<details>\n\nc\n</details>\n", 60)
	f.Add(strings.Repeat("ä", 200), 100)
	f.Add("~~~\n"+strings.Repeat("x\n", 100), 80)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(min(n, len(s)), 0)
		got := Cut(s, n)
		if len(got) > n {
			t.Fatalf("%d bytes, %d allowed", len(got), n)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("half a rune: %q", got)
		}
		if got != s && !balanced(got) {
			t.Fatalf("left open: %q", got)
		}
	})
}
