package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testlog"
	"github.com/assaybot/assay/internal/tree"
)

// The names of a task's files and folders.
const (
	taskFile    = "task.json"
	variantFile = "variant.json"
	promptFile  = "prompt.md"
	workDir     = "workspace"
	verifyDir   = "verify"
	solutionDir = "solution"
	envDir      = "environment"
	defaultEnv  = "default"
)

// ErrRepository is what Workspace returns for a task whose workspace is a
// commit of a repository: the caller gets the tree from there.
var ErrRepository = errors.New("the workspace is a commit of a repository")

// Options steer how a suite is read. The zero value is usable.
type Options struct {
	// Formats are the report formats that a tests check may name; default:
	// all that assay reads.
	Formats []string
	// Bounds of each folder of a task; zero means 1 GiB and 200 000 files.
	Bounds tree.Bounds
}

func (o Options) filled() Options {
	if o.Formats == nil {
		o.Formats = testlog.Formats()
	}
	if o.Bounds == (tree.Bounds{}) {
		o.Bounds = tree.Bounds{Bytes: 1 << 30, Files: 200_000}
	}
	return o
}

// Suite is a folder of tasks, in the order of their names.
type Suite struct {
	// Name is the folder as the user named it.
	Name    string
	Entries []Entry
}

// Entry is one task. A task with Problems can't be run; its other fields hold
// what could be read, Task.ID always the folder's name.
type Entry struct {
	Task assay.Task
	// Dir is the folder's name within the suite.
	Dir string
	// Digest is 64 hex digits over everything that makes the task.
	Digest string
	// Prompt is the statement, from task.json or from the prompt file.
	Prompt   string
	Problems assay.Problems

	fsys   fs.FS
	bounds tree.Bounds
}

// Open reads every task of a folder. name is how messages call the folder.
// The error is a UserError when there is no such folder or no task in it;
// faults of single tasks are their entries' Problems.
func Open(fsys fs.FS, name string, opt Options) (*Suite, error) {
	dirs, err := fs.ReadDir(fsys, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, assay.Userf("there is no folder %q; tasks are looked for as %s", name, path.Join(name, "<id>", taskFile))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tasks folder %q: %w", name, err)
	}
	if isFile(fsys, taskFile) {
		return nil, assay.Userf("%q is a task itself; name the folder that holds it", name)
	}
	s := &Suite{Name: name}
	o := &opener{fsys: fsys, name: name, opt: opt.filled()}
	for _, d := range dirs {
		if o.isTask(d) {
			s.Entries = append(s.Entries, o.load(d.Name()))
		}
	}
	if len(s.Entries) == 0 {
		return nil, assay.Userf("%q holds no task; looked for %s", name, path.Join(name, "*", taskFile))
	}
	return s, nil
}

// Problems are the faults of all tasks.
func (s *Suite) Problems() assay.Problems {
	var out assay.Problems
	for _, e := range s.Entries {
		out = append(out, e.Problems...)
	}
	return out
}

// Digest is over the names and digests of all tasks, 64 hex digits.
func (s *Suite) Digest() string { return DigestOf(s.Entries) }

// DigestOf is the digest of a suite that holds just these entries.
func DigestOf(entries []Entry) string {
	h := sha256.New()
	for _, e := range entries {
		_, _ = fmt.Fprintf(h, "%s %d:%s\n", e.Digest, len(e.Dir), e.Dir)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Workspace is what the agent gets. For a task with a repository and a base
// and no folder of its own, the error is ErrRepository.
func (e Entry) Workspace() (tree.Tree, error) {
	if e.fromRepository() && !isDir(e.fsys, path.Join(e.Dir, workDir)) {
		return nil, ErrRepository
	}
	return e.folder(path.Join(e.Dir, workDir))
}

func (e Entry) fromRepository() bool { return e.Task.Repository != "" && e.Task.Base != nil }

// Verify are the hidden files, an empty tree if the task has none.
func (e Entry) Verify() (tree.Tree, error) { return e.optional(path.Join(e.Dir, verifyDir)) }

// Solution are the files of the reference solution, laid over the workspace;
// nil if the task has none.
func (e Entry) Solution() (tree.Tree, error) {
	if !isDir(e.fsys, path.Join(e.Dir, solutionDir)) {
		return nil, nil
	}
	return e.folder(path.Join(e.Dir, solutionDir))
}

// Environment is the build context of the task's image, nil if the task
// names an image or nothing.
func (e Entry) Environment() (tree.Tree, error) {
	dir := e.contextDir()
	if dir == "" {
		return nil, nil
	}
	return e.folder(dir)
}

// contextDir is the folder of the suite that holds the build context.
func (e Entry) contextDir() string {
	switch env := e.Task.Environment; {
	case env.Dockerfile != "":
		return path.Join(e.Dir, path.Dir(path.Clean(env.Dockerfile)))
	case env.Shared != "":
		return path.Join(envDir, env.Shared)
	}
	return ""
}

func (e Entry) optional(dir string) (tree.Tree, error) {
	if !isDir(e.fsys, dir) {
		return tree.Tree{}, nil
	}
	return e.folder(dir)
}

func (e Entry) folder(dir string) (tree.Tree, error) {
	if !isDir(e.fsys, dir) {
		return nil, assay.Userf("the folder %s of task %q is missing", dir, e.Dir)
	}
	sub, err := fs.Sub(e.fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("opening %s of task %q: %w", dir, e.Dir, err)
	}
	t, err := tree.FromFS(sub, e.bounds)
	if err != nil {
		return nil, fmt.Errorf("reading %s of task %q: %w", dir, e.Dir, err)
	}
	return t, nil
}

// kindOf is the type of what stands at p, without following a link there;
// ok is false if nothing does.
func kindOf(fsys fs.FS, p string) (m fs.FileMode, ok bool) {
	info, err := fs.Lstat(fsys, p)
	if err != nil {
		return 0, false
	}
	return info.Mode(), true
}

func isDir(fsys fs.FS, p string) bool {
	m, ok := kindOf(fsys, p)
	return ok && m.IsDir()
}

func isFile(fsys fs.FS, p string) bool {
	m, ok := kindOf(fsys, p)
	return ok && m.IsRegular()
}

// plainPath tells whether p and every folder above it are no links, so that
// reading it can't leave root.
func plainPath(fsys fs.FS, root, p string) bool {
	for q := p; q != root && q != "."; q = path.Dir(q) {
		if m, ok := kindOf(fsys, q); ok && m&fs.ModeSymlink != 0 {
			return false
		}
	}
	return true
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
