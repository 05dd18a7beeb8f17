package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/agent"
	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/testkit/model"
)

// BenchmarkFirstCall measures, side by side, how long each real program takes
// until its first model call: by itself on this machine, and in a trial in a
// container, from the attempt's start. It prints both and their ratio:
//
//	ASSAY_KITS=FOLDER go test ./cmd/assay -run - -bench FirstCall -benchtime 3x
func BenchmarkFirstCall(b *testing.B) {
	needDocker(b)
	for _, a := range realAgents() {
		b.Run(a.name, func(b *testing.B) {
			p := newPerson(b)
			p.programKits()
			p.caseSuite()
			p.firstInTrial(a) // the kit's volume, the image and the page cache
			p.firstAlone(a)
			var alone, trial time.Duration
			for b.Loop() {
				alone += p.firstAlone(a)
				trial += p.firstInTrial(a)
			}
			n := float64(b.N)
			b.ReportMetric(alone.Seconds()/n, "s-alone")
			b.ReportMetric(trial.Seconds()/n, "s-trial")
			b.ReportMetric(trial.Seconds()/alone.Seconds(), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// arrivals is a scripted model that notes when it was first asked.
type arrivals struct {
	*httptest.Server
	mu    sync.Mutex
	first time.Time
}

func (p *person) newArrivals(a realAgent) *arrivals {
	out := &arrivals{}
	inner := model.New(p.t, a.script())
	out.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out.mu.Lock()
		if out.first.IsZero() {
			out.first = time.Now()
		}
		out.mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	p.t.Cleanup(out.Close)
	return out
}

func (a *arrivals) since(begun time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.first.Sub(begun)
}

// firstAlone starts the program as a trial does, but on this machine and
// without a gateway.
func (p *person) firstAlone(a realAgent) time.Duration {
	p.t.Helper()
	up, root := p.newArrivals(a), p.t.TempDir()
	kits := filepath.Join(p.path("cache"), "kits")
	if err := os.Symlink(kits, root+run.KitDir); err != nil {
		p.t.Fatal(err)
	}
	in := run.Invocation{
		Prompt: "Make hello.txt say hello. This is the case fails.", Root: root, ModelURL: up.URL, Token: "x",
		Trial: assay.Trial{Agent: assay.AgentSpec{Name: a.name}, Model: a.model},
	}
	l, err := agent.Find(agent.All(agent.Options{CacheDir: kits}), a.name).Invoke(in)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, dir := range []string{run.WorkDir, run.HomeDir} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := l.Home.WriteDir(root + run.HomeDir); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), l.Argv[0], l.Argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Env = root+run.WorkDir, strings.NewReader(l.Stdin), []string{"PATH=" + os.Getenv("PATH")}
	for k, v := range l.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return up.since(begun)
}

// firstInTrial runs one trial in a container.
func (p *person) firstInTrial(a realAgent) time.Duration {
	p.t.Helper()
	up, out := p.newArrivals(a), fmt.Sprintf("r%d", time.Now().UnixNano())
	p.env = append(p.env, "ANTHROPIC_BASE_URL="+up.URL, "OPENAI_BASE_URL="+up.URL, "GOOGLE_GEMINI_BASE_URL="+up.URL)
	s := p.types("run", "--tasks", "cases", "--task", "fails", "--agents", a.name, "--models", a.model, "--sandbox", "docker", "--retries", "0", "--out", out)
	r, ok := p.results(out)[a.name+" fails"]
	if !ok || r.Model.Replies == 0 {
		p.t.Fatalf("%+v\n%s", r, s.err)
	}
	return up.since(r.Started)
}
