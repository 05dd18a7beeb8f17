package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

// TestMain lets the test binary play a writer that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "write" {
		if err := write(os.Args[2]); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// write finishes attempts until it is killed, and tells each.
func write(dir string) error {
	l, err := Open(dir, "pid 42 on first since noon")
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		a, err := l.Begin(trial("t", i%7))
		if err != nil {
			return err
		}
		if err := a.Finish(assay.Result{Trial: trial("t", i%7), Outcome: assay.Passed}); err != nil {
			return err
		}
		fmt.Println(filepath.Base(filepath.Dir(filepath.Dir(a.Dir))), a.N)
	}
}

func trial(task string, repeat int) assay.Trial {
	t := assay.Trial{Task: task, Agent: assay.AgentSpec{Name: "oracle"}, Repeat: repeat}
	t.ID = assay.TrialID(t)
	return t
}

func open(t *testing.T, dir string) *Ledger {
	t.Helper()
	l, err := Open(dir, "pid 1 on second")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// finish makes one finished attempt.
func finish(t *testing.T, l *Ledger, tr assay.Trial, o assay.Outcome) *Attempt {
	t.Helper()
	a, err := l.Begin(tr)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Finish(assay.Result{Trial: tr, Outcome: o}); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestRunAndPlan(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "deep", "out"))
	if _, err := l.Plan(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a plan that was never saved: %v", err)
	}
	want := Run{Schema: assay.RunSchema, Suite: "abc", Started: time.Unix(7, 0).UTC(), Request: assay.Request{Repeats: 3}}
	plan := assay.Plan{Trials: []assay.Trial{trial("a", 1)}, NotRun: []assay.Unrunnable{{Task: "b", Reason: "broken"}}}
	if err := errors.Join(l.SaveRun(want), l.SavePlan(plan)); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRead(l.Dir())
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Run()
	if err != nil || cmp.Diff(want, got) != "" {
		t.Error(err, cmp.Diff(want, got))
	}
	gotPlan, err := r.Plan()
	if err != nil || cmp.Diff(plan, gotPlan) != "" {
		t.Error(err, cmp.Diff(plan, gotPlan))
	}
}

func TestKilledWriterLosesNothing(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "write", dir) //nolint:gosec // the test binary itself
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	lines := bufio.NewScanner(out)
	for len(told) < 40 && lines.Scan() {
		told[lines.Text()] = true
	}
	_, err = Open(dir, "me")
	if !assay.IsUser(err) || !strings.Contains(err.Error(), "pid 42 on first since noon") {
		t.Errorf("the second writer was not refused by the first one's name: %v", err)
	}
	reader, err := OpenRead(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, ps := reader.Results(); len(ps) > 0 {
		t.Errorf("reading beside a writer: %v", ps)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		told[lines.Text()] = true
	}
	_ = cmd.Wait()

	l := open(t, dir) // the dead one's lock is taken over
	results, ps := l.Results()
	if len(ps) > 0 {
		t.Error(ps)
	}
	found := map[string]int{}
	for _, r := range results {
		found[fmt.Sprint(r.Trial.Dir(), " ", r.Attempt)]++
	}
	for line := range told {
		if found[line] != 1 {
			t.Errorf("attempt %s was finished and stands %d times", line, found[line])
		}
	}
	left, _ := l.Interrupted()
	a, err := l.Begin(trial("t", 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range left {
		if i.Dir == a.Dir {
			t.Errorf("the interrupted attempt %s was used again", i.Dir)
		}
	}
}

func TestBeginNumbersAreUnique(t *testing.T) {
	l := open(t, t.TempDir())
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]int{}
	for range 20 {
		wg.Go(func() {
			a, err := l.Begin(trial("t", 1))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			seen[a.N]++
			mu.Unlock()
		})
	}
	wg.Wait()
	for n := 1; n <= 20; n++ {
		if seen[n] != 1 {
			t.Errorf("number %d was given %d times", n, seen[n])
		}
	}
}

func TestLatestCountsFinalOutcomes(t *testing.T) {
	l := open(t, t.TempDir())
	for _, o := range []assay.Outcome{assay.InfraFail, assay.Failed, assay.Cancelled} {
		finish(t, l, trial("a", 1), o)
	}
	for _, o := range []assay.Outcome{assay.InfraFail, assay.Cancelled} {
		finish(t, l, trial("b", 1), o)
	}
	latest, ps := l.Latest()
	if len(ps) > 0 || len(latest) != 2 {
		t.Fatal(latest, ps)
	}
	if r := latest[trial("a", 1).ID]; r.Outcome != assay.Failed || r.Attempt != 2 {
		t.Errorf("a counts as %s of attempt %d", r.Outcome, r.Attempt)
	}
	if r := latest[trial("b", 1).ID]; r.Outcome != assay.Cancelled {
		t.Errorf("b counts as %s", r.Outcome)
	}
}

func TestForeignFilesAreProblems(t *testing.T) {
	l := open(t, t.TempDir())
	good := finish(t, l, trial("a", 1), assay.Passed)
	finish(t, l, trial("a", 1), assay.Passed)
	bad := map[string]string{
		"2/result.json": "{", "3/result.json": "", "4/result.json": `{"schema":99}`, "6/x": "",
		"7/result.json": `{"schema":1,"outcome":"passed","trial":{"task":"other"}}`, "8/result.json/x": "", "zz": "", "05/x": "",
	}
	parent := filepath.Dir(good.Dir)
	data, _ := json.Marshal(assay.Result{Schema: 1, Trial: trial("a", 1), Outcome: "great"})
	bad["9/result.json"] = string(data)
	for name, text := range bad {
		file := filepath.Join(parent, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a test's folder
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(l.Dir(), "site", "css"), 0o755); err != nil { //nolint:gosec // a test's folder
		t.Fatal(err)
	}
	results, ps := l.Results()
	if len(results) != 1 {
		t.Errorf("%d results, want the good one", len(results))
	}
	if len(ps) != 8 {
		t.Errorf("%d problems, want 8:\n%v", len(ps), ps)
	}
	left, _ := l.Interrupted()
	if len(left) != 1 || left[0].N != 6 {
		t.Errorf("interrupted: %v", left)
	}
}

func TestFinishAgainKeepsTheOld(t *testing.T) {
	l := open(t, t.TempDir())
	a := finish(t, l, trial("a", 1), assay.Failed)
	for _, o := range []assay.Outcome{assay.Passed, assay.Integrity} {
		if err := a.Finish(assay.Result{Trial: trial("a", 1), Outcome: o}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]assay.Outcome{"result.1.json": assay.Failed, "result.2.json": assay.Passed, ResultFile: assay.Integrity} {
		data, err := a.Read(name)
		var r assay.Result
		if err != nil || json.Unmarshal(data, &r) != nil || r.Outcome != want {
			t.Errorf("%s is %s, want %s (%v)", name, r.Outcome, want, err)
		}
	}
}

func TestFilesStayInside(t *testing.T) {
	l := open(t, t.TempDir())
	a, err := l.Begin(trial("../../../x", 1))
	if err != nil {
		t.Fatal(err)
	}
	if rel, err := filepath.Rel(l.Dir(), a.Dir); err != nil || !filepath.IsLocal(rel) {
		t.Errorf("the attempt lies at %s", a.Dir)
	}
	for _, name := range []string{"../x", "/etc/x", "a/../../x", ""} {
		if _, err := a.Create(name); err == nil {
			t.Errorf("%q was made", name)
		}
		if err := a.Write(name, nil); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	w, err := a.Create("verify/unit.log")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenRead(t *testing.T) {
	if _, err := OpenRead(filepath.Join(t.TempDir(), "no")); !assay.IsUser(err) {
		t.Errorf("a missing folder: %v", err)
	}
}
