package flow

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/assaybot/assay/internal/tree"
)

// ablation is the reference solution without one hunk.
type ablation struct {
	label string
	tree  tree.Tree
}

// ablations takes each hunk of a patch out of after, alone. A file that is
// new, gone, binary or changed in mode only counts as one hunk.
func ablations(base, after tree.Tree, diff []byte) ([]ablation, error) {
	files, _, err := gitdiff.Parse(bytes.NewReader(diff))
	if err != nil {
		return nil, fmt.Errorf("reading the reference's patch: %w", err)
	}
	var out []ablation
	for _, f := range files {
		name := f.NewName
		if name == "" {
			name = f.OldName
		}
		if f.IsNew || f.IsDelete || f.IsBinary || len(f.TextFragments) == 0 {
			out = append(out, ablation{name, restored(base, after, f)})
			continue
		}
		for _, frag := range f.TextFragments {
			whole, ok := without(after[name].Data, frag)
			if !ok {
				return nil, fmt.Errorf("taking a hunk out of %s: it isn't where the patch says", name)
			}
			t := after.Clone()
			t[name] = tree.Entry{Mode: after[name].Mode, Data: whole}
			out = append(out, ablation{fmt.Sprintf("%s:%d", name, frag.NewPosition), t})
		}
	}
	return out, nil
}

// restored is after with one file as it was.
func restored(base, after tree.Tree, f *gitdiff.File) tree.Tree {
	t := after.Clone()
	for _, name := range []string{f.OldName, f.NewName} {
		if name == "" {
			continue
		}
		if e, ok := base[name]; ok {
			t[name] = e
		} else {
			delete(t, name)
		}
	}
	return t
}

// without puts the old lines of a fragment in the place of the new ones.
func without(data []byte, frag *gitdiff.TextFragment) ([]byte, bool) {
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	first := int(frag.NewPosition) - 1
	if frag.NewLines == 0 {
		first++ // an empty range names the line before it
	}
	end := first + int(frag.NewLines)
	if first < 0 || end > len(lines) {
		return nil, false
	}
	var old, fresh strings.Builder
	for _, l := range frag.Lines {
		if l.Old() {
			old.WriteString(l.Line)
		}
		if l.New() {
			fresh.WriteString(l.Line)
		}
	}
	if strings.Join(lines[first:end], "") != fresh.String() {
		return nil, false
	}
	return []byte(strings.Join(lines[:first], "") + old.String() + strings.Join(lines[end:], "")), true
}

// spread picks at most n of the ablations, evenly over all.
func spread(all []ablation, n int) []ablation {
	if len(all) <= n {
		return all
	}
	out := make([]ablation, 0, n)
	for i := range n {
		out = append(out, all[i*len(all)/n])
	}
	return out
}
