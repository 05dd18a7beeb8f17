package gateway

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// maxRequest bounds a request's body; the APIs themselves take less.
const maxRequest = 64 << 20

// statusBudget answers calls of a session that has used up its budget, or whose
// model never answers. It is one that programs don't repeat.
const statusBudget = http.StatusForbidden

// session is one attempt's way to its model.
type session struct {
	up     *upstream
	spec   run.SessionSpec
	token  string
	config Config
	prices pricing

	mu     sync.Mutex
	calls  assay.ModelCalls
	active map[*call]bool
	closed bool
	logErr error
	wait   sync.WaitGroup
}

var _ run.Session = (*session)(nil)

// call is one request under way.
type call struct {
	ctx    context.Context // lives exactly as long as the request
	cancel context.CancelCauseFunc
	client context.Context // the request's own
	start  time.Time
	kind   route
	booked bool
	sent   int64 // bytes of the request
	line   logLine
}

// Causes that end a call early.
var (
	errFirstByte = errors.New("the model API did not answer in time")
	errIdle      = errors.New("the model API fell silent within an answer")
	errClosed    = errors.New("the session is over")
)

// Token is what the agent presents as its key.
func (s *session) Token() string { return s.token }

// Calls is the account so far.
func (s *session) Calls() assay.ModelCalls {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.calls
	out.Errors = append([]assay.APIError(nil), s.calls.Errors...)
	return out
}

// Close ends calls under way, waits for them, and tells whether the log could
// be written. Later requests are refused.
func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	for c := range s.active {
		c.cancel(errClosed)
	}
	s.mu.Unlock()
	s.wait.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logErr != nil {
		return fmt.Errorf("writing the gateway's log: %w", s.logErr)
	}
	return nil
}

// ServeHTTP answers one request of the agent's.
func (s *session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.known(r) {
		s.refuse(w, http.StatusUnauthorized, "assay's gateway wants the token of this trial as the key")
		return
	}
	kind := s.up.route(r)
	if kind == routeRefuse {
		s.refuse(w, http.StatusNotFound, "assay's gateway passes on model calls only, not "+r.Method+" "+r.URL.Path)
		return
	}
	c := s.begin(r)
	if c == nil {
		s.refuse(w, http.StatusServiceUnavailable, "the trial is over")
		return
	}
	defer s.end(c)
	c.kind = kind
	body, ok := s.body(w, r)
	if !ok {
		return
	}
	c.line.Model, c.sent = s.up.asked(r, body), int64(len(body))
	if kind == routeCall && s.overBudget(c) {
		s.refuse(w, statusBudget, fmt.Sprintf("assay: the trial's budget of %.2f USD is reached", s.spec.MaxCostUSD))
		return
	}
	if kind == routeCall {
		if why := s.hopeless(c); why != "" {
			s.refuse(w, statusBudget, why)
			return
		}
	}
	s.exchange(c, w, r, body)
}

func (s *session) known(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(s.up.token(r.Header)), []byte(s.token)) == 1
}

func (s *session) refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(s.up.failure(status, text)) // the client may be gone
}

func (s *session) begin(r *http.Request) *call {
	ctx, cancel := context.WithCancelCause(r.Context())
	now := s.config.Now()
	c := &call{ctx: ctx, cancel: cancel, client: r.Context(), start: now}
	c.line = logLine{Time: now.UTC(), Method: r.Method, Path: r.URL.Path}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		cancel(errClosed)
		return nil
	}
	s.active[c] = true
	s.wait.Add(1)
	return c
}

func (s *session) end(c *call) {
	c.cancel(nil)
	s.mu.Lock()
	delete(s.active, c)
	s.mu.Unlock()
	s.wait.Done()
}

func (s *session) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		s.refuse(w, http.StatusRequestEntityTooLarge, "the request is too large")
	case err != nil:
		s.refuse(w, http.StatusBadRequest, "the request broke off")
	}
	return body, err == nil
}

// overBudget tells whether the session may make no further call, and notes
// that one was refused.
func (s *session) overBudget(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spec.MaxCostUSD <= 0 || s.calls.CostUSD < s.spec.MaxCostUSD {
		return false
	}
	s.calls.Budget = true
	c.line.Status, c.line.Error = statusBudget, "budget"
	s.log(c)
	return true
}
