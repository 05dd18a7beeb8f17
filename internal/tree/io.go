package tree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Bounds limit what is read into memory; zero means no limit.
type Bounds struct {
	Bytes int64
	Files int
}

// ErrTooLarge is returned when a tree is over its bounds.
var ErrTooLarge = errors.New("the tree is larger than its bounds")

// ReadTar reads a tar stream. Directories are skipped; what a tree can't hold
// (devices, FIFOs, sockets, hard links to nothing) is listed in special and
// left out. Hard links become copies. A path that leaves the root is an
// error.
func ReadTar(r io.Reader, b Bounds) (t Tree, special []string, err error) {
	t = Tree{}
	tr := tar.NewReader(r)
	var total int64
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return t, special, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading a tar stream: %w", err)
		}
		if h.Typeflag == tar.TypeDir || path.Clean(h.Name) == "." {
			continue
		}
		p, err := Clean(strings.TrimPrefix(h.Name, "./"))
		if err != nil {
			return nil, nil, fmt.Errorf("reading a tar stream: %w", err)
		}
		total += h.Size
		if (b.Bytes > 0 && total > b.Bytes) || (b.Files > 0 && len(t) >= b.Files) {
			return nil, nil, ErrTooLarge
		}
		e, ok, err := tarEntry(t, h, tr)
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s from a tar stream: %w", p, err)
		}
		if !ok {
			special = append(special, p)
			continue
		}
		t[p] = e
	}
}

func tarEntry(t Tree, h *tar.Header, r io.Reader) (Entry, bool, error) {
	switch h.Typeflag {
	case tar.TypeReg:
		data, err := io.ReadAll(r)
		return Entry{Mode: modeOf(fs.FileMode(h.Mode)), Data: data}, true, err
	case tar.TypeSymlink:
		return Entry{Mode: Link, Data: []byte(h.Linkname)}, true, nil
	case tar.TypeLink:
		e, ok := t[path.Clean(strings.TrimPrefix(h.Linkname, "./"))]
		return e, ok, nil
	}
	return Entry{}, false, nil
}

func modeOf(m fs.FileMode) Mode {
	if m&0o111 != 0 {
		return Exec
	}
	return File
}

// WriteTar writes t as a tar stream in path order, with folders, fixed times
// and no owner names.
func WriteTar(w io.Writer, t Tree) error {
	tw := tar.NewWriter(w)
	made := map[string]bool{}
	for _, p := range t.Paths() {
		if err := writeFolders(tw, made, path.Dir(p)); err != nil {
			return err
		}
		if err := writeEntry(tw, p, t[p]); err != nil {
			return fmt.Errorf("writing %s to a tar stream: %w", p, err)
		}
	}
	return tw.Close()
}

func writeFolders(tw *tar.Writer, made map[string]bool, dir string) error {
	if dir == "." || made[dir] {
		return nil
	}
	if err := writeFolders(tw, made, path.Dir(dir)); err != nil {
		return err
	}
	made[dir] = true
	return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: epoch()})
}

func writeEntry(tw *tar.Writer, p string, e Entry) error {
	h := &tar.Header{Name: p, Mode: int64(e.Mode & 0o777), ModTime: epoch(), Format: tar.FormatPAX}
	if e.Mode == Link {
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, string(e.Data), 0o777
		return tw.WriteHeader(h)
	}
	h.Typeflag, h.Size = tar.TypeReg, int64(len(e.Data))
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := tw.Write(e.Data)
	return err
}

// epoch is the time of every written file: after 1980, so that zip-based
// tools accept it.
func epoch() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// FromFS reads a file system. Links are kept as links where fsys can read
// them (os.DirFS can).
func FromFS(fsys fs.FS, b Bounds) (Tree, error) {
	t := Tree{}
	var total int64
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		e, ok, err := fsEntry(fsys, p, d)
		if err != nil || !ok {
			return err
		}
		total += int64(len(e.Data))
		if (b.Bytes > 0 && total > b.Bytes) || (b.Files > 0 && len(t) >= b.Files) {
			return ErrTooLarge
		}
		t[p] = e
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading a folder: %w", err)
	}
	return t, nil
}

func fsEntry(fsys fs.FS, p string, d fs.DirEntry) (Entry, bool, error) {
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(fsys, p)
		return Entry{Mode: Link, Data: []byte(target)}, true, err
	case !d.Type().IsRegular():
		return Entry{}, false, nil
	}
	info, err := d.Info()
	if err != nil {
		return Entry{}, false, err
	}
	data, err := fs.ReadFile(fsys, p)
	return Entry{Mode: modeOf(info.Mode()), Data: data}, true, err
}

// FromDir reads a folder of this machine.
func FromDir(dir string, b Bounds) (Tree, error) { return FromFS(os.DirFS(dir), b) }

// WriteDir writes t below dir, which is made. It goes through os.Root, so
// that a link of t can't lead a later file outside.
func (t Tree) WriteDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening a folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, p := range t.Paths() {
		if err := writeFile(root, p, t[p]); err != nil {
			return fmt.Errorf("writing %s: %w", filepath.Join(dir, p), err)
		}
	}
	return nil
}

func writeFile(root *os.Root, p string, e Entry) error {
	if d := path.Dir(p); d != "." {
		if err := root.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if e.Mode == Link {
		return root.Symlink(string(e.Data), p)
	}
	f, err := root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fs.FileMode(e.Mode&0o777))
	if err != nil {
		return err
	}
	if _, err := f.Write(e.Data); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
