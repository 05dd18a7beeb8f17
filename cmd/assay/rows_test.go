package main

import (
	"strings"
	"testing"
)

// proofOf proves a mined task in Docker and tells its verdict.
func proofOf(t *testing.T, p mined) (reason, detail string) {
	t.Helper()
	s := p.must(0, "validate", "mined", "--sandbox", "docker", "--repeats", "1", "--hunks", "0")
	v := p.task("mined/pull-2").Validation
	if v == nil {
		t.Fatalf("no verdict: %s%s", s.out, s.err)
	}
	return v.Status + " " + v.Reason, v.Detail
}

// TestMining19TestsThatCallTheNetwork: boxes have no network, and a task whose
// reference needs one is quarantined as such.
func TestMining19TestsThatCallTheNetwork(t *testing.T) {
	needDocker(t)
	m := minedProjects()[0]
	m.change = strings.Replace(m.change, "import unittest\n", "import os\nimport unittest\n", 1)
	m.change = strings.Replace(m.change, "cart.total([1, 2, 3]), 6)", "[n for n in os.listdir('/sys/class/net') if n.startswith('eth')] and cart.total([1, 2, 3]), 6)", 1)
	if got, detail := proofOf(t, m.build(t)); got != "quarantined needs_network" || !strings.Contains(detail, "network") {
		t.Errorf("%s: %s", got, detail)
	}
}

// TestMining44ImageHoldsTheChange: a Dockerfile that installs the project's own
// newer release hands the answer to every agent.
func TestMining44ImageHoldsTheChange(t *testing.T) {
	needDocker(t)
	p := minedProjects()[0].build(t)
	task := p.task("mined/pull-2")
	p.write("mined/pull-2/environment/Dockerfile", "FROM python:3.13-slim\nRUN mkdir -p /opt/site/shop && printf 'def total(prices):\\n    return sum(prices)\\n' >/opt/site/shop/cart.py\n")
	task.Environment.Shared, task.Environment.Image, task.Environment.Dockerfile = "", "", "environment/Dockerfile"
	p.writeJSON("mined/pull-2/task.json", task)
	if got, detail := proofOf(t, p); got != "rejected leak" || !strings.Contains(detail, "/opt/site/shop/cart.py") {
		t.Errorf("%s: %s", got, detail)
	}
}

// TestMining20AnotherPlatformIsRefused: a task for another processor is not
// proven here, and nothing is held against it.
func TestMining20AnotherPlatformIsRefused(t *testing.T) {
	needs(t)
	p := minedProjects()[0].build(t)
	task := p.task("mined/pull-2")
	task.Environment.Platform = "linux/s390x"
	p.writeJSON("mined/pull-2/task.json", task)
	s := p.types("validate", "mined", "--sandbox", "local", "--repeats", "1", "--hunks", "0")
	if v := p.task("mined/pull-2").Validation; v != nil || !strings.Contains(s.err, "machine_platform: the task is for linux/s390x") {
		t.Errorf("%+v\n%s%s", v, s.out, s.err)
	}
	task.Environment.Platform = ""
	p.writeJSON("mined/pull-2/task.json", task)
	p.must(0, "validate", "mined", "--sandbox", "local", "--repeats", "1", "--hunks", "0")
	task = p.task("mined/pull-2")
	task.Environment.Platform = "linux/s390x"
	p.writeJSON("mined/pull-2/task.json", task)
	p.write("run.yml", "tasks: mined\nsandbox: local\nout: r\n"+solves)
	p.types("run", "--config", "run.yml")
	if u := p.notRun("r")["solves"]; string(u.Kind) != "machine_platform" || len(p.results("r")) != 0 {
		t.Errorf("%+v %v", u, p.results("r"))
	}
}

// TestMining20ForeignInstructionsAreNoVerdict: a program that ends by SIGILL
// says something of the processor, and nothing of the task.
func TestMining20ForeignInstructionsAreNoVerdict(t *testing.T) {
	needs(t)
	p := minedProjects()[0].build(t)
	task := p.task("mined/pull-2")
	task.Checks[0].Command = []string{"sh", "-c", "kill -ILL $$"}
	p.writeJSON("mined/pull-2/task.json", task)
	s := p.types("validate", "mined", "--sandbox", "local", "--repeats", "1", "--hunks", "0")
	if v := p.task("mined/pull-2").Validation; v != nil || !strings.Contains(s.err, "not proven") || !strings.Contains(s.err, "SIGILL") {
		t.Errorf("%+v\n%s%s", v, s.out, s.err)
	}
}
