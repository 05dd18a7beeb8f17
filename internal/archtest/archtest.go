// Package archtest holds the house rules as tests: which room may import
// which, and the few rules on code that are cheap to check. It parses the
// repository's files by itself and never runs the go command, so that it
// tells the truth about files that don't compile, too.
//
// A new room is a new row in the table.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is the path of the repository's module.
const module = "github.com/assaybot/assay"

// File is one Go file of the repository, parsed with comments. Path is
// relative to the repository, with slashes.
type File struct {
	Path string
	AST  *ast.File
	Set  *token.FileSet
}

// Room is the folder that a file belongs to: the first below internal/
// ("run"), a command ("cmd/assay"), or a top folder whose files are built into
// the program ("tasks"); "" for any other place.
func (f File) Room() string { return roomOf(f.Path) }

func roomOf(p string) string {
	parts := strings.Split(p, "/")
	switch {
	case len(parts) >= 3 && parts[0] == "internal":
		return parts[1]
	case len(parts) >= 3 && parts[0] == "cmd":
		return "cmd/" + parts[1]
	case len(parts) == 2 && parts[0] != "internal" && parts[0] != "cmd":
		return parts[0]
	}
	return ""
}

// Test tells whether f is part of a test binary only.
func (f File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// pos is where a node is, for people.
func (f File) pos(n ast.Node) string {
	return f.Path + ":" + strconv.Itoa(f.Set.Position(n.Pos()).Line)
}

// lines is how many lines a node takes.
func (f File) lines(n ast.Node) int {
	return f.Set.Position(n.End()).Line - f.Set.Position(n.Pos()).Line + 1
}

// Parse parses one file.
func Parse(name string, src []byte) (File, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return File{}, fmt.Errorf("parsing %s: %w", name, err)
	}
	return File{Path: name, AST: tree, Set: set}, nil
}

// Load parses every Go file of a repository, except those in testdata and
// hidden folders and in folders of tasks and the like, which hold other
// people's code.
func Load(repo fs.FS) ([]File, error) {
	var out []File
	err := fs.WalkDir(repo, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && foreign(d.Name(), p) {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(p) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(repo, p)
		if err != nil {
			return err
		}
		f, err := Parse(p, src)
		out = append(out, f)
		return err
	})
	return out, err
}

func foreign(name, p string) bool {
	top, _, deep := strings.Cut(p, "/")
	return name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
		(deep && top != "internal" && top != "cmd")
}

// imports lists the paths that f imports.
func (f File) imports() []*ast.ImportSpec { return f.AST.Imports }

func importPath(s *ast.ImportSpec) string {
	p, err := strconv.Unquote(s.Path.Value)
	if err != nil {
		return s.Path.Value
	}
	return p
}

// Imports checks the imports of files outside of tests against the table,
// and says what is wrong with each: the edge and the reason.
func Imports(table Table, files []File) []string {
	var out []string
	missing := map[string]bool{}
	for _, f := range files {
		room := f.Room()
		if room == "" || f.Test() {
			continue
		}
		row, ok := table[room]
		if !ok {
			if !missing[room] {
				out = append(out, fmt.Sprintf("%s: room %s has no row in the table of archtest: a new room is a new row", f.Path, room))
			}
			missing[room] = true
			continue
		}
		for _, s := range f.imports() {
			if why := table.forbids(room, row, importPath(s)); why != "" {
				out = append(out, fmt.Sprintf("%s: %s -> %s: %s", f.pos(s), room, importPath(s), why))
			}
		}
	}
	return out
}

// forbids says why a room may not import a package, "" if it may.
func (t Table) forbids(room string, row Row, imported string) string {
	inside, ok := strings.CutPrefix(imported, module+"/")
	if !ok {
		if row.Tier == Nouns && strings.Contains(strings.Split(imported, "/")[0], ".") {
			return "nouns import the standard library only"
		}
		return ""
	}
	to := roomOf(inside + "/x.go")
	if to == room || slices.Contains(row.Also, to) {
		return ""
	}
	target, ok := t[to]
	if !ok {
		return fmt.Sprintf("room %q has no row in the table of archtest", to)
	}
	allowed := tiers()[row.Tier]
	if slices.Contains(allowed, target.Tier) {
		return ""
	}
	return fmt.Sprintf("%s (a room of %s) may import %s, and %s is of %s",
		room, row.Tier, list(allowed, row.Also), to, target.Tier)
}

func list(allowed []Tier, also []string) string {
	words := make([]string, 0, len(allowed)+len(also))
	for _, a := range allowed {
		words = append(words, string(a))
	}
	words = append(words, also...)
	if len(words) == 0 {
		return "no other room"
	}
	return strings.Join(words, ", ")
}
