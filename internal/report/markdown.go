package report

import (
	"bytes"
	"regexp"
	"strings"
)

// markdown writes tables as GitHub shows them. Every text that isn't a
// constant of this package passes escape.
func markdown(out *bytes.Buffer, r Report) {
	put := func(parts ...string) {
		for _, s := range parts {
			out.WriteString(s)
		}
		out.WriteString("\n")
	}
	put("## ", escape(r.Title), "\n\n**", escape(r.Summary), "**\n")
	if r.Suite != "" {
		put("Suite ", escape(r.Suite), "\n")
	}
	for _, n := range r.Notes {
		put("- ", escape(n))
	}
	for _, t := range tables(r) {
		put("\n### ", t.title, "\n")
		markdownTable(out, t)
		if t.note != "" {
			put("\n", t.note)
		}
	}
}

func markdownTable(out *bytes.Buffer, t table) {
	var rule strings.Builder
	for _, c := range t.cols {
		out.WriteString("| " + c.head + " ")
		if c.right {
			rule.WriteString("| ---: ")
		} else {
			rule.WriteString("| --- ")
		}
	}
	out.WriteString("|\n" + rule.String() + "|\n")
	for _, row := range t.rows {
		for _, c := range row {
			out.WriteString("| " + escape(c) + " ")
		}
		out.WriteString("|\n")
	}
}

// thin is a blank without width. It parts what GitHub would turn into a
// mention, a reference to an issue, or a link; an entity would not.
const thin = "\u200b"

// The patterns of GitHub's links that a report must never make.
var (
	reference = regexp.MustCompile(`(?i)(#|\bGH-)(\d)`)
	address   = regexp.MustCompile(`(?i)(\bhttps?|\bftp|\bmailto|\bxmpp|\bwww)([:.])`)
)

// literal writes the marks that mean something to Markdown so that they stand
// for themselves.
var literal = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", `\`, `\\`,
	"`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`, "@", "@"+thin)

// escape makes text of anywhere stand in a cell or line as it is: no table,
// markup, HTML, mention, reference or link comes of it. It is cut at maxCell.
func escape(s string) string {
	if s == nothing {
		return s // a single tilde strikes nothing through
	}
	s = cut(clean(s), maxCell)
	s = reference.ReplaceAllString(s, "${1}"+thin+"${2}")
	s = address.ReplaceAllString(s, "${1}"+thin+"${2}")
	s = literal.Replace(s)
	// A single dollar sign is money; two could be a formula.
	if strings.Count(s, "$") > 1 {
		s = strings.ReplaceAll(s, "$", "&#36;")
	}
	return s
}
