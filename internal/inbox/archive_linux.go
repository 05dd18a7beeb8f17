package inbox

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

const block = 512

// get writes a folder as a tar stream of at most limit bytes, where the
// apparent size of a file counts. A folder that isn't there, or is a link,
// is an empty archive.
func (f files) get(dir string, limit int64, w io.Writer) error {
	a := &archive{tw: tar.NewWriter(w), left: limit, bounded: limit > 0}
	root, err := f.open(dir, false)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errLink), errors.Is(err, unix.ENOTDIR):
		return a.tw.Close()
	case err != nil:
		return err
	}
	defer func() { _ = root.Close() }()
	if err := a.folder(root, "", 0); err != nil {
		return err
	}
	return a.tw.Close()
}

type archive struct {
	tw      *tar.Writer
	left    int64
	bounded bool
}

// take counts n bytes and those of a header.
func (a *archive) take(n int64) error {
	a.left -= block + (n+block-1)/block*block
	if a.bounded && (a.left < 0 || n < 0) {
		return ErrTooLarge
	}
	return nil
}

func (a *archive) folder(root *os.Root, prefix string, depth int) error {
	if depth > maxDepth {
		return ErrTooLarge
	}
	names, err := readNames(root)
	if err != nil {
		return fmt.Errorf("reading folder %q: %w", prefix, err)
	}
	for _, d := range names {
		err := a.entry(root, d.Name(), prefix, depth)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (a *archive) entry(root *os.Root, name, prefix string, depth int) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	full := path.Join(prefix, name)
	h := &tar.Header{Name: full, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Format: tar.FormatPAX}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return a.file(root, name, h, info)
	case mode.IsDir():
		return a.enter(root, name, h, depth)
	case mode&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = root.Readlink(name); err != nil {
			return err
		}
	case mode&fs.ModeCharDevice != 0:
		h.Typeflag = tar.TypeChar
	case mode&fs.ModeDevice != 0:
		h.Typeflag = tar.TypeBlock
	default:
		// Tar knows no sockets; that it is special is all that counts.
		h.Typeflag = tar.TypeFifo
	}
	return a.header(h, 0)
}

func (a *archive) header(h *tar.Header, size int64) error {
	if err := a.take(size + int64(len(h.Name)+len(h.Linkname))); err != nil {
		return err
	}
	h.Size = size
	if err := a.tw.WriteHeader(h); err != nil {
		return fmt.Errorf("listing %q: %w", h.Name, err)
	}
	return nil
}

func (a *archive) enter(root *os.Root, name string, h *tar.Header, depth int) error {
	sub, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	full := h.Name
	h.Typeflag, h.Name = tar.TypeDir, full+"/"
	if err := a.header(h, 0); err != nil {
		return err
	}
	return a.folder(sub, full, depth+1)
}

func (a *archive) file(root *os.Root, name string, h *tar.Header, info fs.FileInfo) error {
	// A FIFO put here meanwhile must not block.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if now, err := file.Stat(); err != nil || !os.SameFile(now, info) {
		return err
	}
	h.Typeflag = tar.TypeReg
	if err := a.header(h, info.Size()); err != nil {
		return err
	}
	n, err := io.Copy(a.tw, io.LimitReader(file, info.Size()))
	if err != nil || n == info.Size() {
		return err
	}
	// It shrank under our hands.
	_, err = io.CopyN(a.tw, zeros{}, info.Size()-n)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
