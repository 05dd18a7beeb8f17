package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/assaybot/assay/internal/assay"
)

// unruly is a program that does a thing that programs should not do, and what
// an attempt with it has to count as.
type unruly struct {
	name, script string
	want         assay.Outcome
	// box: worth a Docker box too, which takes longer; the image has no git.
	box bool
	// detail is a part of the result's detail.
	detail string
	check  func(t *testing.T, p *person, r assay.Result)
}

const fix = "echo hello > hello.txt\n"

// marker is on the command line of what must not survive an attempt.
const marker = "86399.5"

func unrulyAgents() []unruly {
	commit := "git -c user.name=a -c user.email=a@example.org commit -qm x"
	return []unruly{
		{name: "prints-100-mb", box: true, script: "head -c 100000000 /dev/zero | tr '\\0' x\n" + fix, want: assay.Passed, check: smallResults},
		{name: "prints-ff", box: true, script: "printf '\\377\\376\\000\\n{\\377\\n' ; printf '\\377' >&2\n" + fix, want: assay.Passed, check: textFiles},
		{name: "background", box: true, script: fix + "(sleep " + marker + "; echo bad > hello.txt) >/dev/null 2>&1 &\n", want: assay.Passed},
		{name: "daemon", box: true, script: fix + "setsid sleep " + marker + " >/dev/null 2>&1 </dev/null &\nsetsid sleep " + marker + " &\n", want: assay.Passed},
		{name: "commits", script: fix + "git add -A && " + commit + "\n", want: assay.Passed, check: hasPatch},
		{name: "stages", script: fix + "git add -A\ngit rm -q --cached keep.txt\n", want: assay.Passed, check: hasPatch},
		{name: "rewrites", script: fix + "git checkout -q --orphan new && git add -A && " + commit +
			"\ngit branch -D main master 2>/dev/null\ngit reflog expire --expire=now --all; git gc -q --prune=now\n", want: assay.Passed, check: hasPatch},
		{name: "ignores", script: fix + "echo '*' > .git/info/exclude; echo '*' > .gitignore; git config core.worktree /nowhere; git config core.fsmonitor 'touch pwned'\n", want: assay.Passed, check: hasPatch},
		{name: "deletes-git", box: true, script: fix + "rm -rf .git\n", want: assay.Passed, check: hasPatch},
		{name: "git-is-a-file", script: fix + "rm -rf .git; echo 'gitdir: /etc' > .git\n", want: assay.Passed, check: hasPatch},
		{name: "fifo", box: true, script: fix + "mkfifo pipe\n", want: assay.Passed},
		{name: "links", script: fix + "ln -s loop loop; ln -s . self; ln -s /etc/passwd secret; mkdir d; ln -s .. d/up\n", want: assay.Passed},
		{name: "link-for-file", script: "rm hello.txt; ln -s keep.txt hello.txt; echo hello > keep.txt\n", want: assay.Failed},
		{name: "unreadable", box: true, script: fix + "mkdir locked; echo x > locked/x; chmod 000 locked/x locked\n", want: assay.Passed},
		{name: "odd-names", script: fix + "echo x > \"$(printf 'a\\nb')\"; echo x > \"$(printf 'bad\\377name')\"; echo x > -rf\n", want: assay.Passed},
		{name: "fills", box: true, script: fix + "head -c 40000000 /dev/zero > big\n", want: assay.Failed, detail: "larger than its limit"},
		{name: "exits-3", script: "echo sorry; exit 3\n", want: assay.AgentError, detail: "status 3"},
		{name: "kills-itself", script: "kill -9 $$\n", want: assay.AgentError},
		{name: "closes-output", script: fix + "exec >&- 2>&-\n", want: assay.Passed},
	}
}

// TestUnrulyAgents: whatever a program does, its attempt ends with the right
// outcome, its work is what counts, and nothing of it stays alive.
func TestUnrulyAgents(t *testing.T) {
	sandboxes(t, func(t *testing.T, sandbox string) {
		p := newPerson(t)
		specs := []assay.AgentSpec{{Name: "command", Label: "missing", Command: []string{"no-such-program-anywhere"}}}
		for _, u := range unrulyAgents() {
			if u.box || sandbox == "local" {
				specs = append(specs, assay.AgentSpec{Name: "command", Label: u.name, Command: []string{"sh", "-c", u.script}})
			}
		}
		p.writeJSON("run.json", assay.Request{
			Tasks: "suite", Task: []string{"greet"}, Agents: specs, Out: "r", Sandbox: sandbox,
			Jobs: 2, Limits: assay.Limits{WorkspaceMB: 16, TimeoutSec: 60}, KeepWorkspace: false,
		})
		answer := p.must(0, "run", "--config", "run.json")
		results := p.results("r")
		if len(results) != len(specs) {
			t.Errorf("%d results for %d agents", len(results), len(specs))
		}
		for _, u := range unrulyAgents() {
			if r, ok := results[u.name+" greet"]; ok {
				t.Run(u.name, func(t *testing.T) { u.holds(t, p, r) })
			}
		}
		if r := results["missing greet"]; r.Outcome != assay.AgentError || !strings.Contains(r.Detail, "no-such-program-anywhere") {
			t.Errorf("a missing program: %s, %s", r.Outcome, r.Detail)
		}
		if left := processes(t, marker); len(left) > 0 {
			t.Errorf("still alive: %v", left)
		}
		if again := p.must(0, "grade", "r"); !strings.Contains(again.err, " 0 changed") {
			t.Errorf("graded again: %s", again.err)
		}
		if t.Failed() {
			t.Log(answer.err)
		}
	})
}

func (u unruly) holds(t *testing.T, p *person, r assay.Result) {
	if r.Outcome != u.want {
		t.Errorf("outcome %s, want %s (%s)", r.Outcome, u.want, r.Detail)
	}
	if !strings.Contains(r.Detail, u.detail) {
		t.Errorf("detail %q, want %q in it", r.Detail, u.detail)
	}
	if u.check != nil {
		u.check(t, p, r)
	}
}

// hasPatch: the work is in the patch whatever became of the repository.
func hasPatch(t *testing.T, p *person, r assay.Result) {
	diff := read(t, filepath.Join(p.attempt("r", r), "patch.diff"))
	if !strings.Contains(diff, "+hello\n") || strings.Contains(diff, ".git/") {
		t.Errorf("the patch:\n%s", diff)
	}
}

// smallResults: what is kept is bounded, however much is printed.
func smallResults(t *testing.T, p *person, r assay.Result) {
	var sum int64
	err := filepath.WalkDir(p.attempt("r", r), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil || sum > 150<<20 {
		t.Errorf("the attempt keeps %d bytes (%v)", sum, err)
	}
	t.Logf("kept %.1f MB of 100 MB printed", float64(sum)/1e6)
}

// textFiles: every JSON file is UTF-8, whatever was printed.
func textFiles(t *testing.T, p *person, r assay.Result) {
	for _, name := range []string{"result.json", "trajectory.json", "facts.json"} {
		if !utf8.ValidString(read(t, filepath.Join(p.attempt("r", r), name))) {
			t.Errorf("%s is not UTF-8", name)
		}
	}
}

// processes lists the processes that have a word on their command line.
func processes(t *testing.T, word string) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), word) {
			out = append(out, fmt.Sprintf("%s %q", name, data))
		}
	}
	return out
}
