package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// AloneSpec says who may call a gateway that stands alone. MaxCostUSD bounds
// each client at each model API, 0 for no bound; Log receives one JSON line
// per call, nil for none.
type AloneSpec struct {
	Clients    []string
	MaxCostUSD float64
	Log        io.Writer
}

// Alone serves several clients at one address; the token that a request
// brings tells whose it is.
type Alone struct{ clients []client }

// client is one client's way to one model API.
type client struct {
	name string
	*session
}

// Spent is what a client spent at a model API.
type Spent struct {
	Client, Provider, Token string
	Calls                   assay.ModelCalls
}

// Alone opens a session per client and model API with an upstream.
func (g *Gateway) Alone(spec AloneSpec) (*Alone, error) {
	var faults assay.Problems
	if len(g.routes) == 0 {
		faults.Addf("", 0, "there is no upstream: set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY) or give --upstream API=URL; APIs are %s", strings.Join(Providers(), ", "))
	}
	for i, name := range spec.Clients {
		if name == "" || slices.Contains(spec.Clients[:i], name) {
			faults.Addf("", 0, "the client %q is named twice or not at all", name)
		}
	}
	if spec.MaxCostUSD < 0 {
		faults.Addf("", 0, "the budget is below zero")
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	a, lock := &Alone{}, &sync.Mutex{}
	for _, name := range spec.Clients {
		for _, provider := range sortedKeys(g.routes) {
			one := run.SessionSpec{Provider: provider, MaxCostUSD: spec.MaxCostUSD}
			if spec.Log != nil {
				one.Log = &signed{w: spec.Log, lock: lock, client: fmt.Sprintf(`{"client":%q,"api":%q,`, name, provider)}
			}
			s, err := g.open(one)
			if err != nil {
				return nil, err
			}
			a.clients = append(a.clients, client{name: name, session: s})
		}
	}
	return a, nil
}

// ServeHTTP answers a call of any client; one without a token of ours is
// refused by the first session, in its API's form.
func (a *Alone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := slices.IndexFunc(a.clients, func(c client) bool { return c.known(r) })
	a.clients[max(at, 0)].ServeHTTP(w, r)
}

// Spent is the account so far, in the order of clients and APIs.
func (a *Alone) Spent() []Spent {
	out := make([]Spent, 0, len(a.clients))
	for _, c := range a.clients {
		out = append(out, Spent{Client: c.name, Provider: c.spec.Provider, Token: c.token, Calls: c.Calls()})
	}
	return out
}

// Close ends calls under way and tells whether the log could be written.
func (a *Alone) Close() error {
	errs := make([]error, 0, len(a.clients))
	for _, c := range a.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// signed puts the client's name at the head of each line of a shared log.
type signed struct {
	w      io.Writer
	lock   *sync.Mutex
	client string
}

func (s *signed) Write(p []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if _, err := s.w.Write(append([]byte(s.client), p[1:]...)); err != nil {
		return 0, err
	}
	return len(p), nil
}
