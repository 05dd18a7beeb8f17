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
	"time"

	"github.com/assaybot/assay/internal/mine"
)

var _ mine.History = (*Repo)(nil)

// Marks of the log's output: a record begins with recordMark, its header ends
// with headerEnd; none of them can be part of a path or of a commit message.
const (
	recordMark = "\x01"
	fieldMark  = "\x02"
	headerEnd  = "\x03"
)

const headerFormat = recordMark + "%H" + fieldMark + "%P" + fieldMark + "%an <%ae>" + fieldMark +
	"%at" + fieldMark + "%ct" + fieldMark + "%s" + fieldMark + "%b" + headerEnd

// Changes walks the first-parent line in one process, oldest first.
func (r *Repo) Changes(ctx context.Context, q mine.Query, yield func(mine.Change) error) error {
	branch, err := r.branch(ctx, q.Branch)
	if err != nil {
		return err
	}
	log := func(since string) error {
		m := merges{repo: r, branch: branch}
		return r.changes(ctx, q, logArgs(q, since, branch), func(c mine.Change) error {
			var err error
			if c.Inner, err = m.inner(ctx, c); err != nil {
				return err
			}
			return yield(c)
		})
	}
	err = log("--since-as-filter=")
	if err != nil && strings.Contains(err.Error(), "since-as-filter") {
		// Before 2.37, git ends its walk at the first older commit.
		return log("--since=")
	}
	return err
}

// logArgs asks for the whole line and lets git filter by date, since a commit
// of an old date may lie on top of newer ones.
func logArgs(q mine.Query, since, branch string) []string {
	args := []string{"log", "-z", "--reverse", "--first-parent", "--diff-merges=first-parent",
		"--raw", "--numstat", "--no-abbrev", "-M", "--no-ext-diff", "--no-textconv", "--no-color",
		"--format=" + headerFormat}
	if !q.Since.IsZero() {
		args = append(args, since+strconv.FormatInt(q.Since.Unix(), 10))
	}
	if !q.Until.IsZero() {
		args = append(args, "--until="+strconv.FormatInt(q.Until.Unix(), 10))
	}
	args = append(args, "--end-of-options", branch)
	if q.After != "" {
		args = append(args, "^"+q.After)
	}
	return append(args, "--")
}

func (r *Repo) changes(ctx context.Context, q mine.Query, args []string, yield func(mine.Change) error) error {
	return r.stream(ctx, args, func(record []byte) error {
		c, err := parseRecord(record)
		if err != nil {
			return err
		}
		if !q.Since.IsZero() && c.Committed.Before(q.Since) {
			return nil
		}
		return yield(c)
	})
}

func (r *Repo) branch(ctx context.Context, name string) (string, error) {
	if name == "" {
		return r.DefaultBranch(ctx)
	}
	return r.Resolve(ctx, name)
}

// stream runs git and hands over every record, which begins with recordMark.
func (r *Repo) stream(ctx context.Context, args []string, each func([]byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := r.tool.command(ctx, r.dir, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting git %s: %w", args[0], err)
	}
	if err := cmd.Start(); err != nil {
		return explain(ctx, args, "", err)
	}
	readErr := records(out, each)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	if readErr != nil {
		return readErr
	}
	if waitErr != nil {
		return explain(ctx, args, stderr.String(), waitErr)
	}
	return nil
}

func records(r io.Reader, each func([]byte) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	var record []byte
	for {
		piece, err := br.ReadSlice(recordMark[0])
		record = append(record, piece...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		whole := bytes.TrimSuffix(record, []byte(recordMark))
		if len(bytes.Trim(whole, "\x00\n")) > 0 {
			if e := each(whole); e != nil {
				return e
			}
		}
		record = record[:0]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading git's output: %w", err)
		}
	}
}

func parseRecord(record []byte) (mine.Change, error) {
	head, rest, ok := bytes.Cut(record, []byte(headerEnd))
	fields := strings.Split(string(head), fieldMark)
	if !ok || len(fields) < 7 {
		return mine.Change{}, fmt.Errorf("reading git's log: a record of %d bytes has no header", len(record))
	}
	c := mine.Change{
		Commit: fields[0], Parents: strings.Fields(fields[1]), Author: fields[2],
		Authored: unix(fields[3]), Committed: unix(fields[4]),
		Subject: fields[5], Body: strings.TrimRight(strings.Join(fields[6:], ""), "\n"),
	}
	files, err := parseStats(rest)
	if err != nil {
		return c, fmt.Errorf("reading what %s changed: %w", c.Commit, err)
	}
	c.Files = files
	return c, nil
}

func unix(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// parseStats reads the NUL-separated --raw lines, then the --numstat lines.
func parseStats(b []byte) ([]mine.FileStat, error) {
	words := strings.Split(strings.TrimLeft(string(b), "\x00\n"), "\x00")
	var files []mine.FileStat
	index := map[string]int{}
	for i := 0; i < len(words); {
		w := strings.TrimPrefix(words[i], "\n")
		switch {
		case w == "":
			i++
		case w[0] == ':':
			f, n, err := rawLine(w, words[i+1:])
			if err != nil {
				return nil, err
			}
			index[f.Path] = len(files)
			files = append(files, f)
			i += 1 + n
		default:
			n, err := numLine(w, words[i+1:], files, index)
			if err != nil {
				return nil, err
			}
			i += 1 + n
		}
	}
	return files, nil
}

func rawLine(w string, next []string) (mine.FileStat, int, error) {
	parts := strings.Fields(strings.TrimPrefix(w, ":"))
	if len(parts) != 5 || len(next) == 0 {
		return mine.FileStat{}, 0, fmt.Errorf("no raw line: %q", w)
	}
	f := mine.FileStat{OldMode: parts[0], NewMode: parts[1], Status: parts[4][:1], Path: next[0]}
	if f.Status != "R" && f.Status != "C" {
		return f, 1, nil
	}
	if len(next) < 2 {
		return f, 0, fmt.Errorf("a rename without a target: %q", w)
	}
	f.Old, f.Path = next[0], next[1]
	return f, 2, nil
}

func numLine(w string, next []string, files []mine.FileStat, index map[string]int) (int, error) {
	parts := strings.SplitN(w, "\t", 3)
	if len(parts) != 3 {
		return 0, fmt.Errorf("no numstat line: %q", w)
	}
	path, used := parts[2], 0
	if path == "" {
		if len(next) < 2 {
			return 0, fmt.Errorf("a renamed numstat line without paths: %q", w)
		}
		path, used = next[1], 2
	}
	i, ok := index[path]
	if !ok {
		return used, nil
	}
	if parts[0] == "-" {
		files[i].Binary = true
		return used, nil
	}
	files[i].Added, _ = strconv.Atoi(parts[0])
	files[i].Removed, _ = strconv.Atoi(parts[1])
	return used, nil
}

// Patch is the binary-safe patch of a change against its first parent.
func (r *Repo) Patch(ctx context.Context, c mine.Change, paths []string) ([]byte, error) {
	if len(c.Parents) == 0 {
		return nil, fmt.Errorf("reading the patch of %s: it has no parent", c.Commit)
	}
	return r.Diff(ctx, c.Parents[0], c.Commit, paths)
}

// Diff is the binary-safe patch from one commit to another.
func (r *Repo) Diff(ctx context.Context, from, to string, paths []string) ([]byte, error) {
	args := []string{"diff", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--src-prefix=a/", "--dst-prefix=b/", from, to, "--"}
	for _, p := range paths {
		args = append(args, ":(literal)"+p)
	}
	return r.git(ctx, args...)
}
