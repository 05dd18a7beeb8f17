package suite

import (
	"fmt"
	"io/fs"
	"net"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/schema"
	"github.com/assaybot/assay/internal/tree"
)

// checker finds the faults of one task that was decoded.
type checker struct {
	task    *assay.Task
	dir     string // within fsys
	file    string // of task.json, as messages call it
	suite   string
	fsys    fs.FS
	lines   schema.Lines
	formats []string
	bounds  tree.Bounds
	ps      assay.Problems

	// The task's folders; nil when there is none.
	work, verify, solution tree.Tree
}

// faultf adds a fault about the value at a path of task.json ("checks.1").
func (c *checker) faultf(at, format string, args ...any) {
	c.ps.Addf(c.file, c.lines.At(at), format, args...)
}

// label is a path of task.json as messages write it: checks[1].paths.
func label(at string) string {
	parts := strings.Split(at, ".")
	if len(parts) < 3 {
		return at
	}
	return parts[0] + "[" + parts[1] + "]." + strings.Join(parts[2:], ".")
}

// fresh are the faults found that don't stand on a line which has one of
// known: the decoder's word on a line is the cause, what follows is noise.
func (c *checker) fresh(known assay.Problems) assay.Problems {
	taken := map[int]bool{}
	for _, p := range known {
		taken[p.Line] = true
	}
	var out assay.Problems
	for _, p := range c.ps {
		if p.File != c.file || p.Line <= 1 || !taken[p.Line] {
			out = append(out, p)
		}
	}
	return out
}

// place is a file or folder of the task as messages call it.
func (c *checker) place(p string) string { return path.Join(path.Dir(c.file), p) }

func (c *checker) trees() {
	c.work = c.tree(workDir)
	c.verify = c.tree(verifyDir)
	c.solution = c.tree(solutionDir)
	t := c.task
	switch {
	case t.Repository != "" && t.Base == nil:
		c.faultf("repository", "repository needs a base, the commit that the agent starts from")
	case t.Repository == "" && t.Base != nil && c.work == nil:
		c.faultf("base", "base needs the repository that holds it")
	case t.Repository == "" && c.work == nil && !c.there(workDir):
		c.ps.Addf(c.place(workDir), 0, "the folder is missing, and task.json names no repository and base instead")
	}
	c.platform()
	if t.Base != nil && t.Base.Commit == "" {
		c.faultf("base.commit", "base.commit is empty")
	}
	if t.Base != nil && t.Base.Rule != "parent" && t.Base.Rule != "cutoff" {
		c.faultf("base.rule", "base.rule %q is unknown; known are parent and cutoff", t.Base.Rule)
	}
}

// platform finds what no engine would understand; boxes are Linux.
func (c *checker) platform() {
	if p := c.task.Environment.Platform; p != "" && !platformName.MatchString(p) {
		c.faultf("environment.platform", "environment.platform %q is none; it is written like linux/amd64", p)
	}
}

var platformName = regexp.MustCompile(`^linux/[a-z0-9]+(/v[0-9]+)?$`)

func (c *checker) there(p string) bool {
	_, ok := kindOf(c.fsys, path.Join(c.dir, p))
	return ok
}

// tree reads a folder of the task, nil if it isn't there or is no folder.
func (c *checker) tree(name string) tree.Tree {
	p := path.Join(c.dir, name)
	mode, ok := kindOf(c.fsys, p)
	switch {
	case !ok:
		return nil
	case mode&fs.ModeSymlink != 0:
		c.ps.Addf(c.place(name), 0, "it is a link; it must be a folder")
		return nil
	case !mode.IsDir():
		c.ps.Addf(c.place(name), 0, "it is a file; it must be a folder")
		return nil
	}
	sub, err := fs.Sub(c.fsys, p)
	if err != nil {
		c.ps.Addf(c.place(name), 0, "the folder can't be opened: %s", err)
		return nil
	}
	t, err := tree.FromFS(sub, c.bounds)
	if err != nil {
		c.ps.Addf(c.place(name), 0, "the folder can't be read: %s", err)
		return nil
	}
	c.ps = append(c.ps, treeFaults(c.place(name), t)...)
	return t
}

// treeFaults finds links that leave a tree, and repositories in it.
func treeFaults(name string, t tree.Tree) assay.Problems {
	var ps assay.Problems
	repos := map[string]bool{}
	for _, p := range t.Paths() {
		if t[p].Mode == tree.Link {
			if why := badLink(p, string(t[p].Data)); why != "" {
				ps.Addf(path.Join(name, p), 0, "the link to %q %s", t[p].Data, why)
			}
		}
		if repo, ok := repositoryOf(p); ok && !repos[repo] {
			repos[repo] = true
			ps.Addf(path.Join(name, repo), 0, "a repository can't stand here; assay makes the agent's repository itself")
		}
	}
	return ps
}

func repositoryOf(p string) (string, bool) {
	parts := strings.Split(p, "/")
	for i, s := range parts {
		if strings.EqualFold(s, ".git") {
			return strings.Join(parts[:i+1], "/"), true
		}
	}
	return "", false
}

// badLink says why the link at p must not point to target, "" if it may. A
// target that goes down and up again could come out elsewhere than it seems,
// since what it goes down through may be a link.
func badLink(p, target string) string {
	if target == "" || path.IsAbs(target) {
		return "is absolute; it must be relative and stay inside"
	}
	down := false
	for _, s := range strings.Split(target, "/") {
		if s == ".." && down {
			return `goes up again after going down; write it without the detour`
		}
		down = down || (s != ".." && s != "." && s != "")
	}
	if inside := path.Join(path.Dir(p), target); inside == ".." || strings.HasPrefix(inside, "../") {
		return "leaves the folder"
	}
	return ""
}

// prompt is the statement; its faults are added.
func (c *checker) prompt() string {
	t := c.task
	switch {
	case t.Prompt != "" && t.PromptFile != "":
		c.faultf("prompt_file", "both prompt and prompt_file are set; one must go")
		return t.Prompt
	case t.Prompt == "" && t.PromptFile == "":
		c.faultf("prompt", "neither prompt nor prompt_file is set; the agent needs a statement")
		return ""
	case t.PromptFile == "":
		c.blank("prompt", t.Prompt)
		return t.Prompt
	}
	p, ok := c.ownFile("prompt_file", t.PromptFile)
	if !ok {
		return ""
	}
	data, err := fs.ReadFile(c.fsys, p)
	if err != nil {
		c.faultf("prompt_file", "prompt_file %q can't be read: %s", t.PromptFile, err)
		return ""
	}
	c.blank("prompt_file", string(data))
	return string(data)
}

func (c *checker) blank(at, text string) {
	if strings.TrimSpace(text) == "" {
		c.faultf(at, "the prompt is empty")
	}
}

// ownFile checks that the field at names an ordinary file in the task's
// folder, and returns its path within fsys.
func (c *checker) ownFile(at, name string) (string, bool) {
	p, err := tree.Clean(name)
	if err != nil {
		c.faultf(at, "%s: %s", at, err)
		return "", false
	}
	p = path.Join(c.dir, p)
	switch {
	case !plainPath(c.fsys, c.dir, p):
		c.faultf(at, "%s %q is a link or lies behind one; it must be an ordinary file", at, name)
	case isFile(c.fsys, p):
		return p, true
	default:
		c.faultf(at, "%s %q is no file beside %s%s", at, name, path.Base(c.file), schema.Hint(name, c.filesBeside(p)))
	}
	return "", false
}

func (c *checker) filesBeside(p string) []string {
	list, _ := fs.ReadDir(c.fsys, path.Dir(p))
	out := make([]string, len(list))
	for i, d := range list {
		full := path.Join(path.Dir(p), d.Name())
		out[i] = strings.TrimPrefix(full, c.dir+"/")
	}
	return out
}

func (c *checker) identity() {
	t := c.task
	if why := badID(t.ID); why != "" && t.ID != "" {
		c.faultf("id", "id %q %s", t.ID, why)
	}
	if t.ID != c.dir {
		c.faultf("id", "id is %q, but the folder is %q; they must be the same", t.ID, c.dir)
	}
}

func (c *checker) environment() {
	env := c.task.Environment
	var named []string
	for _, f := range []struct{ name, value string }{{"image", env.Image}, {"dockerfile", env.Dockerfile}, {"shared", env.Shared}} {
		if f.value != "" {
			named = append(named, f.name)
		}
	}
	if len(named) > 1 {
		c.faultf("environment", "environment sets %s; at most one of them may be set", strings.Join(named, " and "))
	}
	if env.Dockerfile != "" {
		c.dockerfile(env.Dockerfile)
	}
	if env.Shared != "" {
		c.shared(env.Shared)
	}
	if env.Network != nil {
		for i, dest := range env.Network.Allow {
			if !destinationOK(dest) {
				c.faultf(fmt.Sprintf("environment.network.allow[%d]", i), "environment.network: %q is no destination; write host:port, without scheme, path or wildcard (api.example.com:443)", dest)
			}
		}
	}
	for _, name := range sortedKeys(env.Env) {
		if !envNameOK(name) {
			c.faultf("environment.env."+name, "environment.env: %q is no name of an environment variable", name)
		}
	}
}

// destinationOK tells whether s is "host:port".
func destinationOK(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n > 0 && host != "" && len(host) <= 253 && !strings.ContainsAny(host, "/*@ \t\r\n?#%")
}

func envNameOK(s string) bool {
	ok, _ := regexp.MatchString(`^[A-Za-z_][A-Za-z0-9_]*$`, s)
	return ok
}

func (c *checker) dockerfile(name string) {
	const at = "environment.dockerfile"
	if _, ok := c.ownFile(at, name); !ok {
		return
	}
	first, _, deep := strings.Cut(path.Clean(name), "/")
	if !deep || first == verifyDir || first == solutionDir {
		c.faultf(at, "%s %q: its folder is the build context and would put hidden files into the image; use %s/Dockerfile",
			at, name, envDir)
	}
}

func (c *checker) shared(name string) {
	const at = "environment.shared"
	if badID(name) != "" || !isFile(c.fsys, path.Join(envDir, name, "Dockerfile")) {
		c.faultf(at, "%s %q: there is no %s%s", at, name,
			path.Join(c.suite, envDir, name, "Dockerfile"), schema.Hint(name, c.sharedNames()))
	}
}

func (c *checker) sharedNames() []string {
	list, _ := fs.ReadDir(c.fsys, envDir)
	var out []string
	for _, d := range list {
		if d.IsDir() {
			out = append(out, d.Name())
		}
	}
	return out
}

func (c *checker) limits() {
	for _, name := range schema.Negative(c.task.Limits) {
		c.faultf("limits."+name, "limits.%s is negative", name)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (c *checker) patterns() {
	c.globs("protected", c.task.Protected)
	if c.globs("visible_tests", c.task.Visible) {
		c.mustMatch("visible_tests", c.task.Visible)
	}
}

// globs checks patterns and tells whether all are good.
func (c *checker) globs(at string, globs []string) bool {
	ok := true
	for i, g := range globs {
		if why := badGlob(g); why != "" {
			c.faultf(at+"."+strconv.Itoa(i), "%s: %s", label(at), why)
			ok = false
		}
	}
	return ok
}

func badGlob(g string) string {
	if _, err := tree.Clean(g); err != nil {
		return err.Error()
	}
	return tree.BadGlob(g)
}

// mustMatch reports globs that match no file of the workspace, where the
// workspace is known.
func (c *checker) mustMatch(at string, globs []string) {
	if c.work == nil {
		return
	}
	for i, g := range globs {
		if !matchesAny(c.work, g) {
			c.faultf(at+"."+strconv.Itoa(i), "%s: %q matches no file of the workspace%s", label(at), g, schema.Hint(g, c.work.Paths()))
		}
	}
}

func matchesAny(t tree.Tree, glob string) bool {
	for p := range t {
		if tree.Match([]string{glob}, p) {
			return true
		}
	}
	return false
}

// tests checks the lists of test ids.
func (c *checker) tests() {
	c.unique("FAIL_TO_PASS", c.task.FailToPass)
	c.unique("PASS_TO_PASS", c.task.PassToPass)
	c.disjoint("PASS_TO_PASS", c.task.PassToPass, "FAIL_TO_PASS", c.task.FailToPass)
}

func (c *checker) unique(at string, ids []string) {
	seen := map[string]bool{}
	for i, id := range ids {
		switch {
		case strings.TrimSpace(id) == "":
			c.faultf(at+"."+strconv.Itoa(i), "%s: a test has no name", label(at))
		case seen[id]:
			c.faultf(at+"."+strconv.Itoa(i), "%s: %q stands twice", label(at), id)
		}
		seen[id] = true
	}
}

func (c *checker) disjoint(at string, ids []string, other string, others []string) {
	in := map[string]bool{}
	for _, id := range others {
		in[id] = true
	}
	for i, id := range ids {
		if in[id] {
			c.faultf(at+"."+strconv.Itoa(i), "%s: %q is in %s too", label(at), id, other)
		}
	}
}
