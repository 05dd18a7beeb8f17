package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/config"
	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/scaffold"
)

// InitRequest asks for the files that put assay to work in a repository. Dir
// is anywhere in its checkout. Pin is the commit of assay that its workflows
// call.
type InitRequest struct {
	Dir   string
	Pin   scaffold.Pin
	Since string // the cutoff, "" for a suggestion
}

// Init is what would be written, and how it stands to what is there.
type Init struct {
	Root    string
	Found   scaffold.Found
	Changes []scaffold.Change
	// Problems are faults of the configuration that is there.
	Problems assay.Problems
}

// Limits of what is looked at in a repository.
const (
	maxManifest = 1 << 20
	maxPaths    = 20_000
)

// Init looks at a repository and works out its files. It writes nothing.
func (f *Flow) Init(ctx context.Context, r InitRequest) (Init, error) {
	root, err := checkout(r.Dir)
	if err != nil {
		return Init{}, err
	}
	out := Init{Root: root}
	facts, err := f.facts(ctx, root, r.Since)
	if err != nil {
		return out, err
	}
	out.Found = scaffold.Detect(facts)
	have, err := standing(root)
	if err != nil {
		return out, err
	}
	if data, ok := have[scaffold.ConfigPath]; ok {
		_, out.Problems = config.LoadMining(scaffold.ConfigPath, data)
	}
	files, err := scaffold.Make(facts.Name, out.Found, r.Pin, have)
	if err != nil {
		return out, err
	}
	out.Changes = scaffold.Compare(files, have)
	return out, nil
}

// checkout is the top of the repository that dir is in.
func checkout(dir string) (string, error) {
	at, err := filepath.Abs(cmp.Or(dir, "."))
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", assay.Userf("%s is in no git repository; 'git init' makes one", cmp.Or(dir, "the current folder"))
		}
		at = up
	}
}

// defaultBranch is what an opened repository may know besides its port.
type defaultBranch interface {
	DefaultBranch(ctx context.Context) (string, error)
}

func (f *Flow) facts(ctx context.Context, root, since string) (scaffold.Facts, error) {
	facts := scaffold.Facts{Name: filepath.Base(root)}
	if f.Repos == nil {
		return facts, errNoRepos
	}
	repo, err := f.Repos(ctx, root)
	if err != nil {
		return facts, err
	}
	facts.Name = cmp.Or(strings.TrimSuffix(path.Base(repo.URL(ctx)), ".git"), facts.Name)
	if facts.Name == "." || facts.Name == "/" {
		facts.Name = filepath.Base(root)
	}
	if d, ok := repo.(defaultBranch); ok {
		ref, err := d.DefaultBranch(ctx)
		if err != nil {
			return facts, err
		}
		facts.Branch = shortBranch(ref)
	}
	if facts.Manifests, facts.Paths, err = look(root); err != nil {
		return facts, err
	}
	facts.Counts, err = counts(ctx, repo, since, f.Now())
	return facts, err
}

// shortBranch is the name of a branch without where it lies; HEAD is none.
func shortBranch(ref string) string {
	for _, prefix := range []string{"refs/remotes/origin/", "refs/heads/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return name
		}
	}
	return ""
}

// look reads a checkout's manifests and the names of its files, as far as they
// are needed to tell its language.
func look(root string) (map[string][]byte, []string, error) {
	manifests := map[string][]byte{}
	for _, name := range scaffold.ManifestNames() {
		data, err := ordinary(filepath.Join(root, name))
		if err != nil {
			return nil, nil, err
		}
		if data != nil {
			manifests[name] = data
		}
	}
	var paths []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir // an unreadable folder says nothing
		}
		name := d.Name()
		if d.IsDir() && p != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || name == "target") {
			return fs.SkipDir
		}
		if len(paths) >= maxPaths {
			return fs.SkipAll
		}
		if rel, err := filepath.Rel(root, p); err == nil && d.Type().IsRegular() {
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	return manifests, paths, err
}

// ordinary is the content of an ordinary file of bounded size, nil for what
// isn't there or is no such file.
func ordinary(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && (!info.Mode().IsRegular() || info.Size() > maxManifest)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(name)
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// counts tells how many changes were merged since some days, the latest first;
// a day that somebody named stands alone.
func counts(ctx context.Context, repo Repository, since string, now time.Time) ([]scaffold.Count, error) {
	day := now.UTC().Truncate(24 * time.Hour)
	out := []scaffold.Count{{Since: day.AddDate(0, -3, 0)}, {Since: day.AddDate(0, -6, 0)}, {Since: day.AddDate(-1, 0, 0)}, {Since: day.AddDate(-2, 0, 0)}}
	if since != "" {
		t, err := ParseDate(since, now)
		if err != nil {
			return nil, err
		}
		out = []scaffold.Count{{Since: t}}
	}
	if _, err := repo.Resolve(ctx, "HEAD"); err != nil {
		return out, nil // no commit yet
	}
	oldest := out[len(out)-1].Since
	err := repo.Changes(ctx, mine.Query{Since: oldest}, func(c mine.Change) error {
		for i := range out {
			if !c.Committed.Before(out[i].Since) {
				out[i].Changes++
			}
		}
		return nil
	})
	return out, err
}

// standing are the files of assay that a repository has already. A link in
// their place is refused: what it points to isn't ours to read or replace.
func standing(root string) (map[string][]byte, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	have := map[string][]byte{}
	for _, name := range scaffold.Paths() {
		info, err := dir.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("looking at %s: %w", name, err)
		case !info.Mode().IsRegular() || info.Size() > maxManifest:
			return nil, assay.Userf("%s is no ordinary file; move it away first", name)
		}
		data, err := dir.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		have[name] = data
	}
	return have, nil
}

// Drifted are the changes that a check complains of: what is missing, and
// workflows that differ. A configuration may differ, but not be wrong.
func (in Init) Drifted() []scaffold.Change {
	var out []scaffold.Change
	for _, c := range in.Changes {
		if c.State == scaffold.Missing || c.State == scaffold.Differs {
			out = append(out, c)
		}
	}
	return out
}

// Write writes what is missing, and with force what differs. It never leaves
// the repository, through links neither. It returns the paths written.
func (in Init) Write(force bool) ([]string, error) {
	root, err := os.OpenRoot(in.Root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var out []string
	for _, c := range in.Changes {
		if c.State == scaffold.Same || (c.State != scaffold.Missing && !force) {
			continue
		}
		if err := root.MkdirAll(path.Dir(c.File.Path), 0o755); err != nil {
			return out, fmt.Errorf("writing %s: %w", c.File.Path, err)
		}
		if err := root.WriteFile(c.File.Path, c.File.Data, 0o644); err != nil {
			return out, fmt.Errorf("writing %s: %w", c.File.Path, err)
		}
		out = append(out, c.File.Path)
	}
	return out, nil
}

// WriteChanges prints what was found and each difference, for a person.
func WriteChanges(w io.Writer, in Init) error {
	var b strings.Builder
	found := in.Found
	line := func(what, value, from string) {
		if value == "" {
			value, from = "unknown", "name it yourself in "+scaffold.ConfigPath
		}
		fmt.Fprintf(&b, "%-9s %s (%s)\n", what, value, from)
	}
	line("language", found.Language, found.LanguageFrom)
	line("tests", found.Test, found.TestFrom)
	line("branch", found.Branch, "the repository's default")
	line("cutoff", found.Cutoff.Since.Format(time.DateOnly), fmt.Sprintf("%d changes were merged since", found.Cutoff.Changes))
	b.WriteByte('\n')
	for _, c := range in.Changes {
		fmt.Fprintf(&b, "%-8s %s\n", c.State, c.File.Path)
	}
	for _, c := range in.Changes {
		if len(c.Diff) > 0 {
			fmt.Fprintf(&b, "\n%s", c.Diff)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
