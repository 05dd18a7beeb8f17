package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

// A shop whose change mends one function; other files test another one, fail
// already, vary, hang, or take the test program down.
const shopBefore = `
-- pyproject.toml --
[project]
name = "shop"
requires-python = ">=3.9"
-- shop/__init__.py --
-- shop/cart.py --
def total(prices):
    return sum(prices[1:])


def count(prices):
    return len(prices)
-- tests/test_cart.py --
import unittest

from shop import cart


class Cart(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(cart.total([]), 0)
-- tests/test_count.py --
import unittest

from shop import cart


class Count(unittest.TestCase):
    def test_count(self):
        self.assertEqual(cart.count([1, 2]), 2)

    def test_already_broken(self):
        self.assertEqual(cart.count([1, 2]), 3)
-- tests/test_hangs.py --
import time
import unittest


class Hangs(unittest.TestCase):
    def test_hangs(self):
        time.sleep(600)
-- tests/test_dies.py --
import os
import unittest

os._exit(7)
-- tests/test_varies.py --
import unittest

COUNTER = %q


class Varies(unittest.TestCase):
    def test_varies(self):
        with open(COUNTER, "a+") as f:
            f.write(".")
            f.seek(0)
            self.assertTrue(len(f.read()) // 2 %% 2)
`

const shopChange = `
-- shop/cart.py --
def total(prices):
    return sum(prices)


def count(prices):
    return len(prices)
-- tests/test_cart.py --
import unittest

from shop import cart


class Cart(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(cart.total([]), 0)

    def test_all(self):
        self.assertEqual(cart.total([1, 2]), 3)
`

// breaksElsewhere mends what the task asks for, breaks another function, and
// edits the test that would tell.
const breaksElsewhere = `printf 'def total(prices):\n    return sum(prices)\n\n\ndef count(prices):\n    return 0\n' > shop/cart.py; ` +
	`sed -i 's/, 2)/, 0)/' tests/test_count.py`

// TestTheWholeSuiteCatchesRegressionsElsewhere: with the scope own an agent
// passes that breaks what the change's own tests don't look at; with all it
// fails. What can't be relied on is dropped and listed.
func TestTheWholeSuiteCatchesRegressionsElsewhere(t *testing.T) {
	need(t, "python", has(t, "python", "python3"), "needs python3")
	p := minedProject{before: fmt.Sprintf(shopBefore, t.TempDir()+"/counter"), change: shopChange}.build(t)
	p.write("mine.yml", "mine: {scope: all, file_sec: 6}\n")
	p.must(0, "build", "c.jsonl", "--tasks", "whole", "--config", "mine.yml")
	for _, dir := range []string{"mined", "whole"} {
		p.must(0, "validate", dir, "--sandbox", "local", "--repeats", "2", "--hunks", "0")
		if s := p.must(0, "validate", dir, "--sandbox", "local", "--repeats", "2", "--hunks", "0"); !strings.Contains(s.err, "(known)") {
			t.Errorf("it was proven again: %s", s.err)
		}
		p.must(0, "build", "c.jsonl", "--tasks", dir, "--id", "pull-2", "--config", map[string]string{"whole": "mine.yml"}[dir])
		p.write(dir+".yml", "tasks: "+dir+"\nsandbox: local\nout: r-"+dir+"\nagents: [oracle, nop, {name: command, label: breaks, command: [sh, -c, "+strconv.Quote(breaksElsewhere)+"]}]\n")
		p.must(0, "run", "--config", dir+".yml")
	}
	own, whole := p.task("mined/pull-2"), p.task("whole/pull-2")
	if d := cmp.Diff([]string{"test_cart.Cart::test_empty", "test_count.Count::test_count"}, whole.PassToPass); d != "" || len(own.PassToPass) != 1 {
		t.Errorf("PASS_TO_PASS of own %v, of all, want (-), got (+):\n%s", own.PassToPass, d)
	}
	v := whole.Validation
	if own.Validation.Scope != assay.ScopeOwn || v.Scope != assay.ScopeAll || own.Validation.Runs["base"] != 1 || v.Runs["base"] != 1 {
		t.Errorf("scopes %q %q, runs %v %v", own.Validation.Scope, v.Scope, own.Validation.Runs, v.Runs)
	}
	if d := cmp.Diff([]string{"test_varies.Varies::test_varies"}, v.Flaky); d != "" {
		t.Error("flaky:", d)
	}
	if !slices.Contains(v.BaseFailing, "test_count.Count::test_already_broken") || slices.Contains(v.BaseFailing, "test_count.Count::test_count") {
		t.Errorf("failing in the base: %q", v.BaseFailing) // the one that varies may be there too
	}
	if hangs, dies := v.Dropped["tests/test_hangs.py"], v.Dropped["tests/test_dies.py"]; len(v.Dropped) != 2 ||
		!strings.Contains(hangs, "it took more than 6s") || dies == "" {
		t.Errorf("dropped: %q", v.Dropped)
	}
	if r := p.results("r-mined"); r["breaks pull-2"].Outcome != assay.Passed {
		t.Errorf("own: %+v", r["breaks pull-2"])
	}
	r := p.results("r-whole")
	if got := r["breaks pull-2"]; got.Outcome != assay.Failed || !strings.Contains(got.Detail, "test_count.Count::test_count failed") {
		t.Errorf("all: %s: %s", got.Outcome, got.Detail)
	}
	if r["oracle pull-2"].Outcome != assay.Passed || r["nop pull-2"].Outcome != assay.Failed {
		t.Errorf("oracle %s, nop %s", r["oracle pull-2"].Outcome, r["nop pull-2"].Outcome)
	}
}
