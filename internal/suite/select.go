package suite

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/schema"
)

// Select returns the entries whose ID matches one of globs (none: all) and
// whose tier is one of tiers (none: all). A glob or tier that nothing has is
// a problem, since a run of less than was asked for must not look like the
// run that was. Problems of the entries themselves aren't looked at.
func (s *Suite) Select(globs, tiers []string) ([]Entry, assay.Problems) {
	ps := append(s.unmatched(globs), s.untiered(tiers)...)
	var out []Entry
	for _, e := range s.Entries {
		if matchID(globs, e.Dir) && (len(tiers) == 0 || slices.Contains(tiers, e.Task.Tier)) {
			out = append(out, e)
		}
	}
	if len(out) == 0 && len(ps) == 0 {
		ps.Addf("", 0, "no task of %s is in tier %s and matches %s", s.Name, strings.Join(tiers, ", "), strings.Join(globs, ", "))
	}
	return out, ps
}

func matchID(globs []string, id string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g string) bool { return oneID(g, id) })
}

// oneID takes a name that is spelt out as it is, whatever signs it holds.
func oneID(glob, id string) bool {
	ok, err := doublestar.Match(glob, id)
	return glob == id || (err == nil && ok)
}

func (s *Suite) unmatched(globs []string) assay.Problems {
	var ps assay.Problems
	for _, g := range globs {
		if slices.ContainsFunc(s.Entries, func(e Entry) bool { return oneID(g, e.Dir) }) {
			continue
		}
		if !doublestar.ValidatePattern(g) {
			ps.Addf("", 0, "%q is no valid pattern of task names", g)
			continue
		}
		ps.Addf("", 0, "no task of %s matches %q%s", s.Name, g, orList(g, s.ids()))
	}
	return ps
}

func (s *Suite) untiered(tiers []string) assay.Problems {
	var known []string
	for _, e := range s.Entries {
		if t := e.Task.Tier; t != "" && !slices.Contains(known, t) {
			known = append(known, t)
		}
	}
	slices.Sort(known)
	var ps assay.Problems
	for _, t := range tiers {
		if !slices.Contains(known, t) {
			ps.Addf("", 0, "no task of %s is in the tier %q%s", s.Name, t, orList(t, known))
		}
	}
	return ps
}

func (s *Suite) ids() []string {
	out := make([]string, len(s.Entries))
	for i, e := range s.Entries {
		out[i] = e.Dir
	}
	return out
}

// orList names the nearest of known, or the first of them.
func orList(word string, known []string) string {
	if hint := schema.Hint(word, known); hint != "" {
		return hint
	}
	const most = 8
	switch {
	case len(known) == 0:
		return "; there is none"
	case len(known) > most:
		return "; there are " + strings.Join(known[:most], ", ") + ", ..."
	}
	return "; there are " + strings.Join(known, ", ")
}

// Lint lists what is allowed but unwise: names that need quoting in a shell,
// tasks that nothing can prove.
func (s *Suite) Lint() assay.Problems {
	var ps assay.Problems
	for _, e := range s.Entries {
		dir := path.Join(s.Name, e.Dir)
		file := path.Join(dir, taskFile)
		if assay.SafeName(e.Dir, len(e.Dir)) != e.Dir {
			ps.Addf(dir, 0, "the name has to be quoted in a shell; letters, digits, '.', '_' and '-' are safe")
		}
		if !e.fromRepository() && !isDir(e.fsys, path.Join(e.Dir, solutionDir)) {
			ps.Addf(dir, 0, "there is no folder %s, so nothing proves that the task can be solved", solutionDir)
		}
		if why := e.Unfit(); why != "" {
			ps.Addf(file, 0, "%s", why)
		}
		if e.Task.Tier == "" && len(e.Problems) == 0 {
			ps.Addf(file, 0, "the task has no tier")
		}
	}
	return ps
}

// Unfit says why a mined task has no part in a run, "" for one that has:
// validation rejected or quarantined it, or nothing has proven it yet.
func (e Entry) Unfit() string {
	v := e.Task.Validation
	switch {
	case e.Task.Source == nil, len(e.Problems) > 0:
		return ""
	case v == nil:
		return "the task isn't proven yet; 'assay validate' does that"
	case v.Status != string(assay.StatusValid):
		return "validation " + v.Status + " the task: " + v.Reason
	}
	return ""
}

// Unproven tells whether a mined task was never validated.
func (e Entry) Unproven() bool { return e.Task.Source != nil && e.Task.Validation == nil }
