package local

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// unpack writes the files of a tar stream below to. What is in their place is
// removed first, so that nothing is written through a link.
func unpack(ctx context.Context, to *os.Root, own bool, r *tar.Reader) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("reading a tar stream: %w", err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader || path.Clean(h.Name) == "." {
			continue
		}
		p, err := tree.Clean(strings.TrimPrefix(h.Name, "./"))
		if err != nil {
			return fmt.Errorf("reading a tar stream: %w", err)
		}
		if err := unpackOne(to, p, h, own, r); err != nil {
			return fmt.Errorf("unpacking %s: %w", p, err)
		}
	}
}

func unpackOne(to *os.Root, p string, h *tar.Header, own bool, r io.Reader) error {
	if err := makeRoom(to, p, h.Typeflag == tar.TypeDir); err != nil {
		return err
	}
	mode := h.FileInfo().Mode().Perm()
	switch h.Typeflag {
	case tar.TypeDir:
		if err := to.MkdirAll(p, 0o755); err != nil {
			return err
		}
		return to.Chmod(p, mode|0o700)
	case tar.TypeSymlink:
		return to.Symlink(h.Linkname, p)
	case tar.TypeLink:
		target, err := tree.Clean(strings.TrimPrefix(h.Linkname, "./"))
		if err != nil {
			return err
		}
		return to.Link(target, p)
	case tar.TypeReg:
		if !own {
			mode &^= 0o222
		}
		return unpackFile(to, p, h, mode, r)
	}
	return fmt.Errorf("a file of type %q can't be put into a box", h.Typeflag)
}

// makeRoom makes p's folder and removes what stands at p, except a folder
// where a folder is wanted.
func makeRoom(to *os.Root, p string, folder bool) error {
	if d := path.Dir(p); d != "." {
		if err := to.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	info, err := to.Lstat(p)
	if errors.Is(err, os.ErrNotExist) || (err == nil && folder && info.IsDir()) {
		return nil
	}
	if err != nil {
		return err
	}
	return removeBelow(to, p)
}

func unpackFile(to *os.Root, p string, h *tar.Header, mode fs.FileMode, r io.Reader) error {
	f, err := to.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return to.Chtimes(p, h.ModTime, h.ModTime)
}

// packer writes a folder as a tar stream.
type packer struct {
	from *os.Root
	out  *limited
	tar  *tar.Writer
}

// limited counts what may still be written.
type limited struct {
	w    io.Writer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		return 0, run.ErrTooLarge
	}
	l.left -= int64(len(p))
	return l.w.Write(p)
}

func pack(ctx context.Context, from *os.Root, limit int64, w io.Writer) error {
	if limit <= 0 {
		limit = 1<<63 - 1
	}
	out := &limited{w: w, left: limit}
	p := packer{from: from, out: out, tar: tar.NewWriter(out)}
	if err := walk(from, ".", func(name string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return p.add(name, info)
	}); err != nil {
		return err
	}
	return p.tar.Close()
}

// walk calls f for everything below dir, folders before what they hold. No
// link is followed. A folder that its owner locked is unlocked.
func walk(from *os.Root, dir string, f func(name string, info fs.FileInfo) error) error {
	d, err := from.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	for {
		list, err := d.ReadDir(1000)
		for _, e := range list {
			if err := visit(from, path.Join(dir, e.Name()), f); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func visit(from *os.Root, name string, f func(name string, info fs.FileInfo) error) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	if err := f(name, info); err != nil || !info.IsDir() {
		return err
	}
	if perm := info.Mode().Perm(); perm&0o500 != 0o500 {
		if err := from.Chmod(name, perm|0o500); err != nil {
			return err
		}
	}
	return walk(from, name, f)
}

func (p packer) add(name string, info fs.FileInfo) error {
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return p.addFile(h, info)
	case mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case mode&fs.ModeSymlink != 0:
		target, err := p.from.Readlink(name)
		if err != nil {
			return err
		}
		h.Typeflag, h.Linkname = tar.TypeSymlink, target
	case mode&fs.ModeCharDevice != 0:
		h.Typeflag = tar.TypeChar
	case mode&fs.ModeDevice != 0:
		h.Typeflag = tar.TypeBlock
	default: // FIFOs; a tar stream has no type for sockets
		h.Typeflag = tar.TypeFifo
	}
	return p.tar.WriteHeader(h)
}

func (p packer) addFile(h *tar.Header, info fs.FileInfo) error {
	if info.Size() > p.out.left {
		return run.ErrTooLarge // without reading a sparse file's holes
	}
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	f, err := p.open(h.Name, info)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(p.tar, f, h.Size)
	return err
}

// open opens a file, also one that its owner made unreadable.
func (p packer) open(name string, info fs.FileInfo) (*os.File, error) {
	f, err := p.from.Open(name)
	if !errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	perm := info.Mode().Perm()
	if err := p.from.Chmod(name, perm|0o400); err != nil {
		return nil, err
	}
	f, err = p.from.Open(name)
	return f, errors.Join(err, p.from.Chmod(name, perm))
}

// removeBelow removes rel and all below it, also from locked folders.
func removeBelow(r *os.Root, rel string) error {
	err := r.RemoveAll(rel)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	err = visit(r, rel, func(name string, info fs.FileInfo) error {
		if !info.IsDir() {
			return nil
		}
		return r.Chmod(name, 0o700)
	})
	return errors.Join(err, r.RemoveAll(rel))
}

// removeAll removes a folder of this machine like removeBelow.
func removeAll(dir string) error {
	up, err := os.OpenRoot(path.Dir(dir))
	if err != nil {
		return err
	}
	return errors.Join(removeBelow(up, path.Base(dir)), up.Close())
}
