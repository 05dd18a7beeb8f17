// Package docker is the sandbox of run.Sandbox on a Docker engine. A box is
// one container without a network whose first process is our own program;
// everything goes over its standard input and output, so a remote engine
// works as well as a local one.
//
// It never mounts a folder of this machine, never gives a box a key or a way
// out, and never touches an object of the engine that lacks our label.
package docker

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/client"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// Options say how to reach the engine and what to give it.
type Options struct {
	// Host is the engine's address ("unix:///var/run/docker.sock"); ""
	// takes what the engine's own tools would from the environment.
	Host string
	// Program is the path of this program built for Linux and without
	// dynamic libraries; it becomes the first process of every box.
	Program string
	// Run is the run that the sandbox works for: it labels what is made
	// for all boxes together.
	Run string
	// CA is a PEM bundle that builds and the installation of kits trust;
	// no box of an agent or grader sees it, but a built image keeps it.
	CA []byte
	// Proxies are handed to builds and to the installation of kits:
	// http_proxy, https_proxy, no_proxy.
	Proxies map[string]string
	// BuildNetwork is the network of builds and installations; "" is the
	// engine's default.
	BuildNetwork string
	// KitImage is where kits are installed; "" is the image of the first
	// box that needs the kit.
	KitImage string
}

// Sandbox makes boxes on one engine. Close removes what is left of it.
type Sandbox struct {
	c     *client.Client
	opts  Options
	owner owner
	cpus  int
	arch  string
	host  Host
	// confined are the engine's own words on seccomp and its like.
	confined []string
	locks    locks

	mu      sync.Mutex
	program string // the volume with our program
	boxes   map[*box]bool
}

var _ run.Sandbox = (*Sandbox)(nil)

// New connects to the engine. An engine that doesn't answer is an error of
// the infrastructure that says so.
func New(ctx context.Context, opts Options) (*Sandbox, error) {
	how := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if opts.Host != "" {
		how = append(how, client.WithHost(opts.Host))
	}
	c, err := client.NewClientWithOpts(how...)
	if err != nil {
		return nil, &assay.UserError{Text: "the address of the Docker engine is wrong", Err: err}
	}
	info, err := c.Info(ctx)
	if err != nil {
		_ = c.Close()
		return nil, infra("asking the Docker engine who it is", err)
	}
	if info.OSType != "" && info.OSType != "linux" {
		_ = c.Close()
		return nil, permanent("using the Docker engine", fmt.Errorf("it runs %s containers; boxes are Linux", info.OSType))
	}
	me, err := self()
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("naming this process: %w", err)
	}
	return &Sandbox{
		c: c, opts: opts, owner: me, cpus: info.NCPU, arch: goArch(info.Architecture),
		host:  Host{Arch: goArch(info.Architecture), CPUs: info.NCPU, MemoryMB: int(info.MemTotal >> 20), Kernel: info.KernelVersion},
		boxes: map[*box]bool{}, confined: confinement(info.SecurityOptions),
	}, nil
}

// Host is the machine of the engine.
type Host struct {
	Arch     string // as Go calls it
	CPUs     int
	MemoryMB int
	Kernel   string
}

// Host is the machine that boxes run on.
func (s *Sandbox) Host() Host { return s.host }

// confinement are an engine's security options in few words: "seccomp
// builtin", "apparmor".
func confinement(options []string) []string {
	out := make([]string, 0, len(options))
	for _, o := range options {
		var words []string
		for _, kv := range strings.Split(o, ",") {
			_, v, _ := strings.Cut(kv, "=")
			words = append(words, v)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "":
		return runtime.GOARCH
	}
	return machine
}

// Name is "docker".
func (s *Sandbox) Name() string { return "docker" }

// Ping asks the engine whether it is there.
func (s *Sandbox) Ping(ctx context.Context) error {
	_, err := s.c.Ping(ctx)
	return infra("asking the Docker engine whether it is there", err)
}

// Close removes every box that is still open and the volume with our
// program. It works under a cancelled ctx too, for a minute at most.
func (s *Sandbox) Close(ctx context.Context) error {
	ctx, cancel := closing(ctx)
	defer cancel()
	s.mu.Lock()
	open := make([]*box, 0, len(s.boxes))
	for b := range s.boxes {
		open = append(open, b)
	}
	s.mu.Unlock()
	var first error
	for _, b := range open {
		if err := b.Close(ctx); err != nil && first == nil {
			first = err
		}
	}
	s.mu.Lock()
	volume := s.program
	s.program = ""
	s.mu.Unlock()
	if volume != "" {
		if err := s.removeVolume(ctx, volume); err != nil && first == nil {
			first = err
		}
	}
	if err := s.c.Close(); err != nil && first == nil {
		first = err
	}
	return first
}

// closing is a context for clearing up: it outlives its parent's end.
func closing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
}

// locks are named locks that respect a context.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits for the lock of a name; the returned function frees it.
func (l *locks) lock(ctx context.Context, name string) (func(), error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	ch, ok := l.held[name]
	if !ok {
		ch = make(chan struct{}, 1)
		l.held[name] = ch
	}
	l.mu.Unlock()
	select {
	case ch <- struct{}{}:
		return func() { <-ch }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// self is the owner that this process is.
func self() (owner, error) {
	host, err := os.Hostname()
	if err != nil {
		return owner{}, err
	}
	pid := os.Getpid()
	return owner{Pid: pid, Start: startOf(pid), Host: strings.ReplaceAll(host, ":", "_")}, nil
}
