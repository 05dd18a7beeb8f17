package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/schema"
	"github.com/assaybot/assay/internal/tree"
)

// Mined is the tier of tasks that were made from a repository's history.
const Mined = "mined"

// folderMode is what git gives a folder: tasks are shared, not secret.
const folderMode = 0o755

// WriteTask writes a task's folder whole or not at all: dir must be called as
// t.ID. prompt becomes prompt.md ("": t says its prompt itself); files are
// the sub-folders by name (workspace, verify, solution, environment). A task
// that stands in dir already is replaced.
func WriteTask(dir string, t assay.Task, prompt string, files map[string]tree.Tree) error {
	if why := badID(t.ID); why != "" {
		return assay.Userf("writing a task: the id %q %s", t.ID, why)
	}
	if filepath.Base(dir) != t.ID {
		return fmt.Errorf("writing task %q to %s: the folder must be called as the task", t.ID, dir)
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, folderMode); err != nil {
		return assay.Infra(assay.InfraDisk, "making the tasks folder", err)
	}
	// The name starts with a dot, so that a leftover is no task.
	tmp, err := os.MkdirTemp(parent, ".new-*")
	if err != nil {
		return assay.Infra(assay.InfraDisk, "making a folder for task "+t.ID, err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	fresh := filepath.Join(tmp, "task")
	if err := fillTask(fresh, t, prompt, files); err != nil {
		return assay.Infra(assay.InfraDisk, "writing task "+t.ID, err)
	}
	return assay.Infra(assay.InfraDisk, "putting task "+t.ID+" in its place", swap(fresh, dir, filepath.Join(tmp, "old")))
}

// MadeFrom tells whether the task in dir was mined from the same change of the
// same repository as t; a folder that can't be read wasn't. A change is its
// number, or, without one, its commit.
func MadeFrom(dir string, t assay.Task) bool {
	data, err := os.ReadFile(filepath.Join(dir, taskFile)) //nolint:gosec // the user's own tasks folder
	var have assay.Task
	if err != nil || json.Unmarshal(data, &have) != nil || have.Source == nil || t.Source == nil {
		return false
	}
	a, b := have.Source, t.Source
	return have.Tier == Mined && have.Repository == t.Repository && a.Kind == b.Kind && a.Number == b.Number &&
		(a.Number != 0 || a.Commit == b.Commit)
}

// RemoveTask removes a task's folder: whole at once for whoever reads the
// suite meanwhile.
func RemoveTask(dir string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".old-*")
	if err != nil {
		return assay.Infra(assay.InfraDisk, "making a folder beside "+dir, err)
	}
	err = os.Rename(dir, filepath.Join(tmp, "task"))
	return assay.Infra(assay.InfraDisk, "removing "+dir, errors.Join(err, os.RemoveAll(tmp)))
}

func fillTask(dir string, t assay.Task, prompt string, files map[string]tree.Tree) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	for _, name := range sortedKeys(files) {
		clean, err := tree.Clean(name)
		if err != nil {
			return err
		}
		if err := files[name].WriteDir(filepath.Join(dir, filepath.FromSlash(clean))); err != nil {
			return err
		}
	}
	if prompt != "" {
		t.Prompt, t.PromptFile = "", promptFile
		if err := disk.WriteFile(filepath.Join(dir, promptFile), []byte(prompt)); err != nil {
			return err
		}
	}
	data, err := encodeTask(t)
	if err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(dir, taskFile), data)
}

// swap renames fresh to dir; what stood there goes to old, and comes back if
// the second rename fails.
func swap(fresh, dir, old string) error {
	err := os.Rename(dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	had := err == nil
	if err := os.Rename(fresh, dir); err != nil {
		if had {
			return errors.Join(err, os.Rename(old, dir))
		}
		return err
	}
	return nil
}

// UpdateTask reads dir/task.json strictly, lets change alter the task, and
// replaces the file atomically. Where change alters nothing, the file keeps
// its spelling.
func UpdateTask(dir string, change func(*assay.Task)) error {
	file := filepath.Join(dir, taskFile)
	data, err := os.ReadFile(file) //nolint:gosec // the user's own tasks folder
	if err != nil {
		return fmt.Errorf("reading the task to update: %w", err)
	}
	var t assay.Task
	if err := schema.DecodeJSON(file, data, &t).Err(); err != nil {
		return err
	}
	before, err := encodeTask(t)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", file, err)
	}
	change(&t)
	after, err := encodeTask(t)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", file, err)
	}
	if bytes.Equal(before, after) {
		return nil
	}
	return assay.Infra(assay.InfraDisk, "writing "+file, disk.WriteFile(file, after))
}

// encodeTask is a task as a person would write it: indented, and with < > &
// as they are.
func encodeTask(t assay.Task) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(t)
	return b.Bytes(), err
}
