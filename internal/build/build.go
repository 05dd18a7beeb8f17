// Package build proposes an environment for a repository at a commit from
// what the repository itself says: its manifests, lock files and CI. It is
// pure: it returns a Dockerfile, a build context and commands, and runs
// nothing.
package build

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// Input is a repository at a base commit, and the test files that are to run.
type Input struct {
	Files tree.Tree
	// Tests are the change's own test files, as they are after it.
	Tests []string
	// Changed are all paths of the change (Rust and Go find their packages
	// by them).
	Changed []string
	// Date bounds the resolution of dependencies, zero for none.
	Date time.Time
	// Language as mining found it; "" to look for manifests.
	Language string
	// All asks for the whole test suite besides Tests; Suite are its files.
	All   bool
	Suite []string
}

// Recipe is a proposed environment.
type Recipe struct {
	// Key names the image: one per dependencies and toolchain, shared by
	// all tasks whose recipe has the same key.
	Key        string
	Language   string
	Dockerfile string
	// Context is the build context besides the Dockerfile.
	Context tree.Tree
	// Setup are shell lines for the workspace, see assay.Environment.
	Setup []string
	Env   map[string]string
	// Requires are the programs that the tests' command needs where no image
	// brings them (the local sandbox).
	Requires []string
	// Test is the command of a tests check, Report its format.
	Test   []string
	Report assay.Report
	// Units are the files or packages that Test names.
	Units []string
	// Shards part the whole suite: Test holds {tests}, and runs once for
	// each of them with its words. The first are the change's own units.
	Shards [][]string
	// Why says from which file each choice came, for a person to check.
	Why []string
}

// NoRecipe is the typed reason why no environment is proposed.
type NoRecipe struct{ Why string }

func (e *NoRecipe) Error() string { return e.Why }

// Languages that Propose knows, in the order in which manifests are looked
// for.
func proposers() []proposer {
	return []proposer{
		{"go", "go.mod", proposeGo},
		{"rust", "Cargo.toml", proposeRust},
		{"python", "pyproject.toml", proposePython},
		{"python", "setup.py", proposePython},
		{"python", "setup.cfg", proposePython},
		{"python", "requirements.txt", proposePython},
		{"javascript", "package.json", proposeNode},
		{"java", "pom.xml", proposeMaven},
	}
}

type proposer struct {
	language, manifest string
	propose            func(Input) (Recipe, error)
}

// Propose makes a recipe. The language's own manifest at the root wins; a
// repository with several is asked in the language of the change.
func Propose(in Input) (Recipe, error) {
	found := make([]string, 0, len(proposers()))
	for _, p := range proposers() {
		if _, ok := in.Files[p.manifest]; !ok {
			continue
		}
		found = append(found, p.manifest)
		if in.Language != "" && !speaks(p.language, in.Language) {
			continue
		}
		r, err := scoped(in, p.propose)
		if err != nil {
			return Recipe{}, err
		}
		r.Language = p.language
		return r.named(), nil
	}
	if len(found) > 0 {
		return Recipe{}, &NoRecipe{fmt.Sprintf("the change is in %s, but the root has only %s", in.Language, strings.Join(found, ", "))}
	}
	if in.Language == "python" {
		r, err := scoped(in, proposePython)
		r.Language = "python"
		return r.named(), err
	}
	return Recipe{}, &NoRecipe{"no manifest that is known (go.mod, Cargo.toml, pyproject.toml, setup.py, package.json, pom.xml) is at the root; write a Dockerfile and pass it with --dockerfile"}
}

// scoped proposes for the change's own tests, or for the whole suite: in
// shards, where its files are known.
func scoped(in Input, propose func(Input) (Recipe, error)) (Recipe, error) {
	if !in.All || len(in.Suite) == 0 {
		return propose(in)
	}
	own := in
	own.All = false
	r, err := propose(own)
	if err != nil {
		return propose(in)
	}
	return whole(own, r, propose)
}

func speaks(proposer, language string) bool {
	if proposer == "javascript" {
		return language == "javascript" || language == "typescript"
	}
	return proposer == language
}

// named fills Key: a digest over Dockerfile and context.
func (r Recipe) named() Recipe {
	h := sha256.New()
	h.Write([]byte(r.Dockerfile))
	h.Write([]byte(r.Context.Digest()))
	r.Key = r.Language + "-" + hex.EncodeToString(h.Sum(nil))[:12]
	return r
}

// IsNoRecipe tells whether err is the typed reason, and gives it.
func IsNoRecipe(err error) (*NoRecipe, bool) {
	var n *NoRecipe
	ok := errors.As(err, &n)
	return n, ok
}

// text is a file's content, "" when it is missing.
func (in Input) text(p string) string { return string(in.Files[p].Data) }

func (in Input) has(p string) bool { _, ok := in.Files[p]; return ok }

// under lists the files that match a glob, in order.
func (in Input) under(globs ...string) []string {
	var out []string
	for _, p := range in.Files.Paths() {
		if tree.Match(globs, p) {
			out = append(out, p)
		}
	}
	return out
}

// context is the part of the repository with the given paths.
func (in Input) context(paths ...string) tree.Tree {
	t := tree.Tree{}
	for _, p := range paths {
		if e, ok := in.Files[p]; ok && e.Mode != tree.Link {
			t[p] = e
		}
	}
	return t
}

// folders are the distinct folders of paths with the given extension.
func folders(paths []string, ext string) []string {
	seen := map[string]bool{}
	for _, p := range paths {
		if strings.HasSuffix(p, ext) {
			seen[path.Dir(p)] = true
		}
	}
	out := make([]string, 0, len(seen))
	for d := range seen {
		out = append(out, d)
	}
	sort.Strings(out)
	return out
}

// dockerfile joins lines and ends with a line break.
func dockerfile(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// quarter is the end of the quarter of a date: dependencies are resolved as of
// then, so that the tasks of some months share an image.
func quarter(d time.Time) time.Time {
	d = d.UTC()
	first := (int(d.Month())-1)/3*3 + 1
	return time.Date(d.Year(), time.Month(first+3), 0, 0, 0, 0, 0, time.UTC)
}

// shell quotes a word for /bin/sh.
func shell(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n'\"\\$`!*?[](){}<>|&;#~") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func shellWords(ws []string) string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = shell(w)
	}
	return strings.Join(out, " ")
}
