package report

import (
	"bytes"
	"strings"

	"github.com/assaybot/assay/internal/plain"
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

// escape makes text of anywhere stand in a cell or line as it is. It is cut at
// maxCell.
func escape(s string) string {
	if s == nothing {
		return s // a single tilde strikes nothing through
	}
	return plain.Inline(s, maxCell)
}
