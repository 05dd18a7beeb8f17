package run

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
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
	// way is the box's way out, nil for none.
	way Way
	// lead: programs are led to it by variables.
	lead bool
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

// openWay wraps the way to the model in that to what the task allows, and to
// the notes of what it doesn't. A box that isn't isolated has the machine's
// network anyway, and gets none.
func (a *attempt) openWay(s *session, l Launch) {
	if a.r.Outlet == nil || l.NoProgram || a.r.Sandbox.Name() == "local" {
		return
	}
	var allow []string
	if n := a.job.Task.Environment.Network; n != nil {
		allow = n.Allow
	}
	s.way = a.r.Outlet.Open(allow, s.model())
	// A program that speaks to a model may send even those calls, and its own
	// telemetry, by way of a proxy; it is led to one only where a task needs it.
	s.lead = len(allow) > 0 || s.inner == nil
}

// handler is nil, untyped, where there is neither model nor way: a box then
// has no way out at all.
func (s *session) handler() http.Handler {
	if s.way != nil {
		return s.way
	}
	return s.model()
}

func (s *session) model() http.Handler {
	if s.inner == nil {
		return nil
	}
	return s.inner
}

// modelURL is the box's address of the model, "" where there is none.
func (s *session) modelURL(box Box) string {
	if s.way != nil {
		s.way.Self(strings.TrimPrefix(box.ModelURL(), "http://"))
	}
	if s.inner == nil {
		return ""
	}
	return box.ModelURL()
}

// proxies are the variables that lead programs to the way out.
func (s *session) proxies(box Box) map[string]string {
	out := map[string]string{}
	if s.way == nil || !s.lead {
		return out
	}
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
		out[name] = box.ModelURL()
	}
	for _, name := range []string{"no_proxy", "NO_PROXY"} {
		out[name] = "127.0.0.1,localhost,::1"
	}
	return out
}

// refused are the destinations that the box asked for in vain so far.
func (s *session) refused() []assay.Refusal {
	if s.way == nil {
		return nil
	}
	return s.way.Refused()
}

// refusals is a list of them in words, "" for none.
func refusals(list []assay.Refusal) string {
	lines := make([]string, 0, len(list))
	for _, r := range list {
		lines = append(lines, fmt.Sprintf("refused: %s after %.1f s, %d times: %s", r.Destination, r.Seconds, r.Count, r.Why))
	}
	return strings.Join(lines, "\n")
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
		if s.way != nil {
			s.way.Close()
		}
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
