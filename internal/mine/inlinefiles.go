package mine

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/assaybot/assay/internal/assay"
)

// inlineCount counts Rust source files whose source, and whose tests, a change
// touches. stuck names the first whose tests can't be told from its source.
type inlineCount struct {
	source, tests int
	stuck         string
}

// inline looks into the Rust source files of a change, and into nothing else:
// those with tests of their own that changed become ClassInline in k.
func (m *miner) inline(ctx context.Context, c Change, k *assay.Candidate) (inlineCount, error) {
	var n inlineCount
	index := map[string]int{}
	for i, f := range k.Files {
		if f.Class == assay.ClassSource && path.Ext(f.Path) == ".rs" && !f.Binary && (f.Status == "added" || f.Status == "modified") {
			index[f.Path] = i
		}
	}
	if len(index) == 0 {
		return n, nil
	}
	rust := make([]string, 0, len(index))
	for _, f := range k.Files {
		if _, ok := index[f.Path]; ok {
			rust = append(rust, f.Path)
		}
	}
	after, err := m.history.Read(ctx, c.Commit, rust)
	if err != nil {
		return n, fmt.Errorf("looking for inline tests: %w", err)
	}
	before, err := m.history.Read(ctx, c.Parents[0], rust)
	if err != nil {
		return n, fmt.Errorf("looking for inline tests: %w", err)
	}
	if !anyTests(before) && !anyTests(after) {
		return n, nil
	}
	files, err := m.parsed(ctx, c, rust)
	if err != nil {
		return n, err
	}
	for _, f := range files {
		i, ok := index[f.NewName]
		if !ok {
			continue
		}
		part, separable := SplitRust(f, before[f.NewName], after[f.NewName])
		if !part.Test {
			continue
		}
		k.Files[i].Class = assay.ClassInline
		if part.HasSource {
			n.source++
		}
		// Nobody can guess where a new file goes, so its tests ask for none.
		if k.Files[i].Status == "added" {
			continue
		}
		n.tests++
		_, _, why := PartRust(before[f.NewName], after[f.NewName])
		if n.stuck == "" && (!separable || why != "") {
			n.stuck = strings.TrimSuffix(f.NewName+": "+why, ": ")
		}
	}
	return n, nil
}

func anyTests(files map[string][]byte) bool {
	for _, data := range files {
		if len(RustTests(data)) > 0 {
			return true
		}
	}
	return false
}

// parsed is the patch of a change for some paths.
func (m *miner) parsed(ctx context.Context, c Change, paths []string) ([]*gitdiff.File, error) {
	patch, err := m.history.Patch(ctx, c, paths)
	if err != nil {
		return nil, fmt.Errorf("reading the patch of %s: %w", c.Commit, err)
	}
	files, _, err := gitdiff.Parse(bytes.NewReader(patch))
	if err != nil {
		return nil, fmt.Errorf("parsing the patch of %s: %w", c.Commit, err)
	}
	return files, nil
}
