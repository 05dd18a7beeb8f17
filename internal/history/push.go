package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/tree"
)

// Branch is a branch of a remote, as its files.
type Branch interface {
	// Read fetches the branch. Tip is "" where it doesn't exist; a remote
	// that can't be asked is an error, never an empty branch.
	Read(ctx context.Context) (tip string, files map[string][]byte, err error)
	// Write pushes one commit on c.Tip. Moved is true, and nothing was
	// written, where the branch has another tip by now.
	Write(ctx context.Context, c Commit) (moved bool, err error)
}

// Commit is one commit: files that are put and paths that are dropped, on Tip
// ("" for a first commit). To is the branch that it becomes, whatever stood
// there; "" is the branch itself, which is never rewound.
type Commit struct {
	Tip, Message, To string
	Put              tree.Tree
	Drop             []string
}

// Pushed says what came of posting a run. Tries counts the writes.
type Pushed struct {
	File    string // "" where there was nothing new
	New     int    // trials that were not there
	Known   int
	Dropped []string // oldest files, for room
	Tries   int
}

// maxTries bounds how often a push is repeated that others came before.
const maxTries = 12

// Push posts a run: it reads the branch, adds what is new, and pushes; where
// another writer came first it starts over from what that one left. Pause is
// called before try n, from 2.
func Push(ctx context.Context, b Branch, r Run, pause func(ctx context.Context, n int) error) (Pushed, error) {
	for n := 1; n <= maxTries; n++ {
		if n > 1 {
			if err := pause(ctx, n); err != nil {
				return Pushed{}, err
			}
		}
		tip, files, err := b.Read(ctx)
		if err != nil {
			return Pushed{}, err
		}
		c, p, err := add(files, r)
		p.Tries = n
		if err != nil || p.File == "" {
			return p, err
		}
		c.Tip = tip
		if tip == "" {
			c.Put["README.md"] = tree.Entry{Mode: tree.File, Data: []byte(readme)}
		}
		moved, err := b.Write(ctx, c)
		if err != nil || !moved {
			return p, err
		}
	}
	return Pushed{}, fmt.Errorf("posting the run %s: others wrote to the branch first, %d times; try again", r.ID, maxTries)
}

const readme = `This branch is written by assay: results of its runs, one file per run, one
line per trial. 'assay history show' reads it. Files are never changed; the
oldest are dropped when the branch grows too large.
`

// add is the commit that adds a run to a branch's files.
func add(files map[string][]byte, r Run) (Commit, Pushed, error) {
	var p Pushed
	whole := len(r.Trials)
	r, part, err := fresh(files, r)
	if err != nil {
		return Commit{}, p, err
	}
	p.Known, p.New = whole-len(r.Trials), len(r.Trials)
	if p.New == 0 {
		return Commit{}, p, nil
	}
	data, err := encode(r)
	if err != nil {
		return Commit{}, p, err
	}
	p.File = path(r.Head, part)
	p.Dropped = oldest(files, p.File, len(data))
	c := Commit{Message: fmt.Sprintf("Results of %s: %d trials", r.ID, p.New), Drop: p.Dropped,
		Put: tree.Tree{p.File: {Mode: tree.File, Data: data}}}
	return c, p, nil
}

// fresh narrows a run to the trials that the branch doesn't have of it, and
// tells which part that is.
func fresh(files map[string][]byte, r Run) (out Run, part int, err error) {
	if err := r.check(); err != nil {
		return out, 0, err
	}
	out, part = r, 1
	var there []Trial
	for _, name := range ours(files) {
		if fileName.FindStringSubmatch(name)[1] != r.ID {
			continue
		}
		old, err := decode(files[name])
		if err != nil {
			return out, 0, fmt.Errorf("%s of the branch can't be read, and would be added to: %w", name, err)
		}
		there = append(there, old.Trials...)
		out.When = old.When // all parts in one folder
		part++
	}
	if part > 999 {
		return out, 0, errors.New("the run has 999 parts already; give this one another ID")
	}
	ids := map[string][]Trial{}
	for _, t := range there {
		ids[t.ID] = append(ids[t.ID], t)
	}
	out.Trials = slices.DeleteFunc(slices.Clone(r.Trials), func(t Trial) bool { return slices.ContainsFunc(ids[t.ID], t.same) })
	return out, part, nil
}

// oldest are the files that must go for a new one of n bytes to have room.
// They are only ours; a file of another name is left alone.
func oldest(files map[string][]byte, added string, n int) []string {
	there := slices.DeleteFunc(ours(files), func(name string) bool { return name == added })
	total, count := n, 1+len(there)
	for _, name := range there {
		total += len(files[name])
	}
	if total <= MaxTotal && count <= MaxFiles {
		return nil
	}
	at := map[string]string{}
	for _, name := range there {
		at[name] = age(name, files[name])
	}
	slices.SortFunc(there, func(a, b string) int { return strings.Compare(at[a]+a, at[b]+b) })
	gone := 0
	for ; gone < len(there) && (total > MaxTotal || count > MaxFiles); gone++ {
		total -= len(files[there[gone]])
		count--
	}
	return there[:gone]
}

// age sorts files: by the head's time, since names tell months only.
func age(name string, data []byte) string {
	r, err := decode(data)
	if err != nil {
		return strings.TrimPrefix(name, Folder+"/")[:len("2006-01")]
	}
	return r.When.UTC().Format("2006-01-02T15:04:05")
}
