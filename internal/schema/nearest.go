package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Nearest is the entry of of that word was probably meant to be, "" if none
// is close: a difference in letter case only, or at most one edit (insert,
// delete, replace, swap) per three letters. The first of equals wins.
func Nearest(word string, of []string) string {
	const longest = 200
	if word == "" || len(word) > longest {
		return ""
	}
	best, least := "", 1+utf8.RuneCountInString(word)/3
	if least > 4 {
		least = 4
	}
	for _, w := range of {
		if len(w) > longest || w == "" {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(w)); d < least || (d == least && best == "") {
			best, least = w, d
		}
	}
	return best
}

// Hint is `; did you mean "x"?` for Nearest, "" if nothing is near.
func Hint(word string, of []string) string {
	if near := Nearest(word, of); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// distance is the optimal string alignment distance in runes.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	prev := make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(y)]
}
