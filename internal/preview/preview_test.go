package preview

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func drawn(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAPageOfAllParts(t *testing.T) {
	got := drawn(t, Page{Repo: "acme/shop", Title: "A <title>", Pull: 7, Notes: []string{"a note"}, Summary: "## Tables\n\n| a | b |\n| --- | ---: |\n| x | 1 |\n",
		Comments: []Comment{{Author: "bot", Body: "**Worse**\n\n<details><summary>More</summary>\n\n- one\n\n</details>\n\n<!-- assay:v1 -->\n", Edited: true}},
		Check: &Check{Name: "assay", SHA: "0123456789", Conclusion: "failure", Title: "worse", Summary: "s", Text: "t",
			Annotations: []Annotation{{Path: "a.json", Line: 3, Level: "warning", Title: "Task file", Message: "<b>"}}}})
	for _, want := range []string{"A &lt;title&gt;", "#7", "<strong>Worse</strong>", "<details><summary>More</summary>", "</details>", "· edited", "<table>",
		`<td align="right">1</td>`, `class="icon failure"`, "<code>0123456</code>", "a.json#L3", "&lt;b&gt;", "prefers-color-scheme: dark", `name="viewport"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(got, "assay:v1") || strings.Contains(got, "<script") {
		t.Error("what nobody should see is there")
	}
}

func TestEmptyPartsAreLeftOut(t *testing.T) {
	got := drawn(t, Page{Repo: "acme/shop", Summary: "x"})
	for _, id := range []string{`id="conversation"`, `id="checks"`, `href="#checks"`} {
		if strings.Contains(got, id) {
			t.Errorf("%s is there", id)
		}
	}
}

// tag finds elements that could do something.
var tag = regexp.MustCompile(`(?i)<(script|img|iframe|form|style|object|svg|b)[\s>/]`)

func actsNot(t *testing.T, md string) {
	t.Helper()
	got := string(markdown(md))
	if m := tag.FindString(got); m != "" {
		t.Errorf("%q makes %q: %q", md, m, got)
	}
	for _, m := range regexp.MustCompile(`<a [^>]*href="([^"]*)"`).FindAllStringSubmatch(got, -1) {
		if !strings.HasPrefix(strings.ToLower(m[1]), "http") {
			t.Errorf("%q links to %q", md, m[1])
		}
	}
	if m := regexp.MustCompile(`(?i)<[a-z][^>]*\son[a-z]+\s*=`).FindString(got); m != "" {
		t.Errorf("%q has a handler %q", md, m)
	}
}

func hostile() []string {
	return []string{"<script>x</script>", "<img src=x onerror=y>", "![x](http://e/x.png)", "[x](javascript:alert(1))", "<javascript:alert(1)>",
		"<details onclick=x>", "<details><script>x</script></details>", "<b>x</b>", "<!-- -->\n<script>", "<<details>script>", "<!<details>-- x -->",
		"<details\n><svg/onload=x>", "<style>*{}</style>", "<a href=\"javascript:x\">y</a>", "```html\n<script>\n```", "www.e.example", "a@b.example"}
}

func TestNothingOnThePageActs(t *testing.T) {
	for _, md := range hostile() {
		actsNot(t, md)
		actsNot(t, "x "+md+" y")
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, md := range hostile() {
		f.Add(md)
	}
	f.Fuzz(actsNot)
}
