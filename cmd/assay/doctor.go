package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/docker"
	"github.com/assaybot/assay/internal/flow"
)

// doctor looks at what this machine can do.
func (machine) doctor(ctx context.Context) []flow.Finding {
	out := []flow.Finding{
		program(ctx, flow.Finding{Name: "git", Needed: true, Remedy: "install git 2.30 or newer"}, "git", "--version"),
		program(ctx, flow.Finding{Name: "python3", Needed: true, Remedy: "install Python 3.9 or newer; the built-in suite's local runs need it"}, "python3", "--version"),
		engine(ctx),
		program(ctx, flow.Finding{Name: "npm", Remedy: "install Node.js with npm; it fetches agent programs such as Claude Code"}, "npm", "--version"),
		program(ctx, flow.Finding{Name: "go", Remedy: "install Go; only a checkout of assay needs it, to build the boxes' first process"}, "go", "version"),
		key("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
		key("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
		key("gemini", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
		room("."),
	}
	return out
}

func program(ctx context.Context, f flow.Finding, argv ...string) flow.Finding {
	text, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	f.OK = err == nil
	f.Text = strings.TrimSpace(string(text))
	if err != nil {
		f.Text = argv[0] + " can't be run: " + err.Error()
	}
	return f
}

func engine(ctx context.Context) flow.Finding {
	f := flow.Finding{Name: "docker", Remedy: "start a Docker engine, or set DOCKER_HOST; without one only trusted agents can run (--sandbox local)"}
	s, err := docker.New(ctx, docker.Options{Host: os.Getenv("DOCKER_HOST")})
	if err == nil {
		err = s.Ping(ctx)
	}
	if f.OK = err == nil; f.OK {
		f.Text = "an engine answers; agents run isolated"
		return f
	}
	f.Text = err.Error()
	return f
}

func key(provider, name, base string) flow.Finding {
	f := flow.Finding{Name: provider, Remedy: "set " + name + " (it never enters a box, a file or a log)"}
	if f.OK = os.Getenv(name) != "" || os.Getenv(base) != ""; f.OK {
		f.Text = name + " or " + base + " is set"
		return f
	}
	f.Text = name + " is not set; agents that speak its API have no model"
	return f
}

func room(dir string) flow.Finding {
	free, err := disk.Free(dir)
	f := flow.Finding{Name: "disk", OK: err == nil && free > 2<<30, Remedy: "free at least 2 GiB"}
	f.Text = fmt.Sprintf("%.1f GiB free here", float64(free)/(1<<30))
	if err != nil {
		f.Text = err.Error()
	}
	return f
}
