package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/schema"
	"github.com/assaybot/assay/internal/tree"
)

type opener struct {
	fsys fs.FS
	name string
	opt  Options
}

// isTask tells whether a folder is a task or was meant to be one.
func (o *opener) isTask(d fs.DirEntry) bool {
	name := d.Name()
	if hidden(name) || name == envDir {
		return false
	}
	if !utf8.ValidString(name) {
		return d.IsDir()
	}
	info, err := fs.Stat(o.fsys, name)
	if err != nil || !info.IsDir() {
		return false
	}
	inside, err := fs.ReadDir(o.fsys, name)
	if err != nil {
		return true // load tells why
	}
	for _, f := range inside {
		switch n := f.Name(); {
		case n == workDir, n == verifyDir, n == solutionDir, n == promptFile:
			return true
		case strings.EqualFold(strings.TrimSuffix(n, path.Ext(n)), "task"):
			return true
		}
	}
	return false
}

// load reads one task; whatever is wrong with it goes into the entry.
func (o *opener) load(dir string) Entry {
	e := Entry{Dir: dir, fsys: o.fsys, bounds: o.opt.Bounds}
	e.Task.ID = dir
	file := path.Join(o.name, dir, taskFile)
	if !utf8.ValidString(dir) {
		e.Problems.Addf(fmt.Sprintf("%s/%q", o.name, dir), 0, "the folder's name is not valid UTF-8; rename it")
		return e
	}
	if !isFile(o.fsys, path.Join(dir, taskFile)) {
		e.Problems.Addf(file, 0, "the file is missing, but the folder looks like a task")
		return e
	}
	data, err := fs.ReadFile(o.fsys, path.Join(dir, taskFile))
	if err != nil {
		e.Problems.Addf(file, 0, "the file can't be read: %s", err)
		return e
	}
	e.Problems = schema.DecodeJSON(file, data, &e.Task)
	if e.Task.Schema == assay.TaskSchema {
		o.examine(&e, file, data)
	} else {
		e.Digest = rawDigest(data)
	}
	e.Task.ID = dir
	return e
}

// examine looks for the faults that need the whole task, and fills what
// follows from it: prompt and digest.
func (o *opener) examine(e *Entry, file string, data []byte) {
	c := &checker{task: &e.Task, dir: e.Dir, file: file, suite: o.name, fsys: o.fsys,
		lines: schema.Index(data), formats: o.opt.Formats, bounds: o.opt.Bounds}
	c.trees()
	e.Prompt = c.prompt()
	c.identity()
	c.environment()
	c.limits()
	c.patterns()
	c.tests()
	c.checks()
	e.Problems = append(e.Problems, c.fresh(e.Problems)...).Sorted()
	if env := &e.Task.Environment; env.Image+env.Dockerfile+env.Shared == "" && isDir(o.fsys, path.Join(envDir, defaultEnv)) {
		env.Shared = defaultEnv
	}
	e.Digest = o.digest(*e, c, data)
}

func badID(id string) string {
	switch {
	case id == "":
		return "is empty"
	case strings.ContainsRune(id, '/'):
		return "holds a slash"
	case strings.IndexFunc(id, unicode.IsControl) >= 0:
		return "holds a control character"
	case hidden(id):
		return "starts with a dot"
	}
	return ""
}

func rawDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// digest is over what the task says, without what proving it has recorded
// (validation, strength, lock and image digest), in a form that spelling and
// order in the file don't change, and over its folders.
func (o *opener) digest(e Entry, c *checker, data []byte) string {
	h := sha256.New()
	t := e.Task
	if v := t.Validation; v != nil { // what grading leaves out counts
		t.Validation = nil
		if len(v.Dropped) > 0 {
			t.Validation = &assay.Validation{Dropped: v.Dropped}
		}
	}
	t.Strength, t.Environment.Undated = nil, nil
	t.Environment.Lock, t.Environment.ImageDigest = "", ""
	t.Prompt, t.PromptFile = e.Prompt, ""
	said, err := json.Marshal(t)
	if err != nil || len(e.Problems) > 0 {
		said = append(said, data...)
	}
	_, _ = fmt.Fprintf(h, "task %d\n%s\n", len(said), said)
	context, err := e.Environment()
	if err != nil {
		context = nil // a fault of the task, told by the checker
	}
	addTree(h, workDir, c.work)
	addTree(h, verifyDir, c.verify)
	addTree(h, solutionDir, c.solution)
	addTree(h, envDir, context)
	return hex.EncodeToString(h.Sum(nil))
}

func addTree(h hash.Hash, name string, t tree.Tree) {
	sum := "none"
	if t != nil {
		sum = t.Digest()
	}
	_, _ = fmt.Fprintf(h, "%s %s\n", name, sum)
}
