package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assaybot/assay/internal/assay"
)

// TestNoEngine: docker by name is an error that says what to do; auto falls
// back to local and says so.
func TestNoEngine(t *testing.T) {
	p := newPerson(t, "DOCKER_HOST=unix:///nowhere/docker.sock")
	asked := p.types("run", "--tasks", "suite", "--agents", "oracle", "--sandbox", "docker", "--out", "r")
	if asked.code == 0 || !strings.Contains(asked.err, "the Docker engine does not answer") || !strings.Contains(asked.err, "/nowhere/docker.sock") {
		t.Errorf("status %d: %s", asked.code, asked.err)
	}
	if _, err := os.Stat(p.path("r")); err == nil {
		t.Error("a run that could not begin left a results folder")
	}
	auto := p.must(0, "run", "--tasks", "suite", "--agents", "oracle", "--out", "r")
	if !strings.Contains(auto.err, "local sandbox") || !strings.Contains(auto.err, "the Docker engine does not answer") {
		t.Errorf("auto doesn't say what it fell back to: %s", auto.err)
	}
	for _, r := range p.results("r") {
		if r.Sandbox.Kind != "local" || r.Sandbox.Isolated {
			t.Errorf("the result says %+v", r.Sandbox)
		}
	}
	wrong := newPerson(t, "DOCKER_HOST=nonsense")
	if s := wrong.types("run", "--tasks", "suite", "--agents", "oracle", "--sandbox", "docker"); s.code != 2 || !strings.Contains(s.err, "address of the Docker engine is wrong") {
		t.Errorf("a wrong address: status %d: %s", s.code, s.err)
	}
}

// TestNoCredentials: an agent that needs a model is refused before anything
// is made, with all that is missing.
func TestNoCredentials(t *testing.T) {
	p := newPerson(t, "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=")
	s := p.types("run", "--tasks", "suite", "--agents", "claude-code", "--efforts", "lwo", "--sandbox", "local", "--out", "r")
	for _, want := range []string{"ANTHROPIC_API_KEY", "needs a model", `knows no effort "lwo"`, `"low"`} {
		if !strings.Contains(s.err, want) {
			t.Errorf("%q is not in: %s", want, s.err)
		}
	}
	if s.code != 2 {
		t.Errorf("status %d, want 2", s.code)
	}
	if _, err := os.Stat(p.path("r")); err == nil {
		t.Error("a refused run left a results folder")
	}
}

// oddSuite is a task with an odd name, whose files are CRLF, binary, empty,
// without a final newline and beyond ASCII; the hidden check wants them to
// the byte.
func (p *person) oddSuite() string {
	p.t.Helper()
	const id = "nàïve täsk 文"
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	before := map[string]string{
		"crlf.txt": "one\r\ntwo\r\n", "all.bin": string(all), "open.txt": "no end", "empty": "",
		"nàme with space.txt": "ä\n", "-rf": "dash\n", "run.sh": "#!/bin/sh\nexit 0\n",
	}
	after := map[string]string{
		"crlf.txt": "one\r\nTWO\r\nthree\n", "all.bin": string(all[128:]) + string(all), "open.txt": "no end still",
		"empty": "\r", "nàme with space.txt": "ö", "-rf": "", "new\tname": "\x00\xff\r",
	}
	var check strings.Builder
	for name, data := range before {
		p.write(filepath.Join("odd", id, "workspace", name), data)
	}
	n := 0
	for name, data := range after {
		n++
		want := "want" + string(rune('a'+n))
		p.write(filepath.Join("odd", id, "solution", name), data)
		p.write(filepath.Join("odd", id, "verify", want), data)
		check.WriteString("cmp './" + name + "' \"$1/" + want + "\" || exit 1\n")
	}
	p.write(filepath.Join("odd", id, "verify", "check.sh"), check.String()+"test -x run.sh\n")
	if err := os.Chmod(filepath.Join(p.dir, "odd", id, "workspace", "run.sh"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink("crlf.txt", filepath.Join(p.dir, "odd", id, "workspace", "link")); err != nil {
		p.t.Fatal(err)
	}
	p.writeJSON(filepath.Join("odd", id, "task.json"), map[string]any{
		"schema": 1, "id": id, "prompt": "Täsk: do it.\r\nAll of it", "environment": map[string]string{"image": "python:3.13-slim"},
		"limits": map[string]int{"memory_mb": 256},
		"checks": []map[string]any{{"name": "to the byte", "kind": "command", "command": []string{"sh", "{verify}/check.sh", "{verify}"}}},
	})
	return id
}

// TestOddFiles: names and bytes come through every step as they are.
func TestOddFiles(t *testing.T) {
	sandboxes(t, func(t *testing.T, sandbox string) {
		p := newPerson(t)
		id := p.oddSuite()
		if s := p.must(0, "lint", "odd"); !strings.Contains(s.err, "1 task, 0 variants, 0 problems") {
			t.Error(s.out, s.err)
		}
		p.must(0, "run", "--tasks", "odd", "--agents", "oracle,nop", "--sandbox", sandbox, "--out", "r", "--keep-workspace")
		results := p.results("r")
		if o := results["oracle "+id]; o.Outcome != assay.Passed {
			t.Errorf("oracle: %s, %s", o.Outcome, o.Detail)
		}
		if n := results["nop "+id]; n.Outcome != assay.Failed || len(n.Patch.Files) != 0 {
			t.Errorf("nop: %s, %s, patch %v", n.Outcome, n.Detail, n.Patch.Files)
		}
		if s := p.must(0, "grade", "r"); !strings.Contains(s.err, "2 attempts graded again, 0 changed") {
			t.Error(s.err)
		}
	})
}

// TestFullDisk: the run stops, says why with the status for "not all", counts
// nothing against the agent, and goes on when there is room.
func TestFullDisk(t *testing.T) {
	p := newPerson(t)
	disk := p.path("disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=320m"); err != nil {
		t.Skipf("a small disk can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	fill := assay.AgentSpec{Name: "command", Label: "fills", Command: []string{"sh", "-c", fix + "head -c 400000000 /dev/zero > '" + disk + "/full' || true"}}
	p.writeJSON("run.json", assay.Request{
		Tasks: "suite", Sandbox: "local", Out: disk + "/r", Jobs: 1, Agents: []assay.AgentSpec{fill, {Name: "oracle"}}, Task: []string{"greet"},
	})
	s := p.must(1, "run", "--config", "run.json")
	if !strings.Contains(s.err, "nearly full; nothing more was started") {
		t.Errorf("it doesn't say why it stopped: %s", s.err)
	}
	if err := os.Remove(disk + "/full"); err != nil {
		t.Fatal(err)
	}
	p.writeJSON("later.json", assay.Request{
		Tasks: "suite", Sandbox: "local", Out: disk + "/r", Agents: []assay.AgentSpec{{Name: "oracle"}}, Task: []string{"greet"},
	})
	p.must(0, "run", "--config", "later.json")
	results := p.results("disk/r")
	if r := results["oracle greet"]; r.Outcome != assay.Passed {
		t.Errorf("after there was room: oracle %s", r.Outcome)
	}
	if r, ok := results["fills greet"]; ok && r.Outcome.InRate() && r.Outcome != assay.Passed {
		t.Errorf("a full disk counts against the agent: %s, %s", r.Outcome, r.Detail)
	}
}

// TestConfigFaults: every fault of a configuration file is told at once, by
// line.
func TestConfigFaults(t *testing.T) {
	p := newPerson(t)
	p.write("run.yml", "tasks: suite\nagnets: [nop]\nagents:\n  - orcale\nrepeats: 0\njobs: two\nsandbox: lcoal\n")
	s := p.must(2, "run", "--config", "run.yml")
	for _, want := range []string{
		`run.yml:2: unknown field "agnets"; did you mean "agents"?`, `did you mean "oracle"?`,
		"run.yml:5: repeats is 0", "run.yml:6: ", `run.yml:7: the sandbox "lcoal" is unknown`,
	} {
		if !strings.Contains(s.err, want) {
			t.Errorf("%q is not in:\n%s", want, s.err)
		}
	}
	p.write("good.yml", "tasks: suite\nagents: [oracle, {name: command, label: mine, command: [\"true\"]}]\nsandbox: local\nout: from-file\n")
	if s := p.must(0, "run", "--config", "good.yml", "--task", "greet"); !strings.Contains(s.err, "from-file") {
		t.Error(s.err)
	}
	if s := p.must(2, "run", "--config", "none.yml"); !strings.Contains(s.err, "none.yml") {
		t.Error(s.err)
	}
}

// TestBuiltInSuiteInDocker: the reference passes all, doing nothing passes
// none, and the engine holds nothing of ours afterwards.
func TestBuiltInSuiteInDocker(t *testing.T) {
	needDocker(t)
	p := newPerson(t)
	s := p.must(0, "run", "--agents", "oracle,nop", "--sandbox", "docker", "--jobs", "2", "--out", "r")
	for _, r := range p.results("r") {
		if want := r.Trial.Agent.Name == "oracle"; r.Resolved != want || !r.Sandbox.Isolated {
			t.Errorf("%s: %s, isolated %v: %s", r.Trial.Dir(), r.Outcome, r.Sandbox.Isolated, r.Detail)
		}
	}
	if !strings.Contains(s.out, "18/18 ran") {
		t.Errorf("not all ran:\n%s", s.out)
	}
	p.noneLeft("r")
}
