package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// The most lines that a function, a file and main.go may have. Tests are
// free.
const (
	maxFunc = 100
	maxFile = 600
	maxMain = 35
)

// Rules checks the rules on code outside of tests. It tells all faults.
func Rules(table Table, files []File) []string {
	var out []string
	for _, f := range files {
		if f.Test() || f.Room() == "" {
			continue
		}
		out = append(out, sizes(f)...)
		out = append(out, inits(f)...)
		if row := table[f.Room()]; row.Tier != Wiring && row.Tier != Proof && row.Door == "" {
			out = append(out, doorOnly(f)...)
		}
	}
	return append(out, undocumented(files)...)
}

func sizes(f File) []string {
	var out []string
	n := f.Set.File(f.AST.FileStart).LineCount()
	if n > maxFile {
		out = append(out, fmt.Sprintf("%s has %d lines; %d are the most: split it by subject", f.Path, n, maxFile))
	}
	if f.Path == "cmd/assay/main.go" && n > maxMain {
		out = append(out, fmt.Sprintf("%s has %d lines; %d are the most: main only wires", f.Path, n, maxMain))
	}
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && f.lines(fn) > maxFunc {
			out = append(out, fmt.Sprintf("%s: function %s has %d lines; %d are the most", f.pos(fn), fn.Name.Name, f.lines(fn), maxFunc))
		}
	}
	return out
}

func inits(f File) []string {
	var out []string
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			out = append(out, f.pos(fn)+": func init runs unasked: let the caller make what it needs")
		}
	}
	return out
}

// doors are the functions that only cmd and tests may use, and why.
func doors() map[string]string {
	const env = "environment variables enter at the door (cmd): take the value as an option"
	const ctx = "a new root context can't be cancelled by the caller: take ctx, or use context.WithoutCancel for cleanup"
	return map[string]string{
		"os.Getenv": env, "os.LookupEnv": env, "os.Environ": env, "os.ExpandEnv": env,
		"syscall.Getenv": env, "syscall.Environ": env,
		"context.Background": ctx, "context.TODO": ctx,
	}
}

func doorOnly(f File) []string {
	names := map[string]string{} // local name of an import to its path
	for _, s := range f.imports() {
		p := importPath(s)
		name := path.Base(p)
		if s.Name != nil {
			name = s.Name.Name
		}
		names[name] = p
	}
	forbidden := doors()
	var out []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		full := names[x.Name] + "." + sel.Sel.Name
		if why := forbidden[full]; why != "" {
			out = append(out, fmt.Sprintf("%s: %s: %s", f.pos(sel), full, why))
		}
		return true
	})
	return out
}

// undocumented lists the packages without a package comment.
func undocumented(files []File) []string {
	documented := map[string]bool{}
	for _, f := range files {
		if f.Test() || f.Room() == "" {
			continue
		}
		dir := path.Dir(f.Path)
		documented[dir] = documented[dir] || (f.AST.Doc != nil && strings.TrimSpace(f.AST.Doc.Text()) != "")
	}
	var out []string
	for dir, ok := range documented {
		if !ok {
			out = append(out, dir+" has no package comment that says what it does and what it never does")
		}
	}
	slices.Sort(out)
	return out
}
