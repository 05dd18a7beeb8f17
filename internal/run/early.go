package run

import (
	"context"
	"sync"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// Placed is a grader's box. Its workspace may hold a tree already, so that
// only the difference has to be put; nil means that it is empty.
type Placed struct {
	Box
	Workspace tree.Tree
}

// Close removes the box even when ctx is over: graders need not think of it.
func (p Placed) Close(ctx context.Context) error {
	ctx, cancel := shielded(ctx)
	defer cancel()
	return p.Box.Close(ctx)
}

// earlyBox is the grader's box, made while the agent works. Nothing hidden
// enters it before the agent's box is gone: it holds the base at most.
type earlyBox struct {
	a      *attempt
	cancel context.CancelFunc
	done   chan struct{}
	mu     sync.Mutex
	box    Box
	err    error
}

// openEarly begins to make the grader's box, or not at all when the runner
// doesn't want it.
func (a *attempt) openEarly(ctx context.Context) *earlyBox {
	e := &earlyBox{a: a, cancel: func() {}, done: make(chan struct{})}
	if !a.r.EarlyGrader {
		close(e.done)
		return e
	}
	ctx, e.cancel = context.WithCancel(ctx)
	go func() {
		defer close(e.done)
		e.err = safely(func() error { return e.open(ctx) })
	}()
	return e
}

func (e *earlyBox) open(ctx context.Context) error {
	box, err := e.a.r.Sandbox.Open(ctx, graderSpec(e.a))
	if err != nil {
		return err
	}
	e.box = box
	if err := put(ctx, box, WorkDir, true, e.a.base); err != nil {
		return err
	}
	e.box = Placed{Box: box, Workspace: e.a.base}
	return nil
}

func graderSpec(a *attempt) BoxSpec {
	spec := a.spec("grader")
	spec.MemoryWorkspace = true
	return spec
}

// take hands the box over; when it wasn't made, or not well, a new one is.
func (e *earlyBox) take(ctx context.Context) (Box, error) {
	<-e.done
	e.mu.Lock()
	box, failed := e.box, e.err != nil
	e.box = nil
	e.mu.Unlock()
	if box != nil && !failed {
		return box, nil
	}
	closeBox(ctx, box)
	box, err := e.a.r.Sandbox.Open(ctx, graderSpec(e.a))
	if err != nil {
		return nil, assay.Infra(assay.InfraSandbox, "opening the grader's box", err)
	}
	return Placed{Box: box}, nil
}

// discard ends the making and removes a box that nobody took.
func (e *earlyBox) discard(ctx context.Context) {
	e.cancel()
	<-e.done
	e.mu.Lock()
	defer e.mu.Unlock()
	closeBox(ctx, e.box)
	e.box = nil
}

// closeBox removes a box even when the run is over. A box that can't be
// removed is left to the reaper.
func closeBox(ctx context.Context, box Box) {
	if box == nil {
		return
	}
	ctx, cancel := shielded(ctx)
	defer cancel()
	_ = box.Close(ctx)
}

// OpenFilled opens a box whose workspace holds a tree, for graders that make
// their own boxes: Checks then puts only what differs.
func OpenFilled(ctx context.Context, s Sandbox, spec BoxSpec, t tree.Tree) (Box, error) {
	box, err := s.Open(ctx, spec)
	if err != nil {
		return nil, assay.Infra(assay.InfraSandbox, "opening a box", err)
	}
	if err := put(ctx, box, WorkDir, true, t); err != nil {
		closeBox(ctx, box)
		return nil, err
	}
	return Placed{Box: box, Workspace: t}, nil
}
