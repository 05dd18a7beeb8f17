// Package repo makes small git repositories with a realistic history for
// tests and the demo: squash merges, merge commits, rebases, bots. It is for
// tests and the demo only.
package repo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Repo is a repository under construction. The first error sticks: later
// calls do nothing, and Err returns it.
type Repo struct {
	Dir string
	// Now is the time of the next commit; every commit moves it on.
	Now time.Time
	err error
	ctx context.Context
}

// Files maps paths to contents; a nil content removes the file.
type Files map[string]*string

// F is a file's content.
func F(s string) *string { return &s }

// New makes an empty repository with the branch main in dir.
func New(ctx context.Context, dir string, start time.Time) *Repo {
	r := &Repo{Dir: dir, Now: start, ctx: ctx}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		r.err = err
		return r
	}
	r.Git("init", "--quiet", "--initial-branch=main")
	r.Git("config", "core.autocrlf", "false")
	return r
}

// Err is the first error of all calls.
func (r *Repo) Err() error { return r.err }

// Git runs git in the repository and returns its output without the last line
// break. Author and committer are fixed, dates are Now.
func (r *Repo) Git(args ...string) string { return r.GitAs("Dana Dev <dana@example.com>", args...) }

// GitAs is Git with another author, "Name <mail>".
func (r *Repo) GitAs(who string, args ...string) string {
	if r.err != nil {
		return ""
	}
	name, mail, _ := strings.Cut(strings.TrimSuffix(who, ">"), " <")
	cmd := exec.CommandContext(r.ctx, "git", args...)
	cmd.Dir = r.Dir
	date := r.Now.Format(time.RFC3339)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME="+r.Dir,
		"GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+mail, "GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+mail,
		"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		r.err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimRight(out.String(), "\n")
}

// Commit writes files, commits them as who with the message and moves the
// clock on by a day. It returns the commit's id.
func (r *Repo) Commit(who, message string, files Files) string {
	for p, content := range files {
		r.write(p, content)
	}
	r.Git("add", "--all")
	r.GitAs(who, "commit", "--quiet", "--allow-empty", "--message", message)
	r.Now = r.Now.Add(24 * time.Hour)
	return r.Git("rev-parse", "HEAD")
}

func (r *Repo) write(p string, content *string) {
	if r.err != nil {
		return
	}
	full := filepath.Join(r.Dir, filepath.FromSlash(p))
	if content == nil {
		r.err = os.Remove(full)
		return
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.err = err
		return
	}
	r.err = os.WriteFile(full, []byte(*content), 0o644)
}

// Merge makes a branch with one commit of files and merges it with a merge
// commit whose message is GitHub's.
func (r *Repo) Merge(who string, number int, branch, title string, files Files) string {
	r.Git("checkout", "--quiet", "-b", branch)
	r.Commit(who, title, files)
	r.Git("checkout", "--quiet", "main")
	r.GitAs(who, "merge", "--quiet", "--no-ff", "--message",
		fmt.Sprintf("Merge pull request #%d from dev/%s\n\n%s", number, branch, title), branch)
	r.Now = r.Now.Add(24 * time.Hour)
	return r.Git("rev-parse", "HEAD")
}
