package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"strings"

	"github.com/assaybot/assay/internal/tree"
)

// Ignored lists, in order, which of paths are no work of an agent: those that
// base's .gitignore files cover, and the usual droppings of tools
// (__pycache__, node_modules, ...). The caller asks for paths that base
// doesn't have.
func Ignored(ctx context.Context, base tree.Tree, paths []string) ([]string, error) {
	ignored := map[string]bool{}
	var ask []string
	for _, p := range paths {
		switch {
		case IsGit(p):
		case dropping(p):
			ignored[p] = true
		default:
			ask = append(ask, p)
		}
	}
	rules := ignoreFiles(base)
	if len(rules) == 0 || len(ask) == 0 {
		return sorted(ignored), nil
	}
	byRule, err := checkIgnore(ctx, rules, ask)
	if err != nil {
		return nil, fmt.Errorf("asking which files are ignored: %w", err)
	}
	for _, p := range byRule {
		ignored[p] = true
	}
	return sorted(ignored), nil
}

// dropping tells whether p is what tools leave behind wherever they run.
func dropping(p string) bool {
	for part := range strings.SplitSeq(path.Dir(p), "/") {
		switch part {
		case "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis",
			".tox", ".nox", ".venv", "node_modules", ".gradle", ".eggs":
			return true
		}
		if strings.HasSuffix(part, ".egg-info") {
			return true
		}
	}
	switch name := path.Base(p); name {
	case ".coverage", ".DS_Store", "Thumbs.db":
		return true
	default:
		return strings.HasSuffix(name, ".pyc") || strings.HasSuffix(name, ".pyo")
	}
}

func ignoreFiles(base tree.Tree) tree.Tree {
	out := tree.Tree{}
	for p, e := range base {
		if path.Base(p) == ".gitignore" && e.Mode != tree.Link && !IsGit(p) {
			out[p] = e
		}
	}
	return out
}

// checkIgnore has git read the rules. It sees the ignore files only, so that
// the files' own kinds can't change the answer.
func checkIgnore(ctx context.Context, rules tree.Tree, ask []string) ([]string, error) {
	s, err := newScratch()
	if err != nil {
		return nil, err
	}
	defer s.remove()
	if err := rules.WriteDir(s.work()); err != nil {
		return nil, err
	}
	in := strings.NewReader(strings.Join(ask, "\x00") + "\x00")
	var out bytes.Buffer
	err = s.git(ctx, in, &out, "check-ignore", "--no-index", "-z", "--stdin")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // none is ignored
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out.String(), func(r rune) bool { return r == 0 }), nil
}
