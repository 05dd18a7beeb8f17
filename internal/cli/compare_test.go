package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/ledger"
)

// results writes a results folder of one agent: a task per mark, "+" passed,
// "-" failed, "i" infra, "n" never run.
func results(t *testing.T, name, marks string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	l, err := ledger.Open(dir, "a test")
	if err != nil {
		t.Fatal(err)
	}
	var plan assay.Plan
	for i := range marks {
		tr := assay.Trial{Task: fmt.Sprintf("task-%02d", i), Variant: assay.Baseline, Agent: assay.AgentSpec{Name: "command"},
			TaskDigest: fmt.Sprint("digest-", i), Sandbox: "local"}
		tr.ID = assay.TrialID(tr)
		plan.Trials = append(plan.Trials, tr)
	}
	if err := l.SavePlan(plan); err != nil {
		t.Fatal(err)
	}
	for i, mark := range marks {
		if mark == 'n' {
			continue
		}
		a, err := l.Begin(plan.Trials[i])
		if err != nil {
			t.Fatal(err)
		}
		r := assay.Result{Schema: 1, Trial: plan.Trials[i], Attempt: a.N, Outcome: assay.Failed, Started: time.Unix(0, 0), Finished: time.Unix(60, 0)}
		switch mark {
		case '+':
			r.Outcome, r.Resolved, r.Score = assay.Passed, true, 1
		case 'i':
			r.Outcome, r.Infra = assay.InfraFail, assay.InfraAPI
		default:
			r.Checks = []assay.CheckResult{{Name: "hidden", Kind: assay.CheckTests, Status: assay.CheckFailed, Clause: "::error::dates @team"}}
		}
		if err := a.Finish(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// assayRun is one command line on surroundings.
func assayRun(t *testing.T, g flow.GitHub, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	f := &Factory{Streams: Streams{Out: &o, Err: &e}, Flow: &flow.Flow{GitHub: g}}
	status = Main(context.Background(), f, args)
	return status, o.String(), e.String()
}

func TestCompareFailsOnProofOnly(t *testing.T) {
	good, bad := results(t, "good", "++++++++"), results(t, "bad", "--------")
	lame := results(t, "lame", "-------i")
	tests := []struct {
		name, a, b, failOn string
		status             int
		says               string
	}{
		{"a regression", good, bad, "regression", ExitNotAll, "worse: 0/8 resolved, was 8/8"},
		{"a regression that may be", good, bad, "never", ExitOK, "worse"},
		{"an improvement", bad, good, "regression", ExitOK, "better"},
		{"not equally complete", good, lame, "regression", ExitOK, "no verdict"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := assayRun(t, flow.GitHub{}, "compare", tt.a, tt.b, "--fail-on", tt.failOn)
			if status != tt.status || !strings.Contains(out, tt.says) {
				t.Errorf("status %d, want %d\n%s%s", status, tt.status, out, errs)
			}
		})
	}
}

func TestPublishWithoutAToken(t *testing.T) {
	good, bad := results(t, "good", "++++++++"), results(t, "bad", "--------")
	dir := t.TempDir()
	g := flow.GitHub{Repo: "acme/shop", SHA: "abc", Summary: filepath.Join(dir, "summary"), Output: filepath.Join(dir, "output"), Actions: true}
	for range 2 { // both files are appended to
		status, out, errs := assayRun(t, g, "publish", bad, "--compare", good, "--fail-on", "regression")
		if status != ExitOK || out != "" || !strings.Contains(errs, "there is no GITHUB_TOKEN") || !strings.Contains(errs, "conclusion: failure (it is worse than the base)") {
			t.Fatalf("status %d\n%s%s", status, out, errs)
		}
	}
	summary, err := os.ReadFile(g.Summary)
	if err != nil || strings.Count(string(summary), "**Worse**: 0/8 resolved, was 8/8") != 2 {
		t.Errorf("%v\n%s", err, summary)
	}
	output, err := os.ReadFile(g.Output)
	if err != nil || strings.Count(string(output), "conclusion=failure\n") != 2 || !strings.Contains(string(output), "verdict=worse\n") {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestPublishTellsMistakes(t *testing.T) {
	good := results(t, "good", "+")
	for _, args := range [][]string{
		{"publish"}, {"publish", "nowhere"}, {"publish", good, "--fail-on", "sometimes"}, {"publish", good, "--compare", "nowhere"}, {"publish", good, "--margin", "7", "--compare", good},
	} {
		if status, out, errs := assayRun(t, flow.GitHub{}, args...); status != ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d\n%s%s", args, status, out, errs)
		}
	}
}

func TestPublishToAFile(t *testing.T) {
	good, file := results(t, "good", "+n"), filepath.Join(t.TempDir(), "s.md")
	if status, out, errs := assayRun(t, flow.GitHub{}, "publish", good, "--summary", file); status != ExitOK || out != "" {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), "**1/1 resolved**") || !strings.Contains(string(text), "1/2 ran; 1 not run") {
		t.Errorf("%v\n%s", err, text)
	}
	if status, out, _ := assayRun(t, flow.GitHub{}, "publish", good); status != ExitOK || !strings.HasPrefix(out, "**1/1 resolved**") {
		t.Errorf("status %d\n%s", status, out)
	}
}
