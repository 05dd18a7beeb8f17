package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/assaybot/assay/internal/actions"
	"github.com/assaybot/assay/internal/agent"
	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/cli"
	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/egress"
	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/gateway"
	"github.com/assaybot/assay/internal/redact"
	"github.com/assaybot/assay/tasks"
	"github.com/assaybot/assay/variants"
)

// command runs one command line with everything wired to it.
func command(ctx context.Context, args []string) int {
	harden()
	hard, soft, release := stops(ctx)
	defer release()
	f, err := wire()
	if err != nil {
		fmt.Fprintln(os.Stderr, "assay:", err)
		return cli.ExitUsage
	}
	out, flush := maskedStreams(f.Hide)
	defer flush()
	factory := &cli.Factory{
		Streams: out, Version: f.Version, Flow: f, Soft: soft, ServeReview: serveReview, Who: reviewer, ServeGateway: serveGateway,
		Outputs: actions.Step{Output: os.Getenv("GITHUB_OUTPUT")}, Build: cli.Build{Commit: commit()},
	}
	return quiet(args, func() int { return cli.Main(hard, factory, args) })
}

// quiet keeps texts of tasks and agents from being taken for commands of the
// runner in a workflow's log. Only publish speaks to the runner. The brackets
// go to standard error: standard output may be a file.
func quiet(args []string, work func() int) (status int) {
	if os.Getenv("GITHUB_ACTIONS") != "true" || len(args) == 0 || args[0] == "publish" {
		return work()
	}
	ran := false
	err := actions.Quiet(os.Stderr, func(io.Writer) error {
		ran, status = true, work()
		return nil
	})
	if err != nil && !ran {
		return work()
	}
	return status
}

// stops turns the first interrupt into a soft stop and the second into a hard
// one.
func stops(ctx context.Context) (hard, soft context.Context, release func()) {
	hard, cancelHard := context.WithCancel(ctx)
	soft, cancelSoft := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range signals {
			if soft.Err() != nil {
				cancelHard()
				continue
			}
			fmt.Fprintln(os.Stderr, "\nassay: finishing what runs; once more stops at once")
			cancelSoft()
		}
	}()
	return hard, soft, func() { signal.Stop(signals); close(signals); <-done; cancelHard(); cancelSoft() }
}

// maskedStreams are the streams without this machine's secrets; flush writes
// out what was held back.
func maskedStreams(m *redact.Mask) (s cli.Streams, flush func()) {
	s = streams()
	out, errs := m.Writer(s.Out), m.Writer(s.Err)
	s.Out, s.Err = out, errs
	return s, func() { _, _ = out.Close(), errs.Close() }
}

func streams() cli.Streams {
	s := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	s.Terminal = term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("CI") == "" && os.Getenv("TERM") != "dumb"
	if out := int(os.Stdout.Fd()); term.IsTerminal(out) {
		s.Color = os.Getenv("NO_COLOR") == ""
		if w, _, err := term.GetSize(out); err == nil {
			s.Width = w
		}
	}
	return s
}

// wire makes the edges and hands them to the use cases.
func wire() (*flow.Flow, error) {
	gw, err := newGateway(nil, nil)
	if err != nil {
		return nil, err
	}
	agents := agentOptions()
	m, open := machine{}, repos()
	return &flow.Flow{
		Version: version(), Owner: owner(), Now: time.Now,
		Agents: agent.All(agents), UsesModels: agent.UsesModels, Gateway: gw, Outlet: egress.Outlet{}, Patches: patches{},
		Sandbox: m.sandbox, Kits: kits(agents), Tasks: tasks.FS(), Variants: variants.FS(),
		Repos: open, Branches: branches(), Texts: texts, Commits: flow.NewCommits(open), GitHub: step(),
		CacheDir: cacheDir(), CleanUp: m.clean, Check: m.doctor, Free: disk.Free, Sample: demoSample, Hub: demoHub,
		Hide: hidden(), Clock: clock,
	}, nil
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return strings.Trim(info.Main.Version, "()")
}

// commit is the one that this program was built from, "" where the build
// doesn't say or had changes beside it.
func commit() (id string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			id = s.Value
		case s.Key == "vcs.modified" && s.Value != "false":
			return ""
		}
	}
	return id
}

func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return fmt.Sprintf("assay, process %d on %s, since %s", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
}

// cacheDir is where kits and clones are kept between runs.
func cacheDir() string {
	if dir := os.Getenv("ASSAY_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "assay")
}

// newGateway takes keys and addresses from the names that the providers' own
// tools use. Addresses and names of keys' headers that are given, by API, win.
func newGateway(bases, headers map[string]string) (*gateway.Gateway, error) {
	ups := map[string]gateway.Upstream{}
	for _, p := range []struct{ name, key, base string }{
		{"anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
		{"openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"},
		{"gemini", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
	} {
		key, base := os.Getenv(p.key), os.Getenv(p.base)
		if key != "" || base != "" {
			ups[p.name] = gateway.Upstream{BaseURL: base, Key: key}
		}
	}
	for name, base := range bases {
		u := ups[name]
		u.BaseURL = base
		ups[name] = u
	}
	for name, header := range headers {
		u := ups[name]
		u.KeyHeader = header
		ups[name] = u
	}
	ca, err := authorities()
	if err != nil {
		return nil, err
	}
	over, err := prices()
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Config{Upstreams: ups, Prices: over, CA: ca, Proxy: http.ProxyFromEnvironment})
}

// authorities are the certificates of ASSAY_CA, for builds and for the
// gateway's upstream.
func authorities() ([]byte, error) {
	name := os.Getenv("ASSAY_CA")
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, assay.Userf("reading the certificate authorities that ASSAY_CA names: %v", err)
	}
	return data, nil
}

func proxies() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		if v := os.Getenv(name); v != "" {
			out[name] = v
		}
	}
	return out
}

// environment is this machine's environment as a map, for what an agent's
// specification names.
func environment() map[string]string {
	out := map[string]string{}
	for _, kv := range os.Environ() {
		if name, value, ok := strings.Cut(kv, "="); ok {
			out[name] = value
		}
	}
	return out
}

func agentOptions() agent.Options {
	return agent.Options{CacheDir: filepath.Join(cacheDir(), "kits"), HostEnv: environment()}
}

// kits fetches the programs that a run's agents need, once per version.
func kits(o agent.Options) func(context.Context, []assay.AgentSpec, io.Writer) error {
	return func(ctx context.Context, specs []assay.AgentSpec, log io.Writer) error {
		return agent.EnsureKits(ctx, agent.KitRequest{CacheDir: o.CacheDir, Env: os.Environ(), Log: log}, specs)
	}
}
