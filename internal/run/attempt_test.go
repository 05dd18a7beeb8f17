package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

func write(b *fakeBox, c Command, p, text string) {
	b.write(p, text)
	_, _ = io.WriteString(c.Stdout, "wrote "+p+"\n")
}

func TestAttemptRoad(t *testing.T) {
	var got Command
	var prompt []byte
	s := newStage(t, func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
		got = c
		prompt, _ = io.ReadAll(c.Stdin)
		if !strings.HasPrefix(b.text("/workspace/.git/HEAD"), "ref:") || b.text("/workspace/AGENTS.md") != "be brief" {
			t.Error("the workspace has no repository or no overlay")
		}
		if b.text("/home/agent/conf") != "token http://127.0.0.1:1" {
			t.Error("home files know no model:", b.text("/home/agent/conf"))
		}
		b.remove("workspace/old")
		b.write("/workspace/AGENTS.md", "changed")
		b.write("/workspace/m.pyc", "x")
		b.write("/workspace/sub/.git/HEAD", "x")
		write(b, c, "/workspace/good", "\xff\x00")
		_, _ = io.WriteString(c.Stderr, "warn \xff\n")
		return Exit{}, nil
	})
	s.Gateway = fakeGateway{calls: assay.ModelCalls{Seen: true, Calls: 1, Replies: 1, Last: 200, Priced: true, CostUSD: 2}}
	s.Agents["fake"] = fakeAgent{launch: func(in Invocation) Launch {
		return Launch{
			Argv: []string{"agent", in.Root}, Stdin: in.Prompt, Provider: "p", Env: map[string]string{"A": "launch"},
			Home: tree.Tree{"conf": tree.Text(in.Token + " " + in.ModelURL)}, Parser: &lineParser{},
		}
	}}
	j := job("a")
	j.Overlay = tree.Tree{"AGENTS.md": tree.Text("be brief")}
	j.Task.Environment.Env = map[string]string{"A": "task", "B": "{work}/x"}
	j.KeepWorkspace = true
	res := s.Attempt(t.Context(), j)

	if res.Outcome != assay.Passed || !res.Resolved || res.Score != 1 {
		t.Fatalf("%s: %s", res.Outcome, res.Detail)
	}
	if string(prompt) != "do it" || got.Dir != WorkDir {
		t.Errorf("prompt %q in %s", prompt, got.Dir)
	}
	if d := cmp.Diff(map[string]string{"A": "launch", "B": "/workspace/x"}, got.Env); d != "" {
		t.Error(d)
	}
	wantFiles := []assay.FileChange{{Path: "good", Kind: "added"}, {Path: "old", Kind: "deleted"}}
	if d := cmp.Diff(wantFiles, res.Patch.Files); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"sub/.git/HEAD", "m.pyc"}, res.Patch.Ignored); d != "" {
		t.Error(d)
	}
	rec := s.ledger.last(j.Trial.ID)
	if rec.text(TranscriptFile) != "wrote /workspace/good\n" || rec.text(StderrFile) != "warn \xff\n" {
		t.Errorf("raw files: %q, %q", rec.text(TranscriptFile), rec.text(StderrFile))
	}
	if rec.text(GatewayFile) == "" || !strings.Contains(rec.text(TrajectoryFile), `"said"`) {
		t.Error("no gateway log or trajectory:", rec.text(TrajectoryFile))
	}
	facts, result := slices.Index(rec.order, FactsFile), slices.Index(rec.order, "result.json")
	if facts < 0 || result != len(rec.order)-1 || slices.Index(rec.order, PatchFile) > facts {
		t.Errorf("the order of files is %v", rec.order)
	}
	if usd, known := res.Cost(); usd != 2 || !known {
		t.Error("cost", usd, known)
	}
	s.wantNothingLeft(t)
}

func TestNothingHiddenWhileTheAgentLives(t *testing.T) {
	for _, early := range []bool{true, false} {
		s := newStage(t, func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
			write(b, c, "/workspace/good", "")
			return Exit{}, nil
		})
		s.EarlyGrader = early
		if res := s.Attempt(t.Context(), job("a")); res.Outcome != assay.Passed {
			t.Fatalf("%s: %s", res.Outcome, res.Detail)
		}
		closed := slices.Index(s.box.log, "close agent")
		hidden := slices.Index(s.box.log, "put grader "+VerifyDir)
		if closed < 0 || hidden < closed {
			t.Errorf("hidden files came before the agent's box was gone:\n%s", strings.Join(s.box.log, "\n"))
		}
		for _, b := range s.box.boxes {
			if b.spec.Role == "agent" && b.text("/verify/test_hidden.py") != "" {
				t.Error("the agent's box holds hidden files")
			}
			if want := "pass\n"; b.spec.Role == "grader" && (b.text("/workspace/main.py") != want || b.text("/verify/test_hidden.py") != "secret") {
				t.Error("the grader's box is not furnished")
			}
		}
		s.wantNothingLeft(t)
	}
}

func TestReferenceAgents(t *testing.T) {
	s := newStage(t, nil) // no program may run
	s.Agents["fake"] = fakeAgent{launch: oracle}
	j := job("a")
	j.Solution[DeletedList] = tree.Text("old\n")
	res := s.Attempt(t.Context(), j)
	want := []assay.FileChange{{Path: "good", Kind: "added"}, {Path: "old", Kind: "deleted"}}
	if d := cmp.Diff(want, res.Patch.Files); d != "" || res.Outcome != assay.Passed {
		t.Errorf("%s %s\n%s", res.Outcome, res.Detail, d)
	}
	s.Agents["fake"] = fakeAgent{launch: func(Invocation) Launch { return Launch{NoProgram: true} }}
	if res := s.Attempt(t.Context(), j); res.Outcome != assay.Failed || len(res.Patch.Files) > 0 {
		t.Errorf("nop: %s %v", res.Outcome, res.Patch.Files)
	}
	s.wantNothingLeft(t)
}

func TestSetupIsNotTheAgentsWork(t *testing.T) {
	s := newStage(t, func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
		if c.Argv[0] == "sh" {
			b.write("/workspace/made", "by setup")
			b.write("/workspace/main.py", "compiled")
			b.write("/workspace/old", "touched")
			return Exit{}, nil
		}
		b.write("/workspace/old", "by the agent")
		write(b, c, "/workspace/good", "")
		return Exit{}, nil
	})
	j := job("a")
	j.Task.Environment.Setup = []string{"make"}
	res := s.Attempt(t.Context(), j)
	want := []assay.FileChange{{Path: "good", Kind: "added"}, {Path: "old", Kind: "modified"}}
	if d := cmp.Diff(want, res.Patch.Files); d != "" {
		t.Error(res.Outcome, res.Detail, d)
	}
	s.Agents["fake"] = fakeAgent{launch: oracle}
	if res := s.Attempt(t.Context(), j); res.Outcome != assay.Passed || len(res.Patch.Files) != 1 {
		t.Errorf("oracle: %s %v", res.Outcome, res.Patch.Files)
	}
}

func TestFailedSetupIsInfra(t *testing.T) {
	s := newStage(t, func(_ context.Context, _ *fakeBox, c Command) (Exit, error) {
		_, _ = io.WriteString(c.Stderr, "no such tool\n")
		return Exit{Code: 127}, nil
	})
	j := job("a")
	j.Task.Environment.Setup = []string{"tool"}
	res := s.Attempt(t.Context(), j)
	if res.Outcome != assay.InfraFail || res.Infra != assay.InfraSandbox || !strings.Contains(res.Detail, "no such tool") {
		t.Errorf("%s %s %s", res.Outcome, res.Infra, res.Detail)
	}
	s.wantNothingLeft(t)
}

func TestClocks(t *testing.T) {
	say := func(c Command, text string) { _, _ = io.WriteString(c.Stdout, text) }
	cases := map[string]struct {
		main    func(ctx context.Context, b *fakeBox, c Command) (Exit, error)
		stopped string
		outcome assay.Outcome
		limit   assay.LimitKind
	}{
		"silent": {func(ctx context.Context, _ *fakeBox, _ Command) (Exit, error) { return hang(ctx) },
			StoppedFirst, assay.AgentError, ""},
		"idle": {func(ctx context.Context, _ *fakeBox, c Command) (Exit, error) { say(c, "x"); return hang(ctx) },
			StoppedIdle, assay.AgentError, ""},
		"endless": {func(ctx context.Context, _ *fakeBox, c Command) (Exit, error) {
			for ctx.Err() == nil {
				say(c, "x")
				time.Sleep(time.Second)
			}
			return hang(ctx)
		}, StoppedTotal, assay.LimitHit, assay.LimitTime},
		"lives on after its end": {func(ctx context.Context, b *fakeBox, c Command) (Exit, error) {
			b.write("/workspace/good", "")
			say(c, "end\n")
			return hang(ctx)
		}, StoppedEnd, assay.Passed, ""},
		"endless but good": {func(ctx context.Context, b *fakeBox, c Command) (Exit, error) {
			b.write("/workspace/good", "")
			for ctx.Err() == nil {
				say(c, "x")
				time.Sleep(time.Second)
			}
			return hang(ctx)
		}, StoppedTotal, assay.Passed, assay.LimitTime},
		"slow but in time": {func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
			for range 5 {
				time.Sleep(19 * time.Second)
				say(c, "x")
			}
			b.write("/workspace/good", "")
			return Exit{}, nil
		}, "", assay.Passed, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, c.main)
				s.Agents["fake"] = fakeAgent{launch: func(Invocation) Launch {
					return Launch{Argv: []string{"agent"}, Parser: &lineParser{}, Grace: 5 * time.Second}
				}}
				j := job("a")
				j.Trial.Limits = assay.Limits{FirstEventSec: 20, IdleSec: 20, TimeoutSec: 100}
				res := s.Attempt(t.Context(), j)
				if res.Agent.Stopped != c.stopped || res.Outcome != c.outcome || res.Limit != c.limit {
					t.Errorf("stopped %q, %s %s %s", res.Agent.Stopped, res.Outcome, res.Limit, res.Detail)
				}
				if c.stopped != "" && res.Agent.Exit != nil {
					t.Errorf("a killed program has exit status %d", *res.Agent.Exit)
				}
				s.wantNothingLeft(t)
			})
		})
	}
}

func TestHardStopRecordsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(ctx context.Context, _ *fakeBox, c Command) (Exit, error) {
			_, _ = io.WriteString(c.Stdout, "begun\n")
			return hang(ctx)
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		j := job("a")
		res := s.Attempt(ctx, j)
		rec := s.ledger.last(j.Trial.ID)
		if res.Outcome != assay.Cancelled || rec.result == nil || rec.result.Outcome != assay.Cancelled {
			t.Errorf("%s %s", res.Outcome, res.Detail)
		}
		if rec.text(TranscriptFile) != "begun\n" {
			t.Errorf("the transcript is %q", rec.text(TranscriptFile))
		}
		s.wantNothingLeft(t)
	})
}

func TestHardStopWhileGrading(t *testing.T) {
	s := newStage(t, func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
		write(b, c, "/workspace/good", "")
		return Exit{}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	s.Grader = fakeGrader{hook: func(context.Context, Grading, Box) ([]assay.CheckResult, error) {
		cancel()
		return []assay.CheckResult{{Name: "unit", Status: assay.CheckFailed}}, nil
	}}
	j := job("a")
	if res := s.Attempt(ctx, j); res.Outcome != assay.Cancelled {
		t.Errorf("%s %s", res.Outcome, res.Detail)
	}
	// The work is not lost: it can be graded.
	s.Grader = fakeGrader{}
	res, err := s.Regrade(t.Context(), j, s.ledger.last(j.Trial.ID))
	if err != nil || res.Outcome != assay.Passed {
		t.Errorf("%v %s %s", err, res.Outcome, res.Detail)
	}
	s.wantNothingLeft(t)
}

func TestFailuresAreData(t *testing.T) {
	ok := func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
		write(b, c, "/workspace/good", "")
		return Exit{}, nil
	}
	cases := map[string]struct {
		change func(s *stage)
		infra  assay.InfraKind
		detail string
	}{
		"no agent":        {func(s *stage) { delete(s.Agents, "fake") }, assay.InfraSandbox, `no agent "fake"`},
		"no box":          {func(s *stage) { s.box.openErr = func(BoxSpec) error { return errBroken } }, assay.InfraSandbox, "engine is gone"},
		"no grader's box": {func(s *stage) { s.box.openErr = graderOnly }, assay.InfraSandbox, "opening the grader's box"},
		"box dies": {func(s *stage) {
			s.box.main = func(context.Context, *fakeBox, Command) (Exit, error) { return Exit{}, errBroken }
		}, assay.InfraSandbox, "running the agent"},
		"grader fails": {func(s *stage) {
			s.Grader = fakeGrader{hook: func(context.Context, Grading, Box) ([]assay.CheckResult, error) { return nil, errBroken }}
		}, assay.InfraGrader, "grading"},
		"grader panics": {func(s *stage) {
			s.Grader = fakeGrader{hook: func(context.Context, Grading, Box) ([]assay.CheckResult, error) { panic("a bug") }}
		}, assay.InfraSandbox, "panic: a bug"},
		"parser panics": {func(s *stage) {
			s.Agents["fake"] = fakeAgent{launch: func(Invocation) Launch {
				return Launch{Argv: []string{"agent"}, Parser: &lineParser{panic: true}}
			}}
		}, assay.InfraSandbox, "panic: a bug"},
		"sandbox panics": {func(s *stage) {
			s.box.openErr = func(BoxSpec) error { panic("a bug") }
		}, assay.InfraSandbox, "panic: a bug"},
		"patch lies":  {func(s *stage) { s.Patches = fakePatches{lie: true} }, assay.InfraGrader, "another tree"},
		"disk full":   {func(s *stage) { s.box.openErr = func(BoxSpec) error { return syscall.ENOSPC } }, assay.InfraDisk, "no space"},
		"no record":   {func(s *stage) { s.ledger.fail = errBroken }, assay.InfraDisk, "engine is gone"},
		"lost result": {func(s *stage) { s.ledger.finish = errBroken }, assay.InfraDisk, "writing the result"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, ok)
			c.change(s)
			res := s.Attempt(t.Context(), job("a"))
			if res.Outcome != assay.InfraFail || res.Infra != c.infra || !strings.Contains(res.Detail, c.detail) {
				t.Errorf("%s %s: %s", res.Outcome, res.Infra, res.Detail)
			}
			if last := s.events.list[len(s.events.list)-1]; last != "finished a infra" {
				t.Errorf("the last event is %q", last)
			}
			s.wantNothingLeft(t)
		})
	}
}

func TestFaultOfTheEnvironmentIsPermanent(t *testing.T) {
	s := newStage(t, nil)
	for _, c := range []struct {
		err  error
		want bool
	}{{assay.Userf("there is no image"), true}, {errBroken, false}} {
		s.box.prepare = c.err
		if res := s.Attempt(t.Context(), job("a")); res.Outcome != assay.InfraFail || res.Permanent != c.want {
			t.Errorf("%v: %s, permanent %v", c.err, res.Outcome, res.Permanent)
		}
	}
}

func graderOnly(spec BoxSpec) error {
	if spec.Role == "grader" {
		return errBroken
	}
	return nil
}

func TestTooLargeWorkspaceFails(t *testing.T) {
	s := newStage(t, func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
		write(b, c, "/workspace/good", strings.Repeat("x", 2<<20))
		return Exit{}, nil
	})
	j := job("a")
	j.Trial.Limits.WorkspaceMB = 1
	res := s.Attempt(t.Context(), j)
	if res.Outcome != assay.Failed || !strings.Contains(res.Detail, "larger than its limit") {
		t.Errorf("%s %s", res.Outcome, res.Detail)
	}
	again, err := s.Regrade(t.Context(), j, s.ledger.last(j.Trial.ID))
	if err != nil || again.Outcome != assay.Failed {
		t.Errorf("%v %s", err, again.Outcome)
	}
	s.wantNothingLeft(t)
}

func TestRegrade(t *testing.T) {
	s := newStage(t, func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
		write(b, c, "/workspace/bad", "")
		return Exit{Code: 3}, nil
	})
	j := job("a")
	first := s.Attempt(t.Context(), j)
	if first.Outcome != assay.AgentError || *first.Agent.Exit != 3 {
		t.Fatalf("%s %s", first.Outcome, first.Detail)
	}
	rec := s.ledger.last(j.Trial.ID)
	s.box.main = nil // the agent must not run again
	s.Grader = fakeGrader{hook: func(_ context.Context, g Grading, _ Box) ([]assay.CheckResult, error) {
		if _, ok := g.After["bad"]; !ok {
			t.Error("the agent's work is not there")
		}
		return []assay.CheckResult{{Name: "unit", Status: assay.CheckPassed}}, nil
	}}
	res, err := s.Regrade(t.Context(), j, rec)
	if err != nil || res.Outcome != assay.Passed || res.Agent.Stdout != first.Agent.Stdout || !res.Started.Equal(first.Started) {
		t.Errorf("%v: %s %s", err, res.Outcome, res.Detail)
	}
	changed := j
	changed.Workspace = tree.Tree{"other": tree.Text("")}
	if res, err = s.Regrade(t.Context(), changed, rec); err != nil || res.Outcome != assay.InfraFail || !res.Permanent {
		t.Errorf("another base: %v %s", err, res.Outcome)
	}
	if _, err = s.Regrade(t.Context(), j, &fakeRecord{files: map[string]*bytes.Buffer{}}); !assay.IsUser(err) {
		t.Errorf("an empty attempt: %v", err)
	}
	s.wantNothingLeft(t)
}

func TestAPIFailureIsNotGraded(t *testing.T) {
	s := newStage(t, func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
		write(b, c, "/workspace/good", "")
		return Exit{Code: 1}, nil
	})
	s.Gateway = fakeGateway{calls: assay.ModelCalls{Seen: true, Calls: 3, Last: 529, Errors: []assay.APIError{{Status: 529, Message: "overloaded", Count: 3}}}}
	s.Agents["fake"] = fakeAgent{launch: func(Invocation) Launch { return Launch{Argv: []string{"agent"}, Provider: "p"} }}
	s.EarlyGrader = false
	res := s.Attempt(t.Context(), job("a"))
	if res.Outcome != assay.InfraFail || res.Infra != assay.InfraAPI || res.Permanent || !strings.Contains(res.Detail, "overloaded") {
		t.Errorf("%s %s %s", res.Outcome, res.Infra, res.Detail)
	}
	if slices.Contains(s.box.log, "open grader") {
		t.Error("it was graded")
	}
}

// counter counts and forgets.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func TestBigOutputKeepsLittle(t *testing.T) {
	raw := &counter{}
	out, end := newWatched(raw, nil), newTail(tailBytes)
	errFile := &capped{w: &counter{}, left: maxStderr}
	line := []byte(strings.Repeat("y", 1<<16-1) + "\n")
	for range 100 << 20 >> 16 {
		_, _ = out.Write(line)
		_, _ = end.Write(line)
		_, _ = errFile.Write(line)
	}
	_, _ = end.Write([]byte("last"))
	if raw.n != 100<<20 || out.count != raw.n {
		t.Errorf("%d bytes went to the transcript", raw.n)
	}
	if got := end.bytes(); len(got) != tailBytes || !bytes.HasSuffix(got, []byte("\nlast")) || cap(end.data) > 8*tailBytes {
		t.Errorf("the tail holds %d of %d bytes", len(got), cap(end.data))
	}
	if n := errFile.w.(*counter).n; n != maxStderr || !errFile.cut {
		t.Errorf("%d bytes of stderr were kept", n)
	}
}

func TestTailInSmallPieces(t *testing.T) {
	end := newTail(10)
	for i := range 100 {
		_, _ = fmt.Fprintf(end, "%d,", i)
	}
	if got := string(end.bytes()); got != "97,98,99," && !strings.HasSuffix(got, "97,98,99,") || len(got) > 10 {
		t.Errorf("%q", got)
	}
}
