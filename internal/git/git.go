// Package git reads repositories with the git program: the main line of a
// history, the tree of a commit, patches. It never writes to a repository that
// it reads, and never trusts a repository's own configuration. The one thing
// that it writes are single commits on branches of a remote (Branch).
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// Tool is the git program with the few variables of the environment that it
// may see (PATH, proxies, HOME for credentials of a clone).
type Tool struct {
	// Env is the environment of every call, as "NAME=value".
	Env []string
	// Cache is the folder of bare clones.
	Cache string
}

// Repo is one repository on this machine, bare or with a work tree.
type Repo struct {
	tool Tool
	dir  string // the git directory
}

// Dir is the repository's git directory.
func (r *Repo) Dir() string { return r.dir }

// Open opens the repository at path. A path that is none is a user error.
func (t Tool) Open(ctx context.Context, path string) (*Repo, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, assay.Userf("there is no repository at %s: %v", path, err)
	}
	out, err := t.run(ctx, path, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, assay.Userf("%s is no git repository: %v", path, err)
	}
	dir := strings.TrimRight(string(out), "\n")
	if shallow(dir) {
		return nil, assay.Userf("%s is a shallow clone, its history is cut; run 'git fetch --unshallow' in it first", path)
	}
	return &Repo{tool: t, dir: dir}, nil
}

func shallow(gitDir string) bool {
	_, err := os.Stat(filepath.Join(gitDir, "shallow"))
	return err == nil
}

// guard are the settings that win over those of any repository: nothing of
// it may run a program or change bytes.
func guard() []string {
	return []string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null",
		"-c", "core.quotePath=false", "-c", "core.autocrlf=false", "-c", "safe.directory=*",
		"-c", "diff.external=", "-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false",
		"-c", "protocol.ext.allow=never", "-c", "gc.auto=0", "-c", "log.showSignature=false",
	}
}

func (t Tool) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	all := append(guard(), args...)
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, all...)...)
	cmd.Env = append([]string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ATTR_NOSYSTEM=1", "LC_ALL=C", "TZ=UTC",
	}, t.Env...)
	return cmd
}

// run runs git to its end and returns its output.
func (t Tool) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := t.command(ctx, dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, explain(ctx, args, stderr.String(), err)
	}
	return stdout.Bytes(), nil
}

func explain(ctx context.Context, args []string, stderr string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return assay.Userf("the program git isn't on PATH; install it")
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return fmt.Errorf("git %s: %s (%w)", args[0], line, err)
}

func (r *Repo) git(ctx context.Context, args ...string) ([]byte, error) {
	return r.tool.run(ctx, r.dir, args...)
}

// text is git's output without the last line break.
func (r *Repo) text(ctx context.Context, args ...string) (string, error) {
	out, err := r.git(ctx, args...)
	return strings.TrimRight(string(out), "\n"), err
}

// Resolve is the full id of a commit.
func (r *Repo) Resolve(ctx context.Context, rev string) (string, error) {
	id, err := r.text(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("finding commit %s in %s: there is none", rev, r.dir)
	}
	return id, nil
}

// DefaultBranch is the branch that a candidate's change must be on: what
// origin/HEAD points to, else HEAD.
func (r *Repo) DefaultBranch(ctx context.Context) (string, error) {
	if ref, err := r.text(ctx, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"); err == nil {
		return ref, nil
	}
	ref, err := r.text(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err == nil {
		if _, err := r.Resolve(ctx, ref); err == nil {
			return ref, nil
		}
	}
	return "HEAD", nil
}

// URL is the address of origin without credentials, "" when there is none.
func (r *Repo) URL(ctx context.Context) string {
	url, err := r.text(ctx, "config", "--get", "remote.origin.url")
	if err != nil {
		return ""
	}
	return WithoutCredentials(url)
}

// WithoutCredentials drops user and password from an http address.
func WithoutCredentials(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		host = host[at+1:]
	}
	return scheme + "://" + host + "/" + path
}
