package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options of a transport. Only Host and Token must be set.
type Options struct {
	Host Host
	// Token is asked before every request, so that it can be a fresh one.
	// It may return "" for no token.
	Token func(ctx context.Context) (string, error)
	// Base does the requests; nil is a transport with the proxy of the
	// environment.
	Base      http.RoundTripper
	UserAgent string
	// MaxWait is the most that one call may wait for limits; 0 is 15 minutes.
	MaxWait time.Duration
	// WriteGap is the time between two writes; 0 is a second, less is none.
	WriteGap time.Duration
	// Notify is told of every wait before it begins; it may be nil.
	Notify func(why string, d time.Duration)

	Now    func() time.Time                                 // nil: time.Now
	Sleep  func(ctx context.Context, d time.Duration) error // nil: a timer
	Chance func() float64                                   // in [0,1); nil: random
}

// Transport is an http.RoundTripper that obeys GitHub's limits. It is safe
// for concurrent use.
type Transport struct {
	o Options

	mu     sync.Mutex
	until  map[string]time.Time // by resource: no request before
	writes time.Time            // when the next write may go out
	cache  cache
}

// How often a read is tried again, how far a write follows redirects, and the
// most bytes of a reply.
const (
	maxRetries = 3
	maxHops    = 3
	maxReply   = 64 << 20
)

// apiVersion is the REST version that the requests are written for.
const apiVersion = "2022-11-28"

// NewTransport fills in what the options leave out.
func NewTransport(o Options) *Transport {
	if o.Base == nil {
		o.Base = http.DefaultTransport.(*http.Transport).Clone()
	}
	if o.Token == nil {
		o.Token = func(context.Context) (string, error) { return "", nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Chance == nil {
		o.Chance = rand.Float64
	}
	if o.MaxWait == 0 {
		o.MaxWait = 15 * time.Minute
	}
	if o.WriteGap == 0 {
		o.WriteGap = time.Second
	}
	if o.UserAgent == "" {
		o.UserAgent = "assay"
	}
	return &Transport{o: o, until: map[string]time.Time{}}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Client is an http.Client on the transport.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		// Writes are followed by the transport; this is the last guard.
		if req.Method != via[0].Method {
			return &MovedError{Method: via[0].Method, Path: via[0].URL.Path, Status: req.Response.StatusCode, To: req.URL.String()}
		}
		if len(via) >= 10 {
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}}
}

// attempt is one call on its way, over all its tries.
type attempt struct {
	req     *http.Request
	body    []byte
	write   bool
	own5xx  bool // the caller handles an overloaded server
	retries int
	hops    int
	budget  *budget
}

// budget is what a call has waited.
type budget struct {
	waited time.Duration
	limits int
}

// traits tell the transport what it can't see in a request.
type traits struct {
	read   bool
	own5xx bool
	budget *budget
}

type traitsKey struct{}

// RoundTrip does one call: waits for limits, repeats what is safe.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	a := &attempt{req: req, budget: &budget{}, write: req.Method != http.MethodGet && req.Method != http.MethodHead}
	if tr, ok := ctx.Value(traitsKey{}).(traits); ok {
		a.write, a.own5xx, a.budget = !tr.read, tr.own5xx, tr.budget
	}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("reading the body of %s %s: %w", req.Method, req.URL.Path, err)
		}
		a.body = body
	}
	for {
		if err := t.ready(ctx, a); err != nil {
			return nil, err
		}
		resp, err := t.once(ctx, a)
		again, err := t.judge(ctx, a, resp, err)
		if err != nil || !again {
			if err != nil {
				discard(resp)
				resp = nil
			}
			return resp, err
		}
		discard(resp)
	}
}

func discard(resp *http.Response) {
	if resp != nil {
		_, _ = io.CopyN(io.Discard, resp.Body, 1<<20)
		_ = resp.Body.Close()
	}
}

// once sends the request, with the token for the host itself only.
func (t *Transport) once(ctx context.Context, a *attempt) (*http.Response, error) {
	r := a.req.Clone(ctx)
	if a.req.Body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
	}
	h := r.Header
	h.Del("Authorization")
	if t.o.Host.owns(r.URL) {
		token, err := t.o.Token(ctx)
		if err != nil {
			return nil, fmt.Errorf("getting a token for GitHub: %w", err)
		}
		if token != "" {
			h.Set("Authorization", "Bearer "+token)
		}
	}
	h.Set("User-Agent", t.o.UserAgent)
	h.Set("X-GitHub-Api-Version", apiVersion)
	if h.Get("Accept") == "" {
		h.Set("Accept", "application/vnd.github+json")
	}
	key, known := t.cache.ask(r)
	resp, err := t.o.Base.RoundTrip(r)
	if err != nil {
		return nil, &sendError{err}
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxReply)
	if err := t.cache.answer(key, known, resp); err != nil {
		return nil, &sendError{err}
	}
	return resp, nil
}

// sendError is a failure of the network, not of what came before.
type sendError struct{ error }

func (e *sendError) Unwrap() error { return e.error }

// judge looks at what a try brought: again is true when it is to be made once
// more, after what had to be waited has been.
func (t *Transport) judge(ctx context.Context, a *attempt, resp *http.Response, err error) (again bool, _ error) {
	if err != nil {
		return t.broken(ctx, a, err)
	}
	t.note(a, resp)
	switch s := resp.StatusCode; {
	case s == http.StatusForbidden || s == http.StatusTooManyRequests || s == http.StatusUnprocessableEntity:
		return t.limited(ctx, a, resp)
	case s >= 500 && a.write:
		return false, &UncertainError{Method: a.req.Method, Path: a.req.URL.Path, Status: s}
	case s == http.StatusBadGateway || s == http.StatusServiceUnavailable || s == http.StatusGatewayTimeout:
		if a.own5xx || a.retries >= maxRetries {
			return false, nil
		}
		after, _ := retryAfter(resp.Header, t.o.Now())
		return true, t.retry(ctx, a, fmt.Sprintf("GitHub answered %d", s), after)
	case s >= 300 && s < 400 && s != http.StatusNotModified && a.req.Method != http.MethodGet && a.req.Method != http.MethodHead:
		return t.follow(ctx, a, resp)
	}
	return false, nil
}

// broken is a call without a reply. What never left this machine can be sent
// again, a read too.
func (t *Transport) broken(ctx context.Context, a *attempt, err error) (bool, error) {
	var sent *sendError
	if !errors.As(err, &sent) {
		return false, err
	}
	if ctx.Err() != nil && !a.write {
		return false, fmt.Errorf("%s %s: %w", a.req.Method, a.req.URL.Path, context.Cause(ctx))
	}
	var op *net.OpError
	unsent := errors.As(err, &op) && op.Op == "dial"
	switch {
	case a.write && !unsent:
		return false, &UncertainError{Method: a.req.Method, Path: a.req.URL.Path, Err: sent.error}
	case a.retries >= maxRetries || ctx.Err() != nil:
		return false, fmt.Errorf("%s %s: %w", a.req.Method, a.req.URL.Path, sent.error)
	}
	return true, t.retry(ctx, a, "no reply from GitHub", 0)
}

// retry waits a second that doubles, or what the server asked for.
func (t *Transport) retry(ctx context.Context, a *attempt, why string, after time.Duration) error {
	d := max(after, time.Second<<a.retries)
	a.retries++
	return t.wait(ctx, a.budget, why, limit{wait: d})
}

// follow sends a write to where it was redirected, as the same write.
func (t *Transport) follow(ctx context.Context, a *attempt, resp *http.Response) (bool, error) {
	to, err := resp.Location()
	same := err == nil && t.o.Host.owns(to)
	if !same || resp.StatusCode == http.StatusSeeOther || a.hops >= maxHops {
		return false, &MovedError{Method: a.req.Method, Path: a.req.URL.Path, Status: resp.StatusCode, To: resp.Header.Get("Location")}
	}
	a.hops++
	a.req = a.req.Clone(ctx)
	a.req.URL, a.req.Host = to, to.Host
	return true, nil
}

// resource is the rate limit that a request counts against, as far as its
// path tells.
func resource(path string) string {
	switch {
	case strings.HasSuffix(path, "/graphql"):
		return "graphql"
	case strings.Contains(path, "/search/"):
		return "search"
	}
	return "core"
}
