package main

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/docker"
	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/local"
	"github.com/assaybot/assay/internal/patch"
	"github.com/assaybot/assay/internal/tree"
)

// patches is the edge patch as the port that run asks for.
type patches struct{}

func (patches) Make(ctx context.Context, base, after tree.Tree) ([]byte, error) {
	return patch.Make(ctx, base, after)
}

func (patches) Apply(ctx context.Context, base tree.Tree, diff []byte) (tree.Tree, error) {
	return patch.Apply(ctx, base, diff)
}

func (patches) Ignored(ctx context.Context, base tree.Tree, paths []string) ([]string, error) {
	return patch.Ignored(ctx, base, paths)
}

func (patches) Repository(ctx context.Context, t tree.Tree) (tree.Tree, error) {
	return patch.Repository(ctx, t)
}

func (patches) WithoutGit(t tree.Tree) (tree.Tree, []string) { return patch.WithoutGit(t) }

func (patches) Sum(base, after tree.Tree, diff []byte) assay.Patch {
	return patch.Sum(base, after, diff)
}

// machine opens what this machine has.
type machine struct{}

func (m machine) sandbox(ctx context.Context, name, runID string) (flow.Sandbox, error) {
	switch name {
	case "local":
		return m.local("local sandbox: no isolation, for trusted agents only: they can read this user's files"), nil
	case "docker":
		return m.docker(ctx, runID)
	case "auto", "":
		s, err := m.docker(ctx, runID)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			return s, err
		}
		return m.local(fmt.Sprintf("local sandbox, no isolation, for trusted agents only; docker can't be used: %v", err)), nil
	}
	return flow.Sandbox{}, assay.Userf("there is no sandbox %q (there are auto, docker, local)", name)
}

func (machine) local(note string) flow.Sandbox {
	// What runs that were killed left. Boxes whose owners live are locked; what
	// can't be removed, another user's, is no matter of this run.
	_, _ = local.Clean("")
	var first []string
	if exe, err := os.Executable(); err == nil {
		first = []string{exe, local.InitArg}
	}
	return flow.Sandbox{
		Sandbox: local.New(local.Options{Path: os.Getenv("PATH"), Init: first}), Note: note,
		Close: func(context.Context) error { return nil }, Host: thisHost(),
	}
}

// thisHost is the machine that this program runs on. Programs of a local run
// come from its PATH.
func thisHost() flow.Host {
	name, err := os.Hostname()
	if err != nil {
		name = "this machine"
	}
	return flow.Host{
		Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: float64(runtime.NumCPU()), MemoryMB: memoryMB(),
		Name: name + " " + os.Getenv("PATH"),
	}
}

// memoryMB is this machine's memory, 0 where it isn't told.
func memoryMB() int {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "MemTotal:")
	var kb int
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		return 0
	}
	return kb >> 10
}

func (machine) docker(ctx context.Context, runID string) (flow.Sandbox, error) {
	ca, err := authorities()
	if err != nil {
		return flow.Sandbox{}, err
	}
	opts := docker.Options{Host: os.Getenv("DOCKER_HOST"), Run: runID, CA: ca, Proxies: proxies(), BuildNetwork: os.Getenv("ASSAY_BUILD_NETWORK")}
	s, err := docker.New(ctx, opts)
	if err != nil {
		return flow.Sandbox{}, err
	}
	if err := s.Ping(ctx); err != nil {
		return flow.Sandbox{}, err
	}
	program, err := boxProgram(ctx)
	if err != nil {
		return flow.Sandbox{}, err
	}
	opts.Program = program
	if s, err = docker.New(ctx, opts); err != nil {
		return flow.Sandbox{}, err
	}
	if _, err := s.Reap(ctx); err != nil {
		return flow.Sandbox{}, err
	}
	h := s.Host()
	return flow.Sandbox{Sandbox: s, Note: "docker sandbox", Close: s.Close, Host: flow.Host{
		Platform: "linux/" + h.Arch, CPUs: float64(h.CPUs), MemoryMB: h.MemoryMB, Name: h.Kernel,
	}}, nil
}

// boxProgram is this program as a box's first process: for Linux and without
// dynamic libraries, since an image may have none. The running program serves
// where it is such a one; else, in a checkout, it is built.
func boxProgram(ctx context.Context) (string, error) {
	if name := os.Getenv("ASSAY_BOX_PROGRAM"); name != "" {
		return name, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	if runtime.GOOS == "linux" && static(exe) {
		return exe, nil
	}
	built, err := buildStatic(ctx)
	if err != nil {
		return "", assay.Userf("boxes need this program built for Linux without dynamic libraries, and that failed: %v; build it with CGO_ENABLED=0 GOOS=linux and set ASSAY_BOX_PROGRAM to its path", err)
	}
	return built, nil
}

// static tells whether a file is a Linux program without an interpreter.
func static(name string) bool {
	f, err := elf.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

func buildStatic(ctx context.Context) (string, error) {
	dir, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	out := filepath.Join(cacheDir(), "box", "assay")
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return "", err
	}
	// Two processes may build at a time; each renames a whole file.
	tmp := fmt.Sprintf("%s.%d", out, os.Getpid())
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", tmp, "./cmd/assay")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building this program for boxes: %w: %s", err, text)
	}
	return out, os.Rename(tmp, out)
}

// moduleDir is the checkout of this project that the current folder is in.
func moduleDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	if err != nil {
		return "", err
	}
	path, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if path != "github.com/assaybot/assay" {
		return "", errors.New("the current folder is no checkout of assay")
	}
	return dir, nil
}

// clean removes leftovers in the engine, if there is one, and on disk.
func (machine) clean(ctx context.Context, all bool) ([]string, error) {
	removed, err := local.Clean("")
	if err != nil {
		return removed, err
	}
	s, err := docker.New(ctx, docker.Options{Host: os.Getenv("DOCKER_HOST")})
	switch {
	case assay.IsUser(err):
		return removed, err
	case err != nil:
		return removed, nil // no engine answers, so it holds nothing to remove
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	more, err := s.Clean(ctx, all)
	return append(removed, more...), err
}
