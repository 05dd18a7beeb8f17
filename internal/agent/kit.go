package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// ClaudeKit is the name of the kit of a version of Claude Code; "" is the
// default version.
func ClaudeKit(version string) string {
	if version == "" {
		version = ClaudeVersion
	}
	return assay.SafeName(ClaudeCode+"-"+version, 60)
}

// KitRequest says which kit is wanted. Env is the host's environment, of
// which npm gets what holds no secret; Log receives what npm prints and may
// be nil.
type KitRequest struct {
	CacheDir string
	Version  string
	Env      []string
	Log      io.Writer
}

// EnsureKits makes sure that the kits of all specs are in the cache folder:
// those of agents without a program of ours need nothing.
func EnsureKits(ctx context.Context, r KitRequest, specs []assay.AgentSpec) error {
	for _, spec := range specs {
		if spec.Name != ClaudeCode {
			continue
		}
		r.Version = spec.Version
		if _, err := EnsureKit(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// EnsureKit makes sure that a version of Claude Code is in the cache folder:
// <cache>/<kit>/bin/claude, the program alone. What is missing is fetched
// with npm, complete or not at all; no script of a package is run.
func EnsureKit(ctx context.Context, r KitRequest) (run.Kit, error) {
	version := r.Version
	if version == "" {
		version = ClaudeVersion
	}
	if !versionShape.MatchString(version) {
		return run.Kit{}, assay.Userf("%q is no version of Claude Code such as %s", version, ClaudeVersion)
	}
	kit := run.Kit{Name: ClaudeKit(version), Dir: filepath.Join(r.CacheDir, ClaudeKit(version))}
	if hasProgram(kit.Dir) {
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
	pkg := claudePackage()
	if err := npmInstall(ctx, r, tmp, pkg+"@"+version); err != nil {
		return run.Kit{}, err
	}
	if err := settle(filepath.Join(tmp, "node_modules", filepath.FromSlash(pkg)), tmp, kit.Dir); err != nil {
		return run.Kit{}, fmt.Errorf("laying out the kit %s: %w", kit.Name, err)
	}
	return kit, nil
}

func hasProgram(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "bin", "claude"))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// claudePackage is the package with the native program for this machine; the
// boxes' platform is the same.
func claudePackage() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return "@anthropic-ai/claude-code-" + runtime.GOOS + "-" + arch
}

// settle moves the program out of the package and the kit to its place.
// Another process may have been faster; its kit is as good.
func settle(pkg, tmp, dir string) error {
	kit := filepath.Join(tmp, "kit")
	if err := os.MkdirAll(filepath.Join(kit, "bin"), 0o755); err != nil {
		return err
	}
	program := filepath.Join(kit, "bin", "claude")
	if err := os.Rename(filepath.Join(pkg, "claude"), program); err != nil {
		return err
	}
	if err := os.Chmod(program, 0o755); err != nil {
		return err
	}
	err := os.Rename(filepath.Join(pkg, "LICENSE.md"), filepath.Join(kit, "LICENSE.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(kit, dir); err != nil && !hasProgram(dir) {
		return err
	}
	return nil
}

// npmTime bounds one installation: the program is about 240 MB.
const npmTime = 15 * time.Minute

func npmInstall(ctx context.Context, r KitRequest, prefix, spec string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return &assay.UserError{
			Text: "fetching " + spec + " needs npm: install Node.js (18 or later), or put the kit into " + r.CacheDir,
			Err:  err,
		}
	}
	ctx, cancel := context.WithTimeout(ctx, npmTime)
	defer cancel()
	var tail tailWriter
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", prefix, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", spec)
	cmd.Dir, cmd.Env, cmd.WaitDelay = prefix, withoutSecrets(r.Env), 5*time.Second
	cmd.Stdout, cmd.Stderr = &tail, &tail
	if r.Log != nil {
		cmd.Stdout = io.MultiWriter(&tail, r.Log)
		cmd.Stderr = cmd.Stdout
	}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return assay.Infra(assay.InfraNetwork, "fetching "+spec+" with npm", fmt.Errorf("%w: %s", err, tail.String()))
	}
	return nil
}

// withoutSecrets drops the variables of an environment that look like keys:
// npm needs none but those of its own configuration file.
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
