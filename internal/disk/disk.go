// Package disk writes files so that a crash leaves either the old or the new
// content, appends lines, tells how much room is left and holds a folder for
// one process at a time. It never decides what is written, never makes
// folders and never deletes a file that it didn't make itself.
package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// fileMode is the mode of written files: results are no secrets, and other
// users of a machine read them.
const fileMode = 0o644

// WriteFile replaces path by data: a temporary file beside it, fsync, rename,
// fsync of the folder. The folder must exist. After an error, path is what it
// was before and no temporary file is left.
func WriteFile(path string, data []byte) error {
	if err := replace(path, data); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func replace(path string, data []byte) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, "."+base+".tmp-*")
	if err != nil {
		return err
	}
	if err := fill(f, data); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

// fill writes, syncs and closes f.
func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(fileMode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes a rename durable. File systems that can't sync a folder say
// EINVAL or ENOTSUP; there it is durable as it is, or can't be made so.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// WriteJSON is WriteFile of v as indented JSON with a newline at the end.
// HTML characters stay as they are.
func WriteJSON(path string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing %s as JSON: %w", path, err)
	}
	return WriteFile(path, b.Bytes())
}

// Append adds line and a newline to path, which is made if missing, and syncs
// it. When the file ends in the middle of a line (a crash), the torn line is
// closed first, so that it spoils itself only.
func Append(path string, line []byte) error {
	if err := appendLine(path, line); err != nil {
		return fmt.Errorf("appending to %s: %w", path, err)
	}
	return nil
}

func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	torn, err := endsTorn(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	buf := make([]byte, 0, len(line)+2)
	if torn {
		buf = append(buf, '\n')
	}
	buf = append(append(buf, line...), '\n')
	_, err = f.Write(buf)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func endsTorn(f *os.File) (bool, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], end-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// IsFull tells whether err comes from a full disk or a used-up quota. Nothing
// that a program writes then can be trusted; stop scheduling.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Free is the number of bytes that an ordinary user can still write below
// dir. A dir that doesn't exist yet is measured at its nearest parent.
func Free(dir string) (int64, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return 0, fmt.Errorf("measuring free space of %s: %w", dir, err)
	}
	for {
		n, err := free(abs)
		up := filepath.Dir(abs)
		if err == nil || !errors.Is(err, os.ErrNotExist) || up == abs {
			return n, wrapFree(dir, err)
		}
		abs = up
	}
}

func wrapFree(dir string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("measuring free space of %s: %w", dir, err)
}
