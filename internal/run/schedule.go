package run

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
)

// Options say how the trials of a plan are run.
type Options struct {
	// Jobs is how many trials run at a time, at least 1.
	Jobs int
	// Retries is how many further attempts a trial gets after failures of
	// the machinery that another attempt can mend.
	Retries int
	// Backoff is the wait before the next attempt, n counting failures
	// from 1. Nil: 5 s, doubled each time, at most 5 minutes.
	Backoff func(n int) time.Duration
	// MaxCostUSD stops the run: once that much is spent nothing new is
	// started. 0 means no bound.
	MaxCostUSD float64
	// SpentUSD was spent before (a resumed run).
	SpentUSD float64
	// Soft ends the run softly when it is closed: what runs is finished,
	// nothing new is started. Nil: never.
	Soft <-chan struct{}
	// Load gets what a trial needs, when its turn comes.
	Load func(context.Context, assay.Trial) (Job, error)
}

// Reasons for which trials are not run.
const (
	NotRunBudget  = "budget"
	NotRunStopped = "stopped"
	NotRunDisk    = "disk"
)

// Summary is how a run ended. Results themselves are in the ledger and go
// through Events.
type Summary struct {
	// Outcomes counts trials by their last attempt.
	Outcomes map[assay.Outcome]int
	// NotRun are the trials that were never attempted, in the plan's order.
	NotRun []assay.Trial
	// Stopped is why the run ended before its plan did, "" if it didn't.
	Stopped  string
	SpentUSD float64
	Tokens   assay.Tokens
	Attempts int
}

// All runs trials, in their order, Jobs at a time. A cancelled ctx is the
// hard stop: running attempts are killed and recorded as cancelled. It
// returns when everything has ended.
func (r *Runner) All(ctx context.Context, trials []assay.Trial, o Options) Summary {
	s := &schedule{r: r, o: o, trials: trials, sum: Summary{Outcomes: map[assay.Outcome]int{}, SpentUSD: o.SpentUSD}}
	stop := make(chan struct{}) // closed at the end of the run
	s.quit = make(chan struct{})
	var watching, working sync.WaitGroup
	watching.Go(func() { s.watch(ctx, stop) })
	for range max(1, o.Jobs) {
		working.Go(func() { s.worker(ctx) })
	}
	working.Wait()
	close(stop)
	watching.Wait()
	s.sum.NotRun = append(s.sum.NotRun, trials[s.next:]...)
	s.sum.Outcomes[assay.NotRun] = len(s.sum.NotRun)
	return s.sum
}

// schedule is a run under way.
type schedule struct {
	r      *Runner
	o      Options
	trials []assay.Trial

	mu   sync.Mutex
	next int
	sum  Summary
	quit chan struct{} // closed when nothing new may start
}

// watch turns the soft and the hard stop into the end of scheduling.
func (s *schedule) watch(ctx context.Context, end <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-s.o.Soft:
	case <-end:
		return
	}
	s.halt(NotRunStopped)
}

// halt stops scheduling; the first reason counts.
func (s *schedule) halt(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sum.Stopped == "" {
		s.sum.Stopped = why
		close(s.quit)
	}
}

func (s *schedule) worker(ctx context.Context) {
	for {
		t, ok := s.take(ctx)
		if !ok {
			return
		}
		s.trial(ctx, t)
	}
}

// take is the next trial, unless nothing new may start.
func (s *schedule) take(ctx context.Context) (assay.Trial, bool) {
	if !s.open(ctx) {
		return assay.Trial{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next >= len(s.trials) || s.sum.Stopped != "" {
		return assay.Trial{}, false
	}
	t := s.trials[s.next]
	s.next++
	return t, true
}

// open tells whether another attempt may start: no stop, money and room left.
func (s *schedule) open(ctx context.Context) bool {
	switch {
	case ctx.Err() != nil || closed(s.o.Soft):
		s.halt(NotRunStopped)
	case s.overBudget():
		s.halt(NotRunBudget)
	case s.diskFull():
		s.halt(NotRunDisk)
	}
	return !closed(s.quit)
}

func (s *schedule) overBudget() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.o.MaxCostUSD > 0 && s.sum.SpentUSD >= s.o.MaxCostUSD
}

// diskFull looks at the room before spending anything. A disk that can't be
// measured is not called full.
func (s *schedule) diskFull() bool {
	if s.r.Free == nil {
		return false
	}
	free, err := s.r.Free()
	return err == nil && free < s.r.MinFree
}

// trial makes the attempts of one trial, until one counts or can't be mended.
func (s *schedule) trial(ctx context.Context, t assay.Trial) {
	for failures := 0; ; {
		res := s.attempt(ctx, t)
		s.book(res)
		failures++
		if !mendable(res) || failures > s.o.Retries || !s.pause(ctx, res, failures) {
			s.mu.Lock()
			s.sum.Outcomes[res.Outcome]++
			s.mu.Unlock()
			return
		}
	}
}

// attempt loads and runs; a bug in either is this trial's failure alone.
func (s *schedule) attempt(ctx context.Context, t assay.Trial) (res assay.Result) {
	err := safely(func() error {
		job, err := s.o.Load(ctx, t)
		if err != nil {
			return &assay.InfraError{Kind: assay.InfraSandbox, Doing: "loading the task", Err: err, Permanent: !disk.IsFull(err)}
		}
		res = s.r.Attempt(ctx, job)
		return nil
	})
	if err != nil {
		res = s.r.record(ctx, t, err)
	}
	return res
}

func mendable(r assay.Result) bool {
	return r.Outcome == assay.InfraFail && !r.Permanent
}

// book adds what an attempt cost, and stops the run when the disk is full.
func (s *schedule) book(res assay.Result) {
	usd, known := res.Cost()
	s.mu.Lock()
	s.sum.Attempts++
	s.sum.Tokens = s.sum.Tokens.Add(res.Spent())
	if known {
		s.sum.SpentUSD += usd
	}
	spent, tokens := s.sum.SpentUSD, s.sum.Tokens
	s.mu.Unlock()
	s.r.tell(func(e Events) { e.Spent(spent, tokens) })
	if res.Outcome == assay.InfraFail && res.Infra == assay.InfraDisk {
		s.halt(NotRunDisk)
	}
}

// pause waits before the next attempt; false when there must be none.
func (s *schedule) pause(ctx context.Context, res assay.Result, failures int) bool {
	if !s.open(ctx) {
		return false
	}
	backoff := s.o.Backoff
	if backoff == nil {
		backoff = growing
	}
	wait := backoff(failures)
	s.r.tell(func(e Events) { e.Retry(res, wait) })
	waiting, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.quit:
			cancel()
		case <-waiting.Done():
		}
	}()
	err := s.r.sleep(waiting, wait)
	cancel()
	<-done
	return err == nil && s.open(ctx)
}

// growing is the usual back-off.
func growing(n int) time.Duration {
	const first, most = 5 * time.Second, 5 * time.Minute
	return time.Duration(math.Min(float64(most), float64(first)*math.Pow(2, float64(n-1))))
}

// closed tells whether c is closed; a nil channel never is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
