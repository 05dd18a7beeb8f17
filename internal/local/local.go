// Package local is the sandbox of machines without Docker: a temporary
// folder, and a command's processes ended with it. It isolates nothing, says
// so in every result, and is for trusted agents only. It never signals a
// process that isn't proven to come from the box, and never writes outside
// of the box's folder.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// Note is what a result says of a local box.
const Note = "no isolation: trusted agents only, since they can read and change whatever this user can"

// prefix starts the names of boxes' folders; Clean goes by it.
const prefix = "assay-box-"

// marker is the variable that every process of a box inherits; its value is
// the box's folder.
const marker = "ASSAY_BOX"

// ownerFile, in a box's folder, is locked by the process that owns the box.
const ownerFile = "owner"

// defaultPath is for a machine that has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Options are what the sandbox needs to know of this machine.
type Options struct {
	// Dir is where boxes are made; "" is the system's folder for temporary
	// files. It is made if missing.
	Dir string
	// Path is the PATH of commands in a box, "" a usual one.
	Path string
	// Init is how to start this program so that it calls Init: its own
	// file and InitArg. Empty, or elsewhere than on Linux, commands are
	// started directly, and a daemon that sheds its session, environment
	// and folder can outlive its command.
	Init []string
}

// Sandbox makes boxes in folders of this machine.
type Sandbox struct{ opt Options }

var _ run.Sandbox = (*Sandbox)(nil)

// New makes a sandbox. Nothing is touched before the first box.
func New(o Options) *Sandbox {
	if o.Path == "" {
		o.Path = defaultPath
	}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	return &Sandbox{opt: o}
}

// Name is "local".
func (s *Sandbox) Name() string { return "local" }

// Prepare looks for the programs that env requires; there is nothing to
// build. Images and Dockerfiles are ignored, which log is told.
func (s *Sandbox) Prepare(_ context.Context, env assay.Environment, _ tree.Tree, log io.Writer) (run.Image, error) {
	if what := ignored(env); what != "" && log != nil {
		_, _ = fmt.Fprintf(log, "local sandbox: %s is not used; programs come from this machine\n", what)
	}
	var missing []string
	for _, name := range env.Requires {
		if _, err := lookPath(s.opt.Path, "/", name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return run.Image{Ref: s.Name()}, nil
	}
	return run.Image{}, &assay.InfraError{
		Kind: assay.InfraSandbox, Doing: "preparing the local sandbox", Permanent: true,
		Err: fmt.Errorf("not on this machine's PATH: %s; install what is missing, or use the docker sandbox, which brings the task's own image",
			strings.Join(missing, ", ")),
	}
}

func ignored(env assay.Environment) string {
	switch {
	case env.Image != "":
		return "image " + env.Image
	case env.Dockerfile != "":
		return env.Dockerfile
	case env.Shared != "":
		return "shared environment " + env.Shared
	}
	return ""
}

// Open makes a box: its folders, its links to kits and its way to the model.
func (s *Sandbox) Open(ctx context.Context, spec run.BoxSpec) (run.Box, error) {
	b, err := s.open(ctx, spec)
	if err != nil {
		return nil, assay.Infra(assay.InfraSandbox, "opening a local box", err)
	}
	return b, nil
}

func (s *Sandbox) open(ctx context.Context, spec run.BoxSpec) (*box, error) {
	if err := checkKits(spec.Kits); err != nil {
		return nil, err
	}
	dir, release, err := s.claim()
	if err != nil {
		return nil, err
	}
	b := &box{
		opt: s.opt, dir: dir, root: filepath.Join(dir, "root"), release: release,
		closed: make(chan struct{}), busy: make(chan struct{}, 1),
	}
	b.close = sync.OnceValue(b.remove)
	if err := b.furnish(ctx, spec.Kits, spec.Model); err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	return b, nil
}

func checkKits(kits []run.Kit) error {
	for _, k := range kits {
		err := fmt.Errorf("the local sandbox installs no agents: %s needs the docker sandbox, or a folder that holds it already", k.Name)
		if k.Dir != "" {
			info, statErr := os.Stat(k.Dir)
			if statErr == nil && info.IsDir() {
				continue
			}
			err = fmt.Errorf("the kit %s is not a folder at %s", k.Name, k.Dir)
		}
		return &assay.InfraError{Kind: assay.InfraSandbox, Doing: "opening a local box", Err: err, Permanent: true}
	}
	return nil
}

// claim makes a box's folder and locks it for this process. A Clean of
// another process can come between the two; then another folder is made.
func (s *Sandbox) claim() (dir string, release func() error, err error) {
	parent, err := s.parent()
	if err != nil {
		return "", nil, err
	}
	owner := fmt.Sprintf("process %d, since %s", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	for range 3 {
		if dir, err = os.MkdirTemp(parent, prefix+"*"); err != nil {
			return "", nil, err
		}
		if release, err = disk.Lock(filepath.Join(dir, ownerFile), owner); err == nil {
			return dir, release, nil
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return "", nil, err
}

// parent is the real path of the folder for boxes, so that it can be compared
// with what the system says of processes.
func (s *Sandbox) parent() (string, error) {
	if err := os.MkdirAll(s.opt.Dir, 0o755); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(s.opt.Dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

func (b *box) furnish(ctx context.Context, kits []run.Kit, model http.Handler) error {
	for _, d := range []string{run.WorkDir, run.VerifyDir, run.ReportDir, run.HomeDir, run.KitDir, tmpDir} {
		if err := os.MkdirAll(b.root+d, 0o755); err != nil {
			return err
		}
	}
	for _, k := range kits {
		dir, err := filepath.Abs(k.Dir)
		if err != nil {
			return err
		}
		if err := os.Symlink(dir, filepath.Join(b.root+run.KitDir, k.Name)); err != nil {
			return err
		}
	}
	var err error
	if b.files, err = os.OpenRoot(b.root); err != nil {
		return err
	}
	if model != nil {
		b.model, err = serve(ctx, model)
	}
	return err
}

// Clean removes the boxes below dir ("": the system's folder for temporary
// files) whose owners are dead, with the processes that they left. It returns
// the folders that it removed.
func Clean(dir string) ([]string, error) {
	parent, err := New(Options{Dir: dir}).parent()
	if err != nil {
		return nil, fmt.Errorf("cleaning up local boxes: %w", err)
	}
	list, err := filepath.Glob(filepath.Join(escapeGlob(parent), prefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("cleaning up local boxes: %w", err)
	}
	var removed []string
	errs := make([]error, 0, len(list))
	for _, d := range list {
		gone, err := cleanOne(d)
		if gone {
			removed = append(removed, d)
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

func escapeGlob(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}

func cleanOne(dir string) (bool, error) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false, nil
	}
	release, err := disk.Lock(filepath.Join(dir, ownerFile), "clean-up")
	var held *disk.Held
	if errors.As(err, &held) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cleaning up %s: %w", dir, err)
	}
	err = errors.Join(sweep(dir), removeAll(dir), release())
	if err != nil {
		return false, fmt.Errorf("cleaning up %s: %w", dir, err)
	}
	return true, nil
}
