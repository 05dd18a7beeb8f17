package run

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// session is an attempt's way to its model; without one, its methods do
// nothing.
type session struct {
	inner Session
	log   *lockedFile
	once  sync.Once
	// snap is the account at the moment when a clock stopped the program:
	// calls that end because of the stop are no errors of the API.
	snap *assay.ModelCalls
}

// openSession opens the way to the model that the program speaks to.
func (a *attempt) openSession(l Launch) (*session, error) {
	if l.Provider == "" || a.r.Gateway == nil {
		return &session{}, nil
	}
	w, err := a.create(GatewayFile)
	if err != nil {
		return nil, err
	}
	log := &lockedFile{w: w}
	inner, err := a.r.Gateway.Session(SessionSpec{
		Provider: l.Provider, Model: a.job.Trial.Model, MaxCostUSD: a.limits().MaxCostUSD, Log: log,
	})
	if err != nil {
		_ = log.Close()
		return nil, assay.Infra(assay.InfraAPI, "opening the way to the model", err)
	}
	return &session{inner: inner, log: log}, nil
}

// handler is nil, untyped, where there is no session: a box then has no way
// out at all.
func (s *session) handler() http.Handler {
	if s.inner == nil {
		return nil
	}
	return s.inner
}

func (s *session) token() string {
	if s.inner == nil {
		return ""
	}
	return s.inner.Token()
}

// freeze keeps the account as it is now.
func (s *session) freeze() {
	if s.inner != nil {
		calls := s.inner.Calls()
		s.snap = &calls
	}
}

func (s *session) close() {
	s.once.Do(func() {
		if s.inner != nil {
			_ = s.inner.Close()
			_ = s.log.Close()
		}
	})
}

// calls is the account: sums from the end, the state of the API from the
// moment of the stop.
func (s *session) calls() assay.ModelCalls {
	if s.inner == nil {
		return assay.ModelCalls{}
	}
	calls := s.inner.Calls()
	if s.snap != nil {
		calls.Last, calls.Errors = s.snap.Last, s.snap.Errors
	}
	return calls
}

// lockedFile serialises the lines of calls that end at the same time.
type lockedFile struct {
	mu     sync.Mutex
	w      io.WriteCloser
	closed bool
}

func (f *lockedFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return len(p), nil
	}
	return f.w.Write(p)
}

func (f *lockedFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.w.Close()
}

// repoCache keeps the agents' repositories of the trees in use; trials of the
// same task share one.
type repoCache struct {
	mu   sync.Mutex
	made map[string]*repoEntry
}

type repoEntry struct {
	once sync.Once
	tree tree.Tree
	err  error
}

// maxRepos bounds the cache; trials come in the order of tasks.
const maxRepos = 8

func (c *repoCache) get(ctx context.Context, t tree.Tree, make func(context.Context, tree.Tree) (tree.Tree, error)) (tree.Tree, error) {
	key := t.Digest()
	e := c.entry(key)
	e.once.Do(func() { e.tree, e.err = make(ctx, t) })
	if e.err != nil { // of another attempt's context, perhaps: not kept
		c.drop(key, e)
		return make(ctx, t)
	}
	return e.tree, nil
}

func (c *repoCache) entry(key string) *repoEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.made[key]; ok {
		return e
	}
	if c.made == nil || len(c.made) >= maxRepos {
		c.made = map[string]*repoEntry{}
	}
	e := &repoEntry{}
	c.made[key] = e
	return e
}

func (c *repoCache) drop(key string, e *repoEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made[key] == e {
		delete(c.made, key)
	}
}
