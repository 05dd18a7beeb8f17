package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/schema"
	"github.com/assaybot/assay/internal/tree"
)

// VariantEntry is one variant. One with Problems can't be used.
type VariantEntry struct {
	Variant assay.Variant
	// Digest is 64 hex digits over what the variant does: System and Overlay,
	// not its name.
	Digest string
	// System is appended to the agent's system prompt, byte for byte as in
	// the file.
	System string
	// Overlay is laid over the workspace; nil for none.
	Overlay  tree.Tree
	Problems assay.Problems
}

// OpenVariants reads every variant of a folder, in the order of their names;
// baseline, which changes nothing, is always first. A folder that doesn't
// exist holds just baseline. The problems are those of all entries together;
// SelectVariants gives those of the chosen ones.
func OpenVariants(fsys fs.FS, name string) ([]VariantEntry, assay.Problems) {
	base := VariantEntry{Variant: assay.Variant{Schema: assay.VariantSchema, Name: assay.Baseline}}
	base.Digest = base.digest()
	out := []VariantEntry{base}
	dirs, err := fs.ReadDir(fsys, ".")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, assay.Problems{{File: name, Text: fmt.Sprintf("the variants folder can't be read: %s", err)}}
	}
	var ps assay.Problems
	for _, d := range dirs {
		if hidden(d.Name()) || !d.IsDir() {
			continue
		}
		v := loadVariant(fsys, name, d.Name())
		ps = append(ps, v.Problems...)
		if v.Variant.Name == assay.Baseline {
			out[0] = v
			continue
		}
		out = append(out, v)
	}
	return out, ps
}

// AllVariants is the name that stands for every variant of a folder.
const AllVariants = "*"

// SelectVariants returns the entries called names, in that order; AllVariants
// alone chooses every one. An unknown name is a problem, and so is every
// problem of a chosen entry.
func SelectVariants(all []VariantEntry, names []string) ([]VariantEntry, assay.Problems) {
	known := make([]string, len(all))
	for i, v := range all {
		known[i] = v.Variant.Name
	}
	if slices.Equal(names, []string{AllVariants}) {
		names = known
	}
	var out []VariantEntry
	var ps assay.Problems
	for i, n := range names {
		at := slices.Index(known, n)
		switch {
		case slices.Contains(names[:i], n):
			ps.Addf("", 0, "the variant %q is named twice", n)
		case at < 0:
			ps.Addf("", 0, "there is no variant %q%s", n, orList(n, known))
		default:
			out = append(out, all[at])
			ps = append(ps, all[at].Problems...)
		}
	}
	return out, ps
}

func (v VariantEntry) digest() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "system %d\n%s\n", len(v.System), v.System)
	addTree(h, "overlay", v.Overlay)
	return hex.EncodeToString(h.Sum(nil))
}

func loadVariant(fsys fs.FS, name, dir string) VariantEntry {
	v := VariantEntry{Variant: assay.Variant{Name: dir}}
	file := path.Join(name, dir, variantFile)
	if !utf8.ValidString(dir) {
		v.Problems.Addf(fmt.Sprintf("%s/%q", name, dir), 0, "the folder's name is not valid UTF-8; rename it")
		return v
	}
	if !isFile(fsys, path.Join(dir, variantFile)) {
		v.Problems.Addf(file, 0, "the file is missing; every folder beside it is a variant")
		return v
	}
	data, err := fs.ReadFile(fsys, path.Join(dir, variantFile))
	if err != nil {
		v.Problems.Addf(file, 0, "the file can't be read: %s", err)
		return v
	}
	v.Problems = schema.DecodeJSON(file, data, &v.Variant)
	if v.Variant.Schema == assay.VariantSchema {
		c := &checker{dir: dir, file: file, suite: name, fsys: fsys, lines: schema.Index(data), bounds: Options{}.filled().Bounds}
		c.variant(&v)
		v.Problems = append(v.Problems, c.fresh(v.Problems)...).Sorted()
	}
	v.Variant.Name = dir
	v.Digest = v.digest()
	return v
}

func (c *checker) variant(v *VariantEntry) {
	if n := v.Variant.Name; n != c.dir {
		c.faultf("name", "name is %q, but the folder is %q; they must be the same", n, c.dir)
	}
	if why := badID(c.dir); why != "" {
		c.faultf("name", "the name %q %s", c.dir, why)
	}
	if c.dir == assay.Baseline && v.Variant.AppendFile+v.Variant.Overlay != "" {
		c.faultf("name", "%s is the variant that changes nothing; give this one another name", assay.Baseline)
	}
	if v.Variant.AppendFile != "" {
		v.System = c.appended(v.Variant.AppendFile)
	}
	if v.Variant.Overlay != "" {
		v.Overlay = c.overlay(v.Variant.Overlay)
	}
}

func (c *checker) appended(name string) string {
	const at = "append_system_prompt_file"
	p, ok := c.ownFile(at, name)
	if !ok {
		return ""
	}
	data, err := fs.ReadFile(c.fsys, p)
	switch {
	case err != nil:
		c.faultf(at, "%s %q can't be read: %s", at, name, err)
	case strings.TrimSpace(string(data)) == "":
		c.faultf(at, "%s %q is empty", at, name)
	case !utf8.Valid(data):
		c.faultf(at, "%s %q is not valid UTF-8", at, name)
	}
	return string(data)
}

func (c *checker) overlay(name string) tree.Tree {
	const at = "overlay"
	p, err := tree.Clean(name)
	if err != nil {
		c.faultf(at, "overlay: %s", err)
		return nil
	}
	full := path.Join(c.dir, p)
	switch {
	case !plainPath(c.fsys, c.dir, full):
		c.faultf(at, "overlay %q is a link or lies behind one; it must be an ordinary folder", name)
		return nil
	case !isDir(c.fsys, full):
		c.faultf(at, "overlay %q is no folder beside variant.json%s", name, schema.Hint(name, c.filesBeside(full)))
		return nil
	}
	t := c.tree(p)
	if t != nil && len(t) == 0 {
		c.faultf(at, "overlay %q holds no file", name)
	}
	return t
}
