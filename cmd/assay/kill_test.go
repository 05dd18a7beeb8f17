package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/ledger"
)

// kills is how often runs are killed at work.
const kills = 10

// TestKilledRunsLoseNothing: a run that is killed at random moments, however
// often, ends like one that never was.
func TestKilledRunsLoseNothing(t *testing.T) {
	sandboxes(t, func(t *testing.T, sandbox string) {
		p := newPerson(t)
		slow := assay.AgentSpec{Name: "command", Label: "slow", Command: []string{"sh", "-c", "echo working; sleep 0.2; echo hello > hello.txt"}}
		request := assay.Request{
			Tasks: "suite", Sandbox: sandbox, Jobs: 2, Repeats: 2,
			Agents: []assay.AgentSpec{{Name: "oracle"}, {Name: "nop"}, slow},
		}
		p.writeJSON("run.json", request)
		begun := time.Now()
		p.must(0, "run", "--config", "run.json", "--out", "calm")
		undisturbed := time.Since(begun)

		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d; undisturbed %v", seed, undisturbed)
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // moments, no secrets
		folder := 0
		for interrupted := 0; interrupted < kills; {
			// Early moments too: the plan, the first box, the first result.
			wait := time.Duration(random.Float64() * float64(undisturbed) * 0.6)
			if p.killed(wait, "run", "--config", "run.json", "--out", rough(folder)) {
				interrupted++
				continue
			}
			folder++
		}
		for i := range folder + 1 {
			last := p.must(0, "run", "--config", "run.json", "--out", rough(i))
			t.Logf("folder %d: %s at last", i, regexp.MustCompile(`\d+ of \d+ trials to run`).FindString(last.err))
			p.noneTwice(rough(i), 12)
			if diff := cmp.Diff(p.timeless("calm"), p.timeless(rough(i))); diff != "" {
				t.Errorf("the report differs from that of an undisturbed run:\n%s", diff)
			}
			p.noneLeft(rough(i))
		}
	})
}

func rough(n int) string { return fmt.Sprint("rough", n) }

// killed types a command, kills it with everything that it is after a while,
// and tells whether it was still at work.
func (p *person) killed(after time.Duration, args ...string) bool {
	p.t.Helper()
	var errs bytes.Buffer
	cmd := p.command(args...)
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	defer timer.Stop()
	err := cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && (!ok || !status.Signaled()) {
		p.t.Fatalf("it ended by itself: %v\n%s", err, errs.String())
	}
	return err != nil
}

// noneTwice checks that every planned trial has exactly one result that
// counts, and no attempt two.
func (p *person) noneTwice(dir string, trials int) {
	p.t.Helper()
	l, err := ledger.OpenRead(p.path(dir))
	if err != nil {
		p.t.Fatal(err)
	}
	plan, err := l.Plan()
	if err != nil {
		p.t.Fatal(err)
	}
	results, problems := l.Results()
	if len(problems) > 0 {
		p.t.Error(problems)
	}
	count, attempts := map[string]int{}, map[string]int{}
	for _, r := range results {
		if r.Outcome.Final() {
			count[r.Trial.ID]++
		}
		attempts[fmt.Sprint(r.Trial.ID, r.Attempt)]++
	}
	if len(plan.Trials) != trials {
		p.t.Errorf("%d trials are planned, want %d", len(plan.Trials), trials)
	}
	for _, t := range plan.Trials {
		if count[t.ID] != 1 {
			p.t.Errorf("%s has %d results that count", t.Dir(), count[t.ID])
		}
	}
	for a, n := range attempts {
		if n != 1 {
			p.t.Errorf("attempt %s stands %d times", a, n)
		}
	}
}

var seconds = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b|"[a-z_]*(seconds|wall|started|finished|sec)[a-z_]*": *("[^"]*"|[\d.]+)`)

// timeless is the report without what a clock says, and without the number of
// an attempt: an interrupted one keeps its own.
func (p *person) timeless(dir string) string {
	p.t.Helper()
	text := seconds.ReplaceAllString(p.must(0, "report", dir).out, "T")
	return regexp.MustCompile(` {2,}|-{3,}`).ReplaceAllString(text, "  ")
}

// TestSecondRunIsRefused: two runs never write to one folder; the second one
// is told who holds it.
func TestSecondRunIsRefused(t *testing.T) {
	p := newPerson(t)
	p.writeJSON("run.json", assay.Request{
		Tasks: "suite", Task: []string{"greet"}, Sandbox: "local", Out: "r",
		Agents: []assay.AgentSpec{{Name: "command", Command: []string{"sh", "-c", "while ! test -e " + p.path("go-on") + "; do sleep 0.02; done"}}},
	})
	first := p.command("run", "--config", "run.json")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	p.await("r/plan.json")
	second := p.must(2, "run", "--config", "run.json")
	want := fmt.Sprintf("process %d on ", first.Process.Pid)
	if !strings.Contains(second.err, want) || !strings.Contains(second.err, "another run writes to") {
		t.Errorf("the second run was told %q, want %q in it", second.err, want)
	}
	if again := p.must(2, "grade", "r"); !strings.Contains(again.err, want) {
		t.Errorf("grading was told %q", again.err)
	}
	p.must(0, "report", "r") // reading is free
	p.write("go-on", "")
	var exit *exec.ExitError
	if err := first.Wait(); err != nil {
		t.Errorf("the first run: %v %v", err, exit)
	}
}

// await waits until a file is there.
func (p *person) await(name string) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if found, _ := filepath.Glob(p.path(name)); len(found) > 0 {
			return
		}
		select {
		case <-p.t.Context().Done():
			p.t.Fatalf("%s never came", name)
		case <-tick.C:
		}
	}
}

// TestInterruptFinishesWhatRuns: the first interrupt is a soft stop with
// status 130, and the rerun goes on.
func TestInterruptFinishesWhatRuns(t *testing.T) {
	p := newPerson(t)
	p.writeJSON("run.json", assay.Request{
		Tasks: "suite", Sandbox: "local", Out: "r", Jobs: 1, Repeats: 3,
		Agents: []assay.AgentSpec{{Name: "command", Command: []string{"sh", "-c", "touch " + p.path("at-work") + "; while ! test -e " + p.path("go-on") + "; do sleep 0.02; done; echo hello > hello.txt"}}},
	})
	var errs bytes.Buffer
	cmd := p.command("run", "--config", "run.json")
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.await("at-work")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.write("go-on", "")
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 130 || !strings.Contains(errs.String(), "the same command again goes on from here") {
		t.Errorf("status %d: %s", cmd.ProcessState.ExitCode(), errs.String())
	}
	if again := p.must(0, "run", "--config", "run.json"); !regexp.MustCompile(`[1-5] of 6 trials to run`).MatchString(again.err) {
		t.Errorf("the rerun: %s", again.err)
	}
	p.noneTwice("r", 6)
}
