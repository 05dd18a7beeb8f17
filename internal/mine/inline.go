package mine

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Lines is a range of lines from First to Last, both counted from 1 and
// within it.
type Lines struct{ First, Last int }

// Inline is a change of one Rust file taken apart: the file with only its
// source changed, with only its tests changed, and the fragments of each.
type Inline struct {
	Source, Tests   []*gitdiff.TextFragment
	SourceOnly      []byte
	TestsOnly       []byte
	HasSource, Test bool
}

// SplitRust takes the change f of a Rust file from old to new apart: lines
// within #[cfg(test)] items and #[test] functions belong to the tests, all
// others to the source. ok is false where the two can't be told apart: then
// the change must be rejected as inline_tests_inseparable.
func SplitRust(f *gitdiff.File, old, new []byte) (out Inline, ok bool) {
	before, after := RustTests(old), RustTests(new)
	out.Source = pick(f.TextFragments, func(del, add int) bool { return !within(before, del) && !within(after, add) })
	out.Tests = pick(f.TextFragments, func(del, add int) bool { return within(before, del) || within(after, add) })
	out.HasSource, out.Test = len(out.Source) > 0, len(out.Tests) > 0
	var err error
	if out.SourceOnly, err = apply(f, out.Source, old); err != nil {
		return out, false
	}
	if out.TestsOnly, err = apply(f, out.Tests, old); err != nil {
		return out, false
	}
	// The proof: each half leaves the other's lines as they were, and brings
	// its own to where they should be.
	ok = same(sourceLines(out.SourceOnly), sourceLines(new)) && same(testLines(out.SourceOnly), testLines(old)) &&
		same(sourceLines(out.TestsOnly), sourceLines(old)) && same(testLines(out.TestsOnly), testLines(new))
	return out, ok
}

func within(ranges []Lines, n int) bool {
	for _, r := range ranges {
		if n >= r.First && n <= r.Last {
			return true
		}
	}
	return false
}

// pick keeps the changed lines for which mine is true; other additions are
// dropped and other deletions become context. mine gets the old line of a
// deletion or the new line of an addition, and 0 for the other. Fragments
// without a change are left out.
func pick(frags []*gitdiff.TextFragment, mine func(del, add int) bool) []*gitdiff.TextFragment {
	out := make([]*gitdiff.TextFragment, 0, len(frags))
	var shift int64
	for _, frag := range frags {
		c := &gitdiff.TextFragment{Comment: frag.Comment, OldPosition: frag.OldPosition}
		oldLine, newLine := int(frag.OldPosition), int(frag.NewPosition)
		for _, l := range frag.Lines {
			switch l.Op {
			case gitdiff.OpDelete:
				if !mine(oldLine, 0) {
					l.Op = gitdiff.OpContext
				}
				oldLine++
			case gitdiff.OpAdd:
				newLine++
				if !mine(0, newLine-1) {
					continue
				}
			default:
				oldLine, newLine = oldLine+1, newLine+1
			}
			count(c, l)
		}
		if c.LinesAdded+c.LinesDeleted == 0 {
			continue
		}
		c.NewPosition = c.OldPosition + shift
		if c.OldLines == 0 && c.OldPosition == 0 {
			c.NewPosition = 1
		}
		shift += c.LinesAdded - c.LinesDeleted
		out = append(out, c)
	}
	return out
}

// count appends a line to a fragment and keeps its numbers.
func count(c *gitdiff.TextFragment, l gitdiff.Line) {
	c.Lines = append(c.Lines, l)
	changed := c.LinesAdded+c.LinesDeleted > 0
	switch l.Op {
	case gitdiff.OpAdd:
		c.LinesAdded++
		c.NewLines++
		c.TrailingContext = 0
	case gitdiff.OpDelete:
		c.LinesDeleted++
		c.OldLines++
		c.TrailingContext = 0
	default:
		c.OldLines++
		c.NewLines++
		if changed {
			c.TrailingContext++
		} else {
			c.LeadingContext++
		}
	}
}

func apply(f *gitdiff.File, frags []*gitdiff.TextFragment, old []byte) ([]byte, error) {
	if len(frags) == 0 {
		return old, nil
	}
	part := *f
	part.TextFragments = frags
	var out bytes.Buffer
	if err := gitdiff.Apply(&out, bytes.NewReader(old), &part); err != nil {
		return nil, fmt.Errorf("applying a part of the change of %s: %w", f.NewName, err)
	}
	return out.Bytes(), nil
}

// sourceLines are the lines of src that aren't tests, testLines those that are;
// blank ones don't count.
func sourceLines(src []byte) []string { return selectLines(src, false) }

func testLines(src []byte) []string { return selectLines(src, true) }

func selectLines(src []byte, tests bool) []string {
	ranges := RustTests(src)
	var out []string
	for i, l := range strings.Split(string(src), "\n") {
		if l = strings.TrimSpace(l); l != "" && within(ranges, i+1) == tests {
			out = append(out, l)
		}
	}
	return out
}

func same(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// testAttr are attributes that make an item a test: cfg(test), cfg(all(test,
// ...)), test, tokio::test, test_case(...), rstest.
var testAttr = regexp.MustCompile(`^#\[\s*(?:cfg\s*\(\s*(?:all\s*\(\s*)?test\b|(?:\w+::)*(?:test|rstest|test_case|quickcheck)\s*[\](])`)

// RustTests lists the lines of src that are test items, with their attributes:
// from the first test attribute to the end of the item's body. Comments and
// strings are known, so that braces in them don't count.
func RustTests(src []byte) []Lines {
	code := blankRust(src)
	var out []Lines
	for at := 0; at < len(code); {
		i := bytes.Index(code[at:], []byte("#["))
		if i < 0 {
			break
		}
		at += i
		if !testAttr.Match(code[at:]) {
			at += 2
			continue
		}
		end := itemEnd(code, at)
		out = append(out, Lines{lineOf(code, at), lineOf(code, end)})
		at = end + 1
	}
	return out
}

// itemEnd is the last byte of the item that begins with an attribute at: the
// closing brace of its body, or its semicolon.
func itemEnd(code []byte, at int) int {
	depth := 0
	for i := at; i < len(code); i++ {
		switch code[i] {
		case '[', '(':
			depth++
		case ']', ')':
			depth--
		case ';':
			if depth == 0 {
				return i
			}
		case '{':
			if depth == 0 {
				return closing(code, i)
			}
		}
	}
	return len(code) - 1
}

func closing(code []byte, at int) int {
	depth := 0
	for i := at; i < len(code); i++ {
		switch code[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(code) - 1
}

func lineOf(code []byte, at int) int { return 1 + bytes.Count(code[:at], []byte("\n")) }
