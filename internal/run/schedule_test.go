package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

func trials(n int) (out []assay.Trial) {
	for i := range n {
		out = append(out, job(fmt.Sprintf("t%02d", i)).Trial)
	}
	return out
}

func load(_ context.Context, t assay.Trial) (Job, error) { return job(t.Task), nil }

// good does the work at once.
func good(_ context.Context, b *fakeBox, c Command) (Exit, error) {
	write(b, c, "/workspace/good", "")
	return Exit{}, nil
}

func TestAllRunsJobsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		s := newStage(t, func(ctx context.Context, b *fakeBox, c Command) (Exit, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return good(ctx, b, c)
		})
		sum := s.All(t.Context(), trials(7), Options{Jobs: 3, Load: load})
		if sum.Outcomes[assay.Passed] != 7 || sum.Attempts != 7 || sum.Stopped != "" || most.Load() != 3 {
			t.Errorf("%+v, %d at a time", sum, most.Load())
		}
		s.wantNothingLeft(t)
	})
}

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		s := newStage(t, func(ctx context.Context, b *fakeBox, c Command) (Exit, error) {
			if calls.Add(1) < 4 {
				return Exit{}, errBroken
			}
			return good(ctx, b, c)
		})
		begun := time.Now()
		sum := s.All(t.Context(), trials(1), Options{Retries: 3, Load: load})
		if sum.Outcomes[assay.Passed] != 1 || sum.Attempts != 4 {
			t.Errorf("%+v", sum)
		}
		if got := time.Since(begun); got != 35*time.Second {
			t.Errorf("the waits are %s in all, want 5 + 10 + 20 s", got)
		}
		if n := len(s.ledger.records[trials(1)[0].ID]); n != 4 {
			t.Errorf("%d attempts are on record", n)
		}
		var retries []string
		for _, e := range s.events.list {
			if strings.HasPrefix(e, "retry") {
				retries = append(retries, e)
			}
		}
		if d := cmp.Diff([]string{"retry t00 5s", "retry t00 10s", "retry t00 20s"}, retries); d != "" {
			t.Error(d)
		}
	})
}

func TestPermanentFailuresAreNotRetried(t *testing.T) {
	for status, attempts := range map[int]int{400: 1, 401: 1, 403: 1, 404: 1, 429: 3, 500: 3, 529: 3, 0: 3} {
		s := newStage(t, func(context.Context, *fakeBox, Command) (Exit, error) { return Exit{Code: 1}, nil })
		s.Sleep = func(context.Context, time.Duration) error { return nil }
		s.Gateway = fakeGateway{calls: assay.ModelCalls{Seen: true, Calls: 1, Last: status, Errors: []assay.APIError{{Status: status, Count: 1}}}}
		s.Agents["fake"] = fakeAgent{launch: func(Invocation) Launch { return Launch{Argv: []string{"agent"}, Provider: "p"} }}
		sum := s.All(t.Context(), trials(1), Options{Retries: 2, Load: load})
		if sum.Attempts != attempts || sum.Outcomes[assay.InfraFail] != 1 {
			t.Errorf("status %d: %d attempts, want %d", status, sum.Attempts, attempts)
		}
	}
}

func TestFailuresOfTheAgentAreNotRetried(t *testing.T) {
	s := newStage(t, func(context.Context, *fakeBox, Command) (Exit, error) { return Exit{Code: 1}, nil })
	if sum := s.All(t.Context(), trials(2), Options{Retries: 5, Load: load}); sum.Attempts != 2 || sum.Outcomes[assay.AgentError] != 2 {
		t.Errorf("%+v", sum)
	}
}

func TestOneTrialsBugIsItsOwn(t *testing.T) {
	s := newStage(t, good)
	sum := s.All(t.Context(), trials(4), Options{Jobs: 2, Load: func(ctx context.Context, tr assay.Trial) (Job, error) {
		switch tr.Task {
		case "t01":
			panic("a bug")
		case "t02":
			return Job{}, errBroken
		}
		return load(ctx, tr)
	}})
	if sum.Outcomes[assay.Passed] != 2 || sum.Outcomes[assay.InfraFail] != 2 {
		t.Errorf("%+v", sum)
	}
	for _, i := range []int{1, 2} {
		if rec := s.ledger.last(trials(4)[i].ID); rec.result == nil || rec.result.Outcome != assay.InfraFail {
			t.Errorf("trial %d has no result", i)
		}
	}
}

func TestBudgetStops(t *testing.T) {
	s := newStage(t, good)
	s.Agents["fake"] = fakeAgent{launch: func(Invocation) Launch { return Launch{Argv: []string{"agent"}, Parser: &lineParser{}} }}
	plan := trials(6)
	sum := s.All(t.Context(), plan, Options{Load: load, MaxCostUSD: 1, SpentUSD: 0.3})
	if sum.Stopped != NotRunBudget || sum.Attempts != 3 || sum.Outcomes[assay.NotRun] != 3 {
		t.Errorf("%+v", sum)
	}
	if d := cmp.Diff(plan[3:], sum.NotRun); d != "" {
		t.Error(d)
	}
	if !slices.Contains(s.events.list, "spent 1.05") {
		t.Error(s.events.list)
	}
}

func TestSoftStopFinishesWhatRuns(t *testing.T) {
	soft := make(chan struct{})
	s := newStage(t, nil)
	s.box.main = func(ctx context.Context, b *fakeBox, c Command) (Exit, error) {
		close(soft)
		return good(ctx, b, c)
	}
	sum := s.All(t.Context(), trials(5), Options{Load: load, Soft: soft})
	if sum.Outcomes[assay.Passed] != 1 || len(sum.NotRun) != 4 || sum.Stopped != NotRunStopped {
		t.Errorf("%+v", sum)
	}
}

func TestSoftStopEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soft := make(chan struct{})
		s := newStage(t, func(context.Context, *fakeBox, Command) (Exit, error) { return Exit{}, errBroken })
		time.AfterFunc(time.Second, func() { close(soft) })
		begun := time.Now()
		sum := s.All(t.Context(), trials(2), Options{Load: load, Soft: soft, Retries: 9})
		if sum.Outcomes[assay.InfraFail] != 1 || len(sum.NotRun) != 1 || sum.Attempts != 1 {
			t.Errorf("%+v", sum)
		}
		if got := time.Since(begun); got != time.Second {
			t.Errorf("it waited %s", got)
		}
	})
}

func TestHardStopCancelsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(ctx context.Context, _ *fakeBox, c Command) (Exit, error) {
			_, _ = io.WriteString(c.Stdout, "x")
			return hang(ctx)
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		plan := trials(5)
		sum := s.All(ctx, plan, Options{Jobs: 2, Retries: 3, Load: load})
		if sum.Outcomes[assay.Cancelled] != 2 || len(sum.NotRun) != 3 || sum.Attempts != 2 {
			t.Errorf("%+v", sum)
		}
		for _, tr := range plan[:2] {
			if rec := s.ledger.last(tr.ID); rec.result == nil || rec.result.Outcome != assay.Cancelled {
				t.Error("a cancelled attempt is not on record")
			}
		}
		s.wantNothingLeft(t)
	})
}

func TestMining21DiskStopsScheduling(t *testing.T) {
	s := newStage(t, good)
	free := []int64{100, 100, 5}
	s.Free = func() (int64, error) {
		n := free[0]
		if len(free) > 1 {
			free = free[1:]
		}
		return n, nil
	}
	s.MinFree = 10
	sum := s.All(t.Context(), trials(5), Options{Load: load})
	if sum.Stopped != NotRunDisk || sum.Outcomes[assay.Passed] != 2 || len(sum.NotRun) != 3 {
		t.Errorf("%+v", sum)
	}
	s = newStage(t, good)
	s.ledger.fail = errBroken // no attempt can be recorded
	if sum = s.All(t.Context(), trials(5), Options{Load: load}); sum.Attempts != 1 || sum.Stopped != NotRunDisk {
		t.Errorf("%+v", sum)
	}
}
