package flow

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/suite"
)

// Yield counts what became of the candidates of a file or folder, with what
// validation says of the tasks in a folder ("" for none). A folder without
// candidates is taken for the folder of tasks.
func (f *Flow) Yield(path, tasks string) (mine.Yield, error) {
	store := candidates.At(path)
	all, err := store.Load()
	if errors.Is(err, fs.ErrNotExist) {
		if tasks != "" || !holdsTasks(path) {
			return mine.Yield{}, assay.Userf("there are no candidates at %s; 'assay mine' makes them", store.Path())
		}
		tasks, err = path, nil
	}
	if err != nil {
		return mine.Yield{}, err
	}
	if tasks == "" {
		return mine.YieldOf(all), nil
	}
	s, err := suite.Open(os.DirFS(tasks), tasks, suite.Options{})
	if err != nil {
		return mine.Yield{}, fmt.Errorf("reading what validation says: %w", err)
	}
	list := make([]assay.Task, 0, len(s.Entries))
	for _, e := range s.Entries {
		list = append(list, e.Task)
	}
	return mine.YieldOf(mine.WithTasks(all, list)), nil
}

func holdsTasks(dir string) bool {
	found, err := filepath.Glob(filepath.Join(dir, "*", "task.json"))
	return err == nil && len(found) > 0
}

// KnownYieldFormat is a user error for a format that the yield table lacks.
func KnownYieldFormat(format string) error { return known("format", format, mine.YieldFormats()) }

// WriteYield prints a yield table.
func WriteYield(w io.Writer, y mine.Yield, format string) error { return y.Write(w, format) }

func known(what, word string, words []string) error {
	for _, w := range words {
		if w == word {
			return nil
		}
	}
	if near := Nearest(word, words); near != "" {
		return assay.Userf("there is no %s %q; did you mean %q?", what, word, near)
	}
	return assay.Userf("there is no %s %q (there are %v)", what, word, words)
}
