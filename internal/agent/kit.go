package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// KitRequest says which kit is wanted. Env is the host's environment, of
// which package managers get what holds no secret; Log receives what they print and may
// be nil.
type KitRequest struct {
	CacheDir string
	Agent    string
	Version  string
	Env      []string
	Log      io.Writer
}

// EnsureKits makes sure that the kits of all specs are in the cache folder:
// those of agents without a program of ours need nothing.
func EnsureKits(ctx context.Context, r KitRequest, specs []assay.AgentSpec) error {
	for _, spec := range specs {
		if _, ours := recipes()[spec.Name]; !ours {
			continue
		}
		r.Agent, r.Version = spec.Name, spec.Version
		if _, err := EnsureKit(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// EnsureKit makes sure that a version of an agent's program is in the cache
// folder, as <cache>/<kit>: the program and what it can't do without. What is
// missing is fetched with npm or pip, complete or not at all; no script of a
// package is run.
func EnsureKit(ctx context.Context, r KitRequest) (run.Kit, error) {
	how, ours := recipes()[r.Agent]
	if !ours {
		return run.Kit{}, assay.Userf("there is no kit for the agent %q", r.Agent)
	}
	version := r.Version
	if version == "" {
		version = how.version
	}
	if !versionShape.MatchString(version) {
		return run.Kit{}, assay.Userf("%q is no version of %s such as %s", version, how.title, how.version)
	}
	name := KitName(r.Agent, version)
	kit := run.Kit{Name: name, Dir: filepath.Join(r.CacheDir, name)}
	if how.complete(kit.Dir) {
		return kit, nil
	}
	if err := os.MkdirAll(r.CacheDir, 0o755); err != nil {
		return run.Kit{}, assay.Infra(assay.InfraDisk, "making the cache folder of kits", err)
	}
	tmp, err := os.MkdirTemp(r.CacheDir, ".kit-*")
	if err != nil {
		return run.Kit{}, assay.Infra(assay.InfraDisk, "making the folder of a kit", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	install := npmInstall
	if how.python {
		install = pythonInstall
	}
	if err := install(ctx, r, tmp, how.packages(version)); err != nil {
		return run.Kit{}, err
	}
	if err := how.settle(tmp, kit.Dir); err != nil {
		return run.Kit{}, fmt.Errorf("laying out the kit %s: %w", kit.Name, err)
	}
	return kit, nil
}

// installTime bounds one installation: a program is up to some 400 MB.
const installTime = 15 * time.Minute

func npmInstall(ctx context.Context, r KitRequest, prefix string, packages []string) error {
	argv := []string{"npm", "install", "--prefix", prefix, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--omit=optional"}
	return install(ctx, r, installation{
		dir: prefix, argv: append(argv, packages...), what: strings.Join(packages, " "),
		needs: "npm: install Node.js (18 or later)",
	})
}

// installation is a package manager at work.
type installation struct {
	dir   string
	argv  []string
	what  string // is fetched
	needs string // for people who lack the package manager
}

func install(ctx context.Context, r KitRequest, i installation) error {
	program, err := exec.LookPath(i.argv[0])
	if err != nil {
		return &assay.UserError{Text: "fetching " + i.what + " needs " + i.needs + ", or put the kit into " + r.CacheDir, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	var tail tailWriter
	cmd := exec.CommandContext(ctx, program, i.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = i.dir, withoutSecrets(r.Env), 5*time.Second
	cmd.Stdout, cmd.Stderr = &tail, &tail
	if r.Log != nil {
		cmd.Stdout = io.MultiWriter(&tail, r.Log)
		cmd.Stderr = cmd.Stdout
	}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return assay.Infra(assay.InfraNetwork, "fetching "+i.what+" with "+i.argv[0], fmt.Errorf("%w: %s", err, tail.String()))
	}
	return nil
}

// withoutSecrets drops the variables of an environment that look like keys:
// package managers need none but those of their own configuration files.
func withoutSecrets(env []string) []string {
	out := []string{} // not nil, which would mean the whole environment
	for _, kv := range env {
		name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
		secret := false
		for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"} {
			secret = secret || strings.Contains(name, part)
		}
		if !secret {
			out = append(out, kv)
		}
	}
	return out
}

// tailWriter keeps the last few KiB of what is written.
type tailWriter struct{ b []byte }

func (t *tailWriter) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - 4096; over > 0 {
		t.b = t.b[over:]
	}
	return len(p), nil
}

func (t *tailWriter) String() string { return strings.TrimSpace(string(t.b)) }
