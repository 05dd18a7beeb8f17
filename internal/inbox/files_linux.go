package inbox

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxDepth bounds how deep folders may be nested.
const maxDepth = 200

var errLink = errors.New("a link is in the way")

// files changes and reads folders below base and never follows a link.
type files struct {
	base     string
	chown    bool
	uid, gid int
}

// open opens a folder; with create it is made, with its parents.
func (f files) open(dir string, create bool) (*os.Root, error) {
	if !path.IsAbs(dir) || strings.Contains(dir, "/../") || strings.HasSuffix(dir, "/..") {
		return nil, fmt.Errorf("%q is no absolute path of a folder", dir)
	}
	fd, err := unix.Open(f.base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.base, Err: err}
	}
	for _, name := range strings.Split(strings.Trim(path.Clean("/"+dir), "/"), "/") {
		if name == "" {
			continue
		}
		next, err := f.step(fd, name, create)
		_ = unix.Close(fd)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
		}
		fd = next
	}
	defer func() { _ = unix.Close(fd) }()
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func (f files) step(fd int, name string, create bool) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	next, err := unix.Openat(fd, name, flags, 0)
	if !errors.Is(err, unix.ENOENT) || !create {
		if errors.Is(err, unix.ELOOP) {
			err = errLink
		}
		return next, err
	}
	if err := unix.Mkdirat(fd, name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	if f.chown {
		if err := unix.Fchownat(fd, name, f.uid, f.gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return -1, err
		}
	}
	return unix.Openat(fd, name, flags, 0)
}

// ensure makes a folder, and gives it to the owner when it is there already.
func (f files) ensure(dir string) error {
	root, err := f.open(dir, true)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return f.own(root, ".", 0o755)
}

func (f files) own(root *os.Root, name string, mode fs.FileMode) error {
	if f.chown {
		if err := root.Lchown(name, f.uid, f.gid); err != nil {
			return err
		}
	}
	return root.Chmod(name, mode)
}

// clear empties a folder, or makes it. A link or file in its place is
// replaced; the root is never emptied.
func (f files) clear(dir string) error {
	if path.Clean(dir) == "/" {
		return errors.New("the root can't be emptied")
	}
	if err := f.unlink(dir); err != nil {
		return err
	}
	root, err := f.open(dir, true)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	names, err := readNames(root)
	if err != nil {
		return err
	}
	for _, d := range names {
		if err := root.RemoveAll(d.Name()); err != nil {
			return fmt.Errorf("emptying %s: %w", dir, err)
		}
	}
	return f.own(root, ".", 0o755)
}

// unlink removes what stands in a folder's place and is none.
func (f files) unlink(dir string) error {
	parent, name := path.Split(path.Clean(dir))
	root, err := f.open(parent, true)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(name)
	if err != nil || info.IsDir() {
		return nil
	}
	return root.Remove(name)
}

func readNames(root *os.Root) ([]fs.DirEntry, error) {
	return fs.ReadDir(root.FS(), ".")
}

// put unpacks a tar stream into dir. What is in the way of an entry is
// removed, links above all.
func (f files) put(dir string, r io.Reader) error {
	root, err := f.open(dir, true)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading files for %s: %w", dir, err)
		}
		if err := f.entry(root, h, tr); err != nil {
			return fmt.Errorf("writing %s below %s: %w", h.Name, dir, err)
		}
	}
}

func (f files) entry(root *os.Root, h *tar.Header, r io.Reader) error {
	name := path.Clean(h.Name)
	if name == "." {
		return nil
	}
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return errors.New("the path leaves the folder")
	}
	if err := f.parents(root, path.Dir(name)); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeDir {
		return f.folder(root, name)
	}
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if h.Mode&0o111 != 0 {
		mode = 0o755
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return f.write(root, name, mode, r)
	case tar.TypeSymlink:
		if err := root.Symlink(h.Linkname, name); err != nil {
			return err
		}
		if f.chown {
			return root.Lchown(name, f.uid, f.gid)
		}
		return nil
	case tar.TypeLink:
		return root.Link(path.Clean(h.Linkname), name)
	}
	return fmt.Errorf("a file of type %q can't be placed", h.Typeflag)
}

func (f files) parents(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if info, err := root.Lstat(dir); err == nil && info.IsDir() {
		// A link above would lead elsewhere: each level is looked at.
		return f.parents(root, path.Dir(dir))
	}
	if err := f.parents(root, path.Dir(dir)); err != nil {
		return err
	}
	return f.folder(root, dir)
}

func (f files) folder(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	if err := root.Mkdir(name, 0o755); err != nil {
		return err
	}
	return f.own(root, name, 0o755)
}

func (f files) write(root *os.Root, name string, mode fs.FileMode, r io.Reader) error {
	w, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	if err == nil && f.chown {
		err = w.Chown(f.uid, f.gid)
	}
	if err == nil {
		err = w.Chmod(mode)
	}
	return errors.Join(err, w.Close())
}
