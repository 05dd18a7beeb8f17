package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/history"
	"github.com/assaybot/assay/internal/tree"
)

var _ history.Branch = (*Branch)(nil)

// Branch is one branch of a remote that assay itself writes: the last commit is
// fetched, files are put on top of it, and the result is pushed. It works in a
// bare repository of its own; hooks, and repositories that people work in, are
// never touched.
type Branch struct {
	tool         Tool
	dir          string
	remote, name string
	folder       string
}

var branchName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}$`)

func badBranch(name string) bool {
	return !branchName.MatchString(name) || strings.Contains(name, "..") || strings.HasSuffix(name, "/") ||
		strings.HasSuffix(name, ".lock") || strings.Contains(name, "//")
}

// Branch opens a branch of a remote (an address, or the folder of a
// repository), of which files below folder are read ("" for all). Close
// removes what it kept on disk.
func (t Tool) Branch(ctx context.Context, remote, name, folder string) (*Branch, error) {
	if badBranch(name) {
		return nil, assay.Userf("%q is no name of a branch", name)
	}
	if !remoteAddress(remote) {
		if _, err := os.Stat(remote); err != nil || strings.HasPrefix(remote, "-") {
			return nil, assay.Userf("%q is no address of a repository, and no folder", remote)
		}
		abs, err := filepath.Abs(remote)
		if err != nil {
			return nil, err
		}
		remote = abs
	}
	dir, err := os.MkdirTemp("", "assay-branch-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the branch: %w", err)
	}
	b := &Branch{tool: t, dir: dir, remote: remote, name: name, folder: folder}
	if _, err := t.run(ctx, dir, "init", "--quiet", "--bare", "--template=", "."); err != nil {
		return nil, fmt.Errorf("making a repository for the branch: %w", errors.Join(err, b.Close()))
	}
	return b, nil
}

func remoteAddress(name string) bool { return !strings.HasPrefix(name, "-") && remote(name) }

// Close removes what the branch kept on disk.
func (b *Branch) Close() error { return os.RemoveAll(b.dir) }

// where names the branch to people.
func (b *Branch) where() string { return b.name + " of " + WithoutCredentials(b.remote) }

// Tip is the last commit of a branch of the remote, "" where there is none.
func (b *Branch) Tip(ctx context.Context, name string) (string, error) {
	if badBranch(name) {
		return "", assay.Userf("%q is no name of a branch", name)
	}
	ref := "refs/heads/" + name
	out, err := b.tool.run(ctx, b.dir, "ls-remote", "--", b.remote, ref)
	if err != nil {
		return "", network("asking for the branch "+name+" of", b.remote, err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		if id, at, ok := strings.Cut(line, "\t"); ok && at == ref {
			return id, nil
		}
	}
	return "", nil
}

// Read fetches the branch's last commit. Tip is "" where there is no branch.
func (b *Branch) Read(ctx context.Context) (tip string, files map[string][]byte, err error) {
	t, tip, err := b.Tree(ctx)
	files = make(map[string][]byte, len(t))
	for p, e := range t {
		if e.Mode != tree.Link {
			files[p] = e.Data
		}
	}
	return tip, files, err
}

// Tree is Read with the files' modes.
func (b *Branch) Tree(ctx context.Context) (t tree.Tree, tip string, err error) {
	if tip, err = b.Tip(ctx, b.name); err != nil || tip == "" {
		return nil, tip, err
	}
	_, err = b.tool.run(ctx, b.dir, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--",
		b.remote, "+refs/heads/"+b.name+":refs/assay/tip")
	if err != nil {
		return nil, "", network("fetching the branch "+b.name+" of", b.remote, err)
	}
	repo := &Repo{tool: b.tool, dir: b.dir}
	// It may have moved since it was asked for.
	if tip, err = repo.Resolve(ctx, "refs/assay/tip"); err != nil {
		return nil, "", err
	}
	args := []string{"--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", tip}
	if b.folder != "" {
		args = append(args, "--", b.folder+"/")
	}
	out, err := repo.git(ctx, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing the branch %s: %w", b.where(), err)
	}
	listing, _, err := parseListing(out)
	if err != nil {
		return nil, "", fmt.Errorf("listing the branch %s: %w", b.where(), err)
	}
	if t, err = repo.blobs(ctx, listing); err != nil {
		return nil, "", fmt.Errorf("reading the branch %s: %w", b.where(), err)
	}
	return t, tip, nil
}

// Write makes one commit and pushes it.
func (b *Branch) Write(ctx context.Context, c history.Commit) (moved bool, err error) {
	id, err := b.commit(ctx, c)
	if err != nil {
		return false, fmt.Errorf("making a commit for %s: %w", b.where(), err)
	}
	return b.push(ctx, id, c)
}

const made = "refs/assay/made"

// commit makes the commit in the repository here, in one process.
func (b *Branch) commit(ctx context.Context, c history.Commit) (string, error) {
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit %s\ncommitter assay <assay@localhost> now\n", made)
	data := func(text []byte) {
		fmt.Fprintf(&in, "data %d\n", len(text))
		in.Write(text)
		in.WriteByte('\n')
	}
	data([]byte(c.Message))
	if c.Tip != "" {
		fmt.Fprintf(&in, "from %s\n", c.Tip)
	}
	for _, p := range c.Drop {
		fmt.Fprintf(&in, "D %s\n", quoted(p))
	}
	for _, p := range c.Put.Paths() {
		fmt.Fprintf(&in, "M %o inline %s\n", c.Put[p].Mode, quoted(p))
		data(c.Put[p].Data)
	}
	in.WriteString("done\n")
	// An earlier try may have left its commit.
	if _, err := b.tool.run(ctx, b.dir, "update-ref", "-d", made); err != nil {
		return "", err
	}
	cmd := b.tool.command(ctx, b.dir, "fast-import", "--quiet", "--force", "--done", "--date-format=now")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = &in, &stderr
	if err := cmd.Run(); err != nil {
		return "", explain(ctx, []string{"fast-import"}, stderr.String(), err)
	}
	return (&Repo{tool: b.tool, dir: b.dir}).Resolve(ctx, made)
}

// quoted is a path as fast-import reads it.
func quoted(p string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(p) + `"`
}

// push pushes a commit. That somebody else pushed first is no error: it is
// true, and nothing was written.
func (b *Branch) push(ctx context.Context, id string, c history.Commit) (moved bool, err error) {
	args := []string{"push", "--porcelain", "--no-follow-tags", "--no-recurse-submodules"}
	to := b.name
	if c.To != "" {
		if to = c.To; badBranch(to) {
			return false, assay.Userf("%q is no name of a branch", to)
		}
		id = "+" + id
	}
	cmd := b.tool.command(ctx, b.dir, append(args, "--", b.remote, id+":refs/heads/"+to)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = cmd.Run(); err == nil {
		return false, nil
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	why := rejection(stdout.String())
	switch {
	case c.To == "" && overtaken(why):
		return true, nil
	case why != "":
		return false, assay.Userf("the remote refuses to take the branch %s of %s: %s; may this token write contents, and is the branch protected?",
			to, WithoutCredentials(b.remote), why)
	}
	return false, network("pushing the branch "+to+" to", b.remote, explain(ctx, args, lastLine(stderr.String()), err))
}

// rejection is why a push was refused, as the program tells it for machines:
// "!\tFROM:TO\t[rejected] (fetch first)".
func rejection(porcelain string) string {
	for _, line := range strings.Split(porcelain, "\n") {
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) == 3 && parts[0] == "!" {
			return parts[2]
		}
	}
	return ""
}

// overtaken tells whether a push was refused since another one came first.
func overtaken(why string) bool {
	for _, word := range []string{"fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "reference already exists", "stale info", "incorrect old value"} {
		if strings.Contains(why, word) {
			return true
		}
	}
	return false
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndex(s, "\n")+1:]
}
