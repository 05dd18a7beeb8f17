package testlog

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// tally holds what a testsuite declares of itself against what it holds.
type tally struct {
	name     string
	pytest   bool
	tests    int // declared; -1: not declared
	failures int // declared failures and errors; -1: not declared
	own, all counts
	ids      map[string]bool // of own; true once failing
}

// counts are of testcases; every pair is a lower and an upper bound of what a
// correct total may be, since programs differ in how they count a test that
// fails twice or is run again.
type counts struct {
	ids, cases    int
	failed, elems int
	reruns        int
}

func (c *counts) add(d counts) {
	c.ids += d.ids
	c.cases += d.cases
	c.failed += d.failed
	c.elems += d.elems
	c.reruns += d.reruns
}

func newTally(e xml.StartElement) *tally {
	t := &tally{name: attr(e, "name"), tests: total(e, "tests"), failures: -1, ids: map[string]bool{}}
	t.pytest = strings.HasPrefix(t.name, "pytest")
	f, err := total(e, "failures"), total(e, "errors")
	if f >= 0 || err >= 0 {
		t.failures = max(f, 0) + max(err, 0)
	}
	return t
}

// total is a count attribute; -1 when it is absent or no plain number.
func total(e xml.StartElement, name string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attr(e, name)))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func (t *tally) count(c *junitCase) {
	failing := Failing(c.result.Status)
	one := counts{cases: 1, elems: c.elems, reruns: c.reruns}
	if failing && c.elems == 0 {
		one.elems = 1
	}
	was, seen := t.ids[c.result.ID]
	if !seen {
		one.ids = 1
	}
	if failing && !was {
		one.failed = 1
	}
	t.ids[c.result.ID] = was || failing
	t.own.add(one)
	t.all.add(one)
}

// contradiction says why the declared totals can't be those of the cases, ""
// if they can. A total may count a suite's own cases or all below it. pytest
// adds subtests and teardown errors to its total, which have no case.
func (t *tally) contradiction(pytest bool) string {
	if t.tests >= 0 && !fits(t.tests, t.own, pytest) && !fits(t.tests, t.all, pytest) {
		return fmt.Sprintf("%d tests declared, %d found", t.tests, t.all.cases)
	}
	if t.failures >= 0 && !fitsFailed(t.failures, t.own) && !fitsFailed(t.failures, t.all) {
		return fmt.Sprintf("%d failures and errors declared, %d found", t.failures, t.all.failed)
	}
	return ""
}

func fits(n int, c counts, pytest bool) bool {
	return c.ids <= n && (pytest || n <= c.cases+c.reruns)
}

func fitsFailed(n int, c counts) bool { return c.failed <= n && n <= c.elems+c.reruns }
