package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/tree"
)

// Tree is what a commit holds: bytes as they are in the repository, no
// attribute applied. Submodules are listed apart, as they have no content.
func (r *Repo) Tree(ctx context.Context, commit string) (t tree.Tree, submodules []string, err error) {
	out, err := r.git(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, nil, fmt.Errorf("listing %s: %w", commit, err)
	}
	entries, submodules, err := parseListing(out)
	if err != nil {
		return nil, nil, fmt.Errorf("listing %s: %w", commit, err)
	}
	t, err = r.blobs(ctx, entries)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the files of %s: %w", commit, err)
	}
	return t, submodules, nil
}

type listed struct {
	path, blob string
	mode       tree.Mode
}

func parseListing(out []byte) (files []listed, submodules []string, err error) {
	for _, line := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if line == "" {
			continue
		}
		head, path, ok := strings.Cut(line, "\t")
		parts := strings.Fields(head)
		if !ok || len(parts) != 3 {
			return nil, nil, fmt.Errorf("no listing line: %q", line)
		}
		if parts[1] == "commit" {
			submodules = append(submodules, path)
			continue
		}
		files = append(files, listed{path: path, blob: parts[2], mode: modeOf(parts[0])})
	}
	return files, submodules, nil
}

func modeOf(octal string) tree.Mode {
	switch octal {
	case "120000":
		return tree.Link
	case "100755":
		return tree.Exec
	}
	return tree.File
}

// blobs reads all files through one cat-file process.
func (r *Repo) blobs(ctx context.Context, files []listed) (tree.Tree, error) {
	var in bytes.Buffer
	for _, f := range files {
		in.WriteString(f.blob)
		in.WriteByte('\n')
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := r.tool.command(ctx, r.dir, "cat-file", "--batch")
	cmd.Stdin = &in
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t, readErr := readBlobs(bufio.NewReaderSize(out, 1<<20), files)
	if readErr != nil {
		cancel()
	}
	return t, errors.Join(readErr, ignoreIf(readErr != nil, cmd.Wait()))
}

// ignoreIf drops the error of a process that we ended ourselves.
func ignoreIf(ended bool, err error) error {
	if ended {
		return nil
	}
	return err
}

func readBlobs(r *bufio.Reader, files []listed) (tree.Tree, error) {
	t := make(tree.Tree, len(files))
	for _, f := range files {
		head, err := r.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		parts := strings.Fields(head)
		if len(parts) != 3 || parts[1] != "blob" {
			return nil, fmt.Errorf("%s: the repository lacks its content (%s)", f.path, strings.TrimSpace(head))
		}
		size, err := strconv.Atoi(parts[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		if _, err := r.Discard(1); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		t[f.path] = tree.Entry{Mode: f.mode, Data: data}
	}
	return t, nil
}

// Read gives the contents of some paths at a commit; a path that the commit
// lacks is left out.
func (r *Repo) Read(ctx context.Context, commit string, paths []string) (map[string][]byte, error) {
	args := []string{"--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", commit, "--"}
	out, err := r.git(ctx, append(args, paths...)...)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", commit, err)
	}
	entries, _, err := parseListing(out)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", commit, err)
	}
	t, err := r.blobs(ctx, entries)
	if err != nil {
		return nil, fmt.Errorf("reading files of %s: %w", commit, err)
	}
	files := make(map[string][]byte, len(t))
	for p, e := range t {
		files[p] = e.Data
	}
	return files, nil
}

// Parent is the first parent of a commit.
func (r *Repo) Parent(ctx context.Context, commit string) (string, error) {
	return r.Resolve(ctx, commit+"^1")
}

// Before is the last commit of the branch's first-parent line that landed
// before the given Unix time.
func (r *Repo) Before(ctx context.Context, branch string, unix int64) (string, error) {
	b, err := r.branch(ctx, branch)
	if err != nil {
		return "", err
	}
	id, err := r.text(ctx, "rev-list", "-n", "1", "--first-parent", "--before="+strconv.FormatInt(unix, 10), b, "--")
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", fmt.Errorf("finding the last commit before the cutoff in %s: there is none", r.dir)
	}
	return id, nil
}
