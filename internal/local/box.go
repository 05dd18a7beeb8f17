package local

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// tmpDir is TMPDIR of commands, below the box's root.
const tmpDir = "/tmp"

var errClosed = errors.New("the box is closed")

type box struct {
	opt     Options
	dir     string // the folder that is removed at the end
	root    string // below it: what the box's paths start from
	files   *os.Root
	model   *server // nil for none
	release func() error
	closed  chan struct{}
	busy    chan struct{} // holds one token while a command runs
	close   func() error
}

var _ run.Box = (*box)(nil)

func (b *box) Root() string { return b.root }

func (b *box) ModelURL() string {
	if b.model == nil {
		return ""
	}
	return b.model.url
}

func (b *box) Facts() assay.Box { return assay.Box{Kind: "local", Note: Note} }

// Put unpacks r. Links that the box's commands left are never followed out
// of dir.
func (b *box) Put(ctx context.Context, dir string, own bool, r io.Reader) error {
	return b.guard("putting files into "+dir, func() error {
		rel, err := below(dir)
		if err != nil {
			return err
		}
		if err := b.files.MkdirAll(rel, 0o755); err != nil {
			return err
		}
		to, err := b.files.OpenRoot(rel)
		if err != nil {
			return err
		}
		defer func() { _ = to.Close() }()
		return unpack(ctx, to, own, tar.NewReader(r))
	})
}

// Get packs dir; a dir that is no folder is an empty archive. A limit of 0
// is none.
func (b *box) Get(ctx context.Context, dir string, limit int64, w io.Writer) error {
	err := b.guard("getting files of "+dir, func() error {
		rel, err := below(dir)
		if err != nil {
			return err
		}
		info, err := b.files.Lstat(rel)
		if errors.Is(err, os.ErrNotExist) || (err == nil && !info.IsDir()) {
			return tar.NewWriter(w).Close()
		}
		if err != nil {
			return err
		}
		from, err := b.files.OpenRoot(rel)
		if err != nil {
			return err
		}
		defer func() { _ = from.Close() }()
		return pack(ctx, from, limit, w)
	})
	if errors.Is(err, run.ErrTooLarge) {
		return run.ErrTooLarge
	}
	return err
}

// Clear makes dir anew.
func (b *box) Clear(_ context.Context, dir string) error {
	return b.guard("clearing "+dir, func() error {
		rel, err := below(dir)
		if err != nil {
			return err
		}
		if rel == "." {
			return errors.New("the root of a box can't be cleared")
		}
		if err := removeBelow(b.files, rel); err != nil {
			return err
		}
		return b.files.MkdirAll(rel, 0o755)
	})
}

// guard refuses work on a closed box and says what failed.
func (b *box) guard(doing string, f func() error) error {
	err := errClosed
	if !b.isClosed() {
		err = f()
	}
	return assay.Infra(assay.InfraSandbox, doing+" of a local box", err)
}

func (b *box) isClosed() bool {
	select {
	case <-b.closed:
		return true
	default:
		return false
	}
}

// below turns a path of the box into one relative to its root.
func below(dir string) (string, error) {
	if !path.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", fmt.Errorf("%q is not an absolute path", dir)
	}
	rel := strings.TrimPrefix(path.Clean(dir), "/")
	if rel == "" {
		rel = "."
	}
	return rel, nil
}

// Close ends a command under way, kills what is left and removes the folder.
func (b *box) Close(context.Context) error { return b.close() }

// remove is Close, once.
func (b *box) remove() error {
	close(b.closed)
	b.busy <- struct{}{} // for good: no command starts any more
	var errs []error
	if b.model != nil {
		errs = append(errs, b.model.stop())
	}
	errs = append(errs, sweep(b.dir))
	if b.files != nil {
		errs = append(errs, b.files.Close())
	}
	errs = append(errs, removeAll(b.dir), b.release())
	return assay.Infra(assay.InfraSandbox, "closing a local box", errors.Join(errs...))
}

// server answers for the model on the loopback address.
type server struct {
	url  string
	http *http.Server
	done chan struct{}
}

func serve(ctx context.Context, h http.Handler) (*server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the model: %w", err)
	}
	s := &server{
		url:  "http://" + l.Addr().String(),
		http: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute},
		done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // ends with ErrServerClosed, by stop
	}()
	return s, nil
}

// stop ends calls under way.
func (s *server) stop() error {
	err := s.http.Close()
	<-s.done
	return err
}
