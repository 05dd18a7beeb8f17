package disk

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gofrs/flock"
)

// Held says that another process holds a lock. Owner is that process's own
// text ("" while it is still writing it).
type Held struct {
	Path  string
	Owner string
}

func (h *Held) Error() string {
	who := h.Owner
	if who == "" {
		who = "another process"
	}
	return fmt.Sprintf("%s is in use by %s", h.Path, who)
}

// Lock takes the lock file path, which is made if missing and stays, and
// writes owner into it: one line that tells a person who it is (process,
// host, start). A lock that is held gives *Held with the holder's text.
//
// The operating system lets go of the lock when its process dies, however
// that happens, so a dead process's lock is simply taken over. Release is to
// be called once; it empties the file, and does not mind if the file is gone.
func Lock(path, owner string) (release func() error, err error) {
	l := flock.New(path, flock.SetPermissions(fileMode), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	got, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if !got {
		return nil, heldBy(path)
	}
	if err := os.WriteFile(path, []byte(owner+"\n"), fileMode); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), l.Unlock())
	}
	return func() error { return unlock(l, path) }, nil
}

func heldBy(path string) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading who holds %s: %w", path, err)
	}
	return &Held{Path: path, Owner: strings.TrimSpace(string(text))}
}

// unlock empties the file first, so that the next holder is never named by a
// text of the last one.
func unlock(l *flock.Flock, path string) error {
	err := os.Truncate(path, 0)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err := errors.Join(err, l.Unlock()); err != nil {
		return fmt.Errorf("releasing %s: %w", path, err)
	}
	return nil
}
