package patch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/tree"
)

// The configuration of a scratch repository. The attributes file of a
// repository outranks those of its trees, so that one line makes all of them
// void.
const (
	scratchConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	symlinks = true
	ignorecase = false
	precomposeunicode = false
	protectNTFS = false
	protectHFS = false
	autocrlf = false
	safecrlf = false
	quotepath = true
	fsmonitor = false
	logallrefupdates = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	excludesFile = /dev/null
[fastimport]
	unpackLimit = 0
[pack]
	threads = 1
	writeReverseIndex = false
[gc]
	auto = 0
`
	scratchAttributes = "* -text !eol !ident !filter !working-tree-encoding !diff !whitespace !merge !export-subst\n"
)

// scratch is an empty repository of our own with a folder for files beside
// it.
type scratch struct{ dir string }

func newScratch() (*scratch, error) {
	dir, err := os.MkdirTemp("", "assay-patch-")
	if err != nil {
		return nil, fmt.Errorf("making a scratch repository: %w", err)
	}
	s := &scratch{dir: dir}
	for _, d := range []string{"work", "home", "git/objects", "git/refs/heads", "git/info"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, s.fail(err)
		}
	}
	files := map[string]string{
		"git/HEAD": "ref: refs/heads/none\n", "git/config": scratchConfig,
		"git/info/attributes": scratchAttributes,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, s.fail(err)
		}
	}
	return s, nil
}

func (s *scratch) fail(err error) error {
	s.remove()
	return fmt.Errorf("making a scratch repository: %w", err)
}

func (s *scratch) remove() { _ = os.RemoveAll(s.dir) }

func (s *scratch) gitDir() string { return filepath.Join(s.dir, "git") }
func (s *scratch) work() string   { return filepath.Join(s.dir, "work") }

// git runs the git program on the scratch repository. Exit status 1 of
// check-ignore is an answer, not a failure; the caller says which are.
func (s *scratch) git(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the arguments are this package's own
	cmd.Dir = s.work()
	cmd.Env = s.env()
	cmd.Stdin, cmd.Stdout = in, out
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("running git %s: %w: %s", args[0], err, tail(stderr.String()))
	}
	return nil
}

// env hands git its repository and a home of its own, and nothing of this
// machine but the search path.
func (s *scratch) env() []string {
	return append(searchPath(),
		"GIT_DIR="+s.gitDir(), "GIT_WORK_TREE="+s.work(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
		"HOME="+filepath.Join(s.dir, "home"), "XDG_CONFIG_HOME="+filepath.Join(s.dir, "home"),
		"LC_ALL=C", "TZ=UTC",
	)
}

// searchPath is this process's own PATH, and what else a program needs to
// start; exec gives the whole environment only when Env is nil.
func searchPath() []string {
	var out []string
	for _, kv := range (&exec.Cmd{}).Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch strings.ToUpper(name) {
		case "PATH", "SYSTEMROOT", "TMPDIR", "LD_LIBRARY_PATH":
			out = append(out, kv)
		}
	}
	return out
}

// tail is the end of a program's message.
func tail(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 2000 {
		s = "..." + s[len(s)-2000:]
	}
	return s
}

// importer writes the input of git fast-import: each tree is one commit.
type importer struct{ w io.Writer }

// commit writes t as a root commit on ref.
func (im importer) commit(ref string, t tree.Tree, message string) error {
	_, err := fmt.Fprintf(im.w, "commit %s\nauthor %s\ncommitter %s\ndata %d\n%s\n",
		ref, signature, signature, len(message), message)
	if err != nil {
		return err
	}
	for _, p := range t.Paths() {
		if IsGit(p) {
			continue
		}
		e := t[p]
		if _, err := fmt.Fprintf(im.w, "M %o inline %s\ndata %d\n", e.Mode, quote(p), len(e.Data)); err != nil {
			return err
		}
		if _, err := im.w.Write(e.Data); err != nil {
			return err
		}
		if _, err := io.WriteString(im.w, "\n"); err != nil {
			return err
		}
	}
	_, err = io.WriteString(im.w, "\n")
	return err
}

// signature is author and committer of all that is made here; the date is
// the one of every file that the product writes.
const signature = "assay <assay@localhost> 946684800 +0000"

// importTrees makes one commit for each ref.
func (s *scratch) importTrees(ctx context.Context, refs []string, trees []tree.Tree) error {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		im := importer{w: w}
		var err error
		for i, ref := range refs {
			if err = im.commit(ref, trees[i], "base\n"); err != nil {
				break
			}
		}
		_ = w.CloseWithError(err)
	}()
	err := s.git(ctx, r, io.Discard, "fast-import", "--quiet", "--force", "--date-format=raw")
	_ = r.Close()
	<-done
	return err
}

// quote writes a path in git's own C style.
func quote(p string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(p) {
		switch c := p[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// readDir reads a scratch folder, whatever bytes its names are made of; links
// are read, never followed.
func readDir(dir string) (tree.Tree, error) {
	out := tree.Tree{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		e, err := readEntry(file, d)
		out[filepath.ToSlash(file[len(dir)+1:])] = e
		return err
	})
	return out, err
}

func readEntry(file string, d fs.DirEntry) (tree.Entry, error) {
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(file)
		return tree.Entry{Mode: tree.Link, Data: []byte(target)}, err
	}
	info, err := d.Info()
	if err != nil {
		return tree.Entry{}, err
	}
	mode := tree.File
	if info.Mode()&0o100 != 0 {
		mode = tree.Exec
	}
	data, err := os.ReadFile(file) //nolint:gosec // below our own scratch folder
	return tree.Entry{Mode: mode, Data: data}, err
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for p := range set {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}
