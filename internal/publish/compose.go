package publish

import (
	"fmt"
	"strings"
)

// block is a part of a text: rows that stand or fall as a whole, between a
// head and a tail.
type block struct {
	head, tail string
	rows       []string
	// most is the number of bytes it may take at most.
	most int
	// all is how many things there are, where rows holds only some of them.
	all int
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
	if len(b.rows) == 0 && b.all == 0 {
		return ""
	}
	n = min(n, b.most)
	all := max(b.all, len(b.rows))
	rest := func(shown int) string {
		if shown == all {
			return ""
		}
		return fmt.Sprintf("\n… and %d more.\n", all-shown)
	}
	room := n - len(b.head) - len(b.tail) - len(rest(0))
	shown, used := 0, 0
	for shown < len(b.rows) && used+len(b.rows[shown]) <= room {
		used += len(b.rows[shown])
		shown++
	}
	out := b.head + strings.Join(b.rows[:shown], "") + rest(shown) + b.tail
	if room < 0 || len(out) > n {
		return ""
	}
	return out
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
func text(s string) block { return block{rows: []string{s}, most: len(s) + 64} }
