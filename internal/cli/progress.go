package cli

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

// progress shows a run while it goes: one bar with what runs, the spend and
// the time left on a terminal; one line per finished attempt elsewhere.
type progress struct {
	out   io.Writer
	now   func() time.Time
	fancy bool

	mu      sync.Mutex
	total   int
	done    int
	spent   float64
	partly  bool
	started time.Time
	running map[string]string
	bars    *mpb.Progress
	bar     *mpb.Bar
}

var _ flow.Progress = (*progress)(nil)

func newProgress(s Streams, now func() time.Time) *progress {
	return &progress{out: s.Err, now: now, fancy: s.Terminal, running: map[string]string{}}
}

// Planned begins the show: todo trials are left of total.
func (p *progress) Planned(total, todo int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.done, p.started = total, total-todo, p.now()
	if !p.fancy || todo == 0 {
		p.print("%d of %d trials to run\n", todo, total)
		return
	}
	p.bars = mpb.New(mpb.WithOutput(p.out), mpb.WithWidth(24), mpb.WithRefreshRate(200*time.Millisecond))
	p.bar = p.bars.AddBar(int64(total),
		mpb.PrependDecorators(decor.CountersNoUnit("%d/%d ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return p.side() })))
	p.bar.SetCurrent(int64(p.done))
}

// side is the text beside the bar.
func (p *progress) side() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := make([]string, 0, len(p.running))
	for _, n := range p.running {
		names = append(names, n)
	}
	sort.Strings(names)
	text := " " + p.money() + p.left()
	if len(names) > 0 {
		text += "  " + strings.Join(names, ", ")
	}
	return text
}

func (p *progress) money() string {
	mark := ""
	if p.partly {
		mark = ">="
	}
	return fmt.Sprintf("%s$%.2f", mark, p.spent)
}

func (p *progress) left() string {
	if p.bar == nil && p.done == 0 {
		return ""
	}
	ran := p.now().Sub(p.started)
	if p.done == 0 || p.done >= p.total || ran < time.Second {
		return ""
	}
	each := ran / time.Duration(max(p.done, 1))
	return fmt.Sprintf("  about %s left", (each * time.Duration(p.total-p.done)).Round(time.Second))
}

// Started notes that a trial's attempt runs.
func (p *progress) Started(t assay.Trial, attempt int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[t.ID] = label(t)
}

// Finished tells how an attempt ended.
func (p *progress) Finished(r assay.Result) {
	p.mu.Lock()
	delete(p.running, r.Trial.ID)
	usd, known := r.Cost()
	p.spent += usd
	p.partly = p.partly || (!known && r.Spent().Total() > 0)
	p.done++
	line, bar, done := p.line(r), p.bar, p.done
	p.mu.Unlock()
	p.Note(line)
	if bar != nil {
		bar.SetCurrent(int64(done))
	}
}

// Retry tells that another attempt follows after wait.
func (p *progress) Retry(r assay.Result, wait time.Duration) {
	p.mu.Lock()
	p.done--
	bar, done := p.bar, p.done
	p.mu.Unlock()
	p.Note(fmt.Sprintf("        %s is tried again in %s", label(r.Trial), wait.Round(time.Millisecond)))
	if bar != nil {
		bar.SetCurrent(int64(done))
	}
}

func (p *progress) line(r assay.Result) string {
	text := fmt.Sprintf("[%d/%d] %-11s %s %.1fs", p.done, p.total, r.Outcome, label(r.Trial), r.Finished.Sub(r.Started).Seconds())
	if usd, known := r.Cost(); known && usd > 0 {
		text += fmt.Sprintf(" $%.4f", usd)
	}
	if r.Detail != "" && r.Outcome != assay.Passed {
		text += ": " + oneLine(r.Detail, 160)
	}
	return text
}

// Note prints one line above the bar.
func (p *progress) Note(text string) {
	p.mu.Lock()
	bars := p.bars
	p.mu.Unlock()
	if bars != nil {
		_, _ = fmt.Fprintln(bars, text)
		return
	}
	p.print("%s\n", text)
}

func (p *progress) print(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

// Close ends the show; it may be called twice.
func (p *progress) Close() {
	p.mu.Lock()
	bars, bar := p.bars, p.bar
	p.bars, p.bar = nil, nil
	p.mu.Unlock()
	if bars == nil {
		return
	}
	if !bar.Completed() {
		bar.Abort(false)
	}
	bars.Wait()
}

// label is a trial in a few words.
func label(t assay.Trial) string {
	parts := []string{t.Task, t.Agent.Key()}
	for _, s := range []string{t.Model, t.Effort} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if t.Variant != assay.Baseline && t.Variant != "" {
		parts = append(parts, t.Variant)
	}
	return strings.Join(parts, "/") + fmt.Sprintf("#%d", t.Repeat)
}

// oneLine is s without line breaks and control characters, cut to n runes.
func oneLine(s string, n int) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if runes := []rune(clean); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return clean
}
