package publish

import (
	"fmt"
	"strings"
)

// block is a part of a text: rows that stand or fall as a whole, between a
// head and a tail.
type block struct {
	head, tail string
	rows       rows
	// most is the number of bytes it may take at most.
	most int
}

// rows are made one by one when they are needed: of thousands few are shown.
type rows struct {
	n  int
	at func(i int) string
}

// each are the rows of a list.
func each[T any](all []T, row func(T) string) rows {
	return rows{n: len(all), at: func(i int) string { return row(all[i]) }}
}

// fold hides a block until somebody opens it. title is text of this package.
func fold(title string, b block) block {
	b.head = "\n<details><summary>" + title + "</summary>\n\n" + b.head
	b.tail += "\n</details>\n"
	return b
}

// render is the block in at most n bytes: as many rows as fit, and a line that
// counts the others. Where not even that fits it is nothing.
func (b block) render(n int) string {
	if b.rows.n == 0 {
		return ""
	}
	n = min(n, b.most)
	rest := func(shown int) string {
		if shown == b.rows.n {
			return ""
		}
		return fmt.Sprintf("\n… and %d more.\n", b.rows.n-shown)
	}
	room := n - len(b.head) - len(b.tail) - len(rest(0))
	if room < 0 {
		return ""
	}
	var body strings.Builder
	shown := 0
	for ; shown < b.rows.n; shown++ {
		row := b.rows.at(shown)
		if body.Len()+len(row) > room {
			break
		}
		body.WriteString(row)
	}
	return b.head + body.String() + rest(shown) + b.tail
}

// compose puts blocks below each other in at most n bytes. Earlier ones have
// the first claim.
func compose(n int, blocks ...block) string {
	var out strings.Builder
	for _, b := range blocks {
		out.WriteString(b.render(n - out.Len()))
	}
	return out.String()
}

// text is a block that is all or nothing.
func text(s string) block {
	return block{rows: each([]string{s}, func(s string) string { return s }), most: len(s) + 64}
}
