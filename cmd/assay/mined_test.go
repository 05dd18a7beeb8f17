package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testkit/repo"
)

// minedProject is a small project in one language: how it was before a pull
// request, the files that the pull request changed, and what proves it.
type minedProject struct {
	language, before, change string
	fails, passes            []string
	requires                 string
}

func minedProjects() []minedProject {
	return []minedProject{
		{
			language: "python", requires: "python3",
			before: `
-- pyproject.toml --
[project]
name = "shop"
requires-python = ">=3.9"
-- shop/__init__.py --
-- shop/cart.py --
def total(prices):
    return sum(prices[1:])
-- tests/test_cart.py --
import unittest

from shop import cart


class Cart(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(cart.total([]), 0)
`,
			change: `
-- shop/cart.py --
def total(prices):
    return sum(prices)
-- tests/test_cart.py --
import unittest

from shop import cart


class Cart(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(cart.total([]), 0)

    def test_all_count(self):
        self.assertEqual(cart.total([1, 2, 3]), 6)
`,
			fails: []string{"test_cart.Cart::test_all_count"}, passes: []string{"test_cart.Cart::test_empty"},
		},
		{
			language: "go", requires: "go",
			before: `
-- go.mod --
module example.com/shop

go 1.24
-- cart/cart.go --
// Package cart adds up.
package cart

// Total is the sum of prices.
func Total(prices ...int) (sum int) {
	for i := 1; i < len(prices); i++ {
		sum += prices[i]
	}
	return sum
}
-- cart/cart_test.go --
package cart

import "testing"

func TestEmpty(t *testing.T) {
	if Total() != 0 {
		t.Error("not nothing")
	}
}
`,
			change: `
-- cart/cart.go --
// Package cart adds up.
package cart

// Total is the sum of prices.
func Total(prices ...int) (sum int) {
	for _, p := range prices {
		sum += p
	}
	return sum
}
-- cart/cart_test.go --
package cart

import "testing"

func TestEmpty(t *testing.T) {
	if Total() != 0 {
		t.Error("not nothing")
	}
}

func TestAll(t *testing.T) {
	t.Run("three", func(t *testing.T) {
		if got := Total(1, 2, 3); got != 6 {
			t.Errorf("got %d", got)
		}
	})
}
`,
			fails:  []string{"example.com/shop/cart.TestAll", "example.com/shop/cart.TestAll/three"},
			passes: []string{"example.com/shop/cart.TestEmpty"},
		},
		{
			language: "javascript", requires: "node",
			before: `
-- package.json --
{"name": "shop", "private": true, "type": "module", "scripts": {"test": "node --test"}}
-- cart.js --
export const total = (prices) => prices.slice(1).reduce((a, b) => a + b, 0);
-- test/cart.test.js --
import assert from "node:assert";
import { test } from "node:test";
import { total } from "../cart.js";

test("empty", () => assert.equal(total([]), 0));
`,
			change: `
-- cart.js --
export const total = (prices) => prices.reduce((a, b) => a + b, 0);
-- test/cart.test.js --
import assert from "node:assert";
import { test } from "node:test";
import { total } from "../cart.js";

test("empty", () => assert.equal(total([]), 0));
test("all count", () => assert.equal(total([1, 2, 3]), 6));
`,
			fails: []string{"test::all count"}, passes: []string{"test::empty"},
		},
	}
}

// mined is a person with a project's repository that was mined and built.
type mined struct {
	*person
	repo *repo.Repo
	gold string
}

func (m minedProject) build(t *testing.T) mined {
	t.Helper()
	p := newPerson(t)
	r := repo.New(t.Context(), p.path("repository"), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	r.Commit("Ada <ada@example.com>", "Start", archived(m.before))
	r.Now = r.Now.AddDate(0, 0, 7)
	gold := r.Commit("Ben <ben@example.com>", "Count the first price too (#2)\n\nThe total leaves out the first price.\n\nFixes #1", archived(m.change))
	r.Git("tag", "v1")
	r.Commit("Ada <ada@example.com>", "Later work (#3)", repo.Files{"later.txt": repo.F("later\n")})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	p.must(0, "mine", "--repo", "repository", "--since", "2026-01-03", "--out", "c.jsonl")
	if s := p.must(0, "build", "c.jsonl", "--tasks", "mined"); !strings.Contains(s.out, "1 task built in mined") {
		t.Fatalf("%s%s", s.out, s.err)
	}
	return mined{p, r, gold}
}

func archived(text string) repo.Files {
	out := repo.Files{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		out[f.Name] = repo.F(string(f.Data))
	}
	return out
}

func (p *person) task(name string) (t assay.Task) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(read(p.t, filepath.Join(p.path(name), "task.json"))), &t); err != nil {
		p.t.Fatal(err)
	}
	return t
}

// TestMinedTasksProveThemselves: a pull request of each language becomes a
// task that its own tests prove both ways, through the command line alone.
func TestMinedTasksProveThemselves(t *testing.T) {
	needDocker(t)
	for _, project := range minedProjects() {
		t.Run(project.language, func(t *testing.T) {
			p := project.build(t)
			if got := p.task("mined/pull-2").Environment.Requires; !slices.Equal(got, []string{project.requires}) {
				t.Errorf("it requires %v", got)
			}
			prove := []string{"validate", "mined", "--sandbox", "docker", "--repeats", "2", "--hunks", "2"}
			p.must(0, prove...)
			task := p.task("mined/pull-2")
			if task.Validation == nil || task.Validation.Status != "valid" || task.Strength == nil || task.Strength.Share != 1 {
				t.Fatalf("validation %+v, strength %+v", task.Validation, task.Strength)
			}
			if d := cmp.Diff([][]string{project.fails, project.passes}, [][]string{task.FailToPass, task.PassToPass}); d != "" {
				t.Errorf("FAIL_TO_PASS and PASS_TO_PASS, want (-), got (+):\n%s", d)
			}
			if clock := task.Validation.Probes["clock"]; (project.language == "go") != strings.HasPrefix(clock, "not shifted: Go") {
				t.Errorf("the probe of the clock: %q", clock)
			}
			p.unchanged(t, prove)
			p.must(0, "run", "--tasks", "mined", "--agents", "oracle,nop", "--sandbox", "docker", "--out", "r")
			results := p.results("r")
			if o, n := results["oracle pull-2"].Outcome, results["nop pull-2"].Outcome; o != assay.Passed || n != assay.Failed {
				t.Errorf("oracle %s, nop %s", o, n)
			}
			p.noneLeft("r")
			p.noneLeft("mined")
		})
	}
}

// unchanged: to build and validate again costs nothing and loses nothing.
func (p mined) unchanged(t *testing.T, prove []string) {
	t.Helper()
	file := filepath.Join(p.path("mined/pull-2"), "task.json")
	before := read(t, file)
	if s := p.must(0, "build", "c.jsonl", "--tasks", "mined"); !strings.Contains(s.out, "0 tasks built in mined, 1 as before") {
		t.Errorf("building again: %s", s.out)
	}
	// The engine needn't even be asked for an image.
	if s := p.must(0, prove...); !strings.Contains(s.err, "pull-2         valid (known)") {
		t.Errorf("validating again: %s", s.err)
	}
	if after := read(t, file); after != before {
		t.Errorf("task.json was\n%s\nand is\n%s", before, after)
	}
}

// spy prints all that git knows in the agent's workspace.
const spy = `git log --all --format='log %H %s'; git reflog --all; git fsck --lost-found --unreachable --no-reflogs
for object in "$@"; do echo "asked $object: $(git cat-file -t "$object" 2>&1)"; done
echo "remotes: $(git remote)."; echo "tags: $(git tag)."; echo "objects: $(git rev-list --all --count)"
grep -rl "sum(prices)" . && echo "found the solution"
echo done`

// TestMining14AgentsBoxHoldsNothingNewer: the repository in an agent's box is one
// commit, and no object of the change is in it by any name.
func TestMining14AgentsBoxHoldsNothingNewer(t *testing.T) {
	if !has(t, "python", "python3") {
		t.Skip("needs python3")
	}
	sandboxes(t, func(t *testing.T, sandbox string) {
		p := minedProjects()[0].build(t)
		p.must(0, "validate", "mined", "--sandbox", sandbox, "--repeats", "1", "--hunks", "0")
		blob := p.repo.Git("rev-parse", p.gold+":shop/cart.py")
		tests := p.repo.Git("rev-parse", p.gold+":tests/test_cart.py")
		root := p.repo.Git("rev-parse", p.gold+"^{tree}")
		later := p.repo.Git("rev-parse", "HEAD")
		kept := p.repo.Git("rev-parse", p.gold+":pyproject.toml")
		if err := p.repo.Err(); err != nil {
			t.Fatal(err)
		}
		p.writeJSON("run.json", assay.Request{
			Tasks: "mined", Sandbox: sandbox, Out: "r",
			Agents: []assay.AgentSpec{{Name: "command", Command: []string{"sh", "-c", spy, "spy", p.gold, blob, tests, root, later, kept}}},
		})
		p.must(0, "run", "--config", "run.json")
		r := p.results("r")["command pull-2"]
		said := read(t, filepath.Join(p.attempt("r", r), "transcript.jsonl"))
		t.Log(said)
		for _, object := range []string{p.gold, blob, tests, root, later} {
			if !strings.Contains(said, "asked "+object+": fatal: ") {
				t.Errorf("the object %s is in the box", object)
			}
		}
		for want, why := range map[string]string{
			"asked " + kept + ": blob": "the base itself isn't there",
			"remotes: .":               "there is a remote",
			"tags: .":                  "there is a tag",
			"objects: 1":               "there is more than one commit",
			"done":                     "the spy didn't come to its end",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: no %q", why, want)
			}
		}
		for _, bad := range []string{"unreachable ", "dangling ", "Count the first", "found the solution"} {
			if strings.Contains(said, bad) {
				t.Errorf("the transcript says %q", bad)
			}
		}
		if r.Outcome != assay.Failed {
			t.Errorf("outcome %s: %s", r.Outcome, r.Detail)
		}
	})
}

// TestInterruptedValidationGoesOn: the first interrupt lets the task under
// way come to its end; the same command proves the rest and nothing twice.
func TestInterruptedValidationGoesOn(t *testing.T) {
	if !has(t, "python", "python3") {
		t.Skip("needs python3")
	}
	p := minedProjects()[0].build(t)
	// A second task, and a gate in the first one's setup.
	first := p.task("mined/pull-2")
	first.Environment.Setup = []string{"touch " + p.path("at-work") + "; while ! test -e " + p.path("go-on") + "; do sleep 0.02; done"}
	p.writeJSON("mined/pull-2/task.json", first)
	if err := os.CopyFS(p.path("mined/pull-9"), os.DirFS(p.path("mined/pull-2"))); err != nil {
		t.Fatal(err)
	}
	first.ID, first.Environment.Setup = "pull-9", nil
	p.writeJSON("mined/pull-9/task.json", first)

	args := []string{"validate", "mined", "--sandbox", "local", "--repeats", "1", "--hunks", "0", "--jobs", "1"}
	cmd := p.command(args...)
	errs, err := os.Create(p.path("stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errs.Close() }()
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.await("at-work")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.awaitText("stderr", "finishing what runs")
	p.write("go-on", "")
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("status %d: %s", cmd.ProcessState.ExitCode(), read(t, p.path("stderr")))
	}
	if one, two := p.task("mined/pull-2").Validation, p.task("mined/pull-9").Validation; one == nil || one.Status != "valid" || two != nil {
		t.Errorf("after the interrupt: %+v and %+v", one, two)
	}
	again := p.must(0, args...)
	if !strings.Contains(again.err, "pull-2         valid (known)") || strings.Contains(again.err, "pull-9         valid (known)") || p.task("mined/pull-9").Validation == nil {
		t.Errorf("the rerun: %s", again.err)
	}
}

// awaitText waits until a file holds a text.
func (p *person) awaitText(name, text string) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(read(p.t, p.path(name)), text) {
		select {
		case <-p.t.Context().Done():
			p.t.Fatalf("%s never said %q", name, text)
		case <-tick.C:
		}
	}
}
