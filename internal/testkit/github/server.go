package github

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Cleaner is the part of a test that New needs: testing.TB has it.
type Cleaner interface{ Cleanup(func()) }

// Token is what an accepted token may do. Login is who it acts as; an App's
// ends with "[bot]". Scopes are permissions by name, as "checks": "write"; nil
// allows everything.
type Token struct {
	Login  string
	Scopes map[string]string
}

// The two shapes of an App's installation token: forty characters, and the
// long one that holds a JWT. Both are accepted by a new server, as is a
// person's.
const (
	//nolint:gosec // made up
	ShortToken = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"
	//nolint:gosec // made up
	LongToken = "ghs_123456_eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiIxMjM0NTYiLCJleHAiOjE3NzcwMDAwMDB9.c2lnbmF0dXJlLW9mLWEtdGVzdC1vbmx5LW5vdGhpbmctdG8tc2VlLWhlcmUtMDEyMzQ1Njc4OQ"
	//nolint:gosec // made up
	PersonToken = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
)

// AppLogin and AppID are of the App that the two installation tokens act for.
const (
	AppLogin = "assay-test[bot]"
	AppID    = 123456
)

// Server is a GitHub. Set its fields before the first request.
type Server struct {
	// URL is the root, without a slash at its end. REST is at URL and at
	// URL/api/v3, GraphQL at URL/graphql and at URL/api/graphql.
	URL string
	// Now is the server's clock; it is what the Date header says.
	Now func() time.Time
	// Tokens are the accepted tokens.
	Tokens map[string]Token
	// WriteRedirect is the status for a write to a former name: 307 as
	// GitHub does, or 301 as some proxies do.
	WriteRedirect int
	// MaxFirst is the largest page of a GraphQL connection that is answered;
	// more is a 502. Zero is no limit but the documented 100.
	MaxFirst int
	// Limit is the primary rate limit of each resource; zero is 5,000.
	Limit int

	mu     sync.Mutex
	http   *httptest.Server
	rest   *http.ServeMux
	repos  []*Repo
	used   map[string]int // requests by resource
	reset  time.Time
	faults []*Fault
	log    []Request
	watch  []func(Exchange)
	nextID int64
}

// New starts a server. With a test it closes by itself; with nil the caller
// closes it.
func New(t Cleaner) *Server {
	app := Token{Login: AppLogin}
	s := &Server{
		Now:           time.Now,
		Tokens:        map[string]Token{ShortToken: app, LongToken: app, PersonToken: {Login: "octocat"}},
		WriteRedirect: http.StatusTemporaryRedirect,
		used:          map[string]int{},
		nextID:        1000,
	}
	s.rest = s.routes()
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	if t != nil {
		t.Cleanup(s.Close)
	}
	return s
}

// Close stops the server.
func (s *Server) Close() { s.http.Close() }

// Add makes an empty repository with the default branch main, where octocat
// is an admin.
func (s *Server) Add(full string) *Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, name := split(full)
	r := &Repo{
		mu: &s.mu, ID: int64(len(s.repos) + 1), Owner: owner, Name: name, Default: "main",
		Heads:       map[string]string{},
		Files:       map[string][]byte{},
		Permissions: map[string]string{"octocat": "admin"},
		createdAt:   time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	r.Heads["main"] = sha("base", r.ID, 0)
	s.repos = append(s.repos, r)
	return r
}

// Edit runs f while no request is served.
func (s *Server) Edit(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Rename gives a repository a new full name (another owner is a transfer);
// the old one redirects.
func (s *Server) Rename(r *Repo, full string) {
	s.Edit(func() {
		r.Old = append(r.Old, r.FullName())
		r.Owner, r.Name = split(full)
	})
}

// Fail adds a fault to the script.
func (s *Server) Fail(f Fault) {
	s.Edit(func() { s.faults = append(s.faults, &f) })
}

// Watch calls f after every exchange.
func (s *Server) Watch(f func(Exchange)) {
	s.Edit(func() { s.watch = append(s.watch, f) })
}

// Exchange is one request with its reply. Path has no Enterprise prefix.
// Fault tells that the reply came from the script, and is not GitHub's own.
type Exchange struct {
	Method, Path, Query string
	Escaped             string // the path as it was sent
	Header              http.Header
	Body                []byte
	Status              int
	Reply               http.Header
	Answer              []byte
	Fault               bool
}

// GraphQL tells whether the exchange was a GraphQL one.
func (e Exchange) GraphQL() bool { return e.Path == "/graphql" }

// ServeHTTP answers one request; one at a time, so that state needs no care.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	r.URL.Path, r.URL.RawPath = bare(r.URL.Path), bare(r.URL.RawPath)
	r.Body = io.NopCloser(bytes.NewReader(body))
	fault := s.fault(r, body)
	s.record(r, body)
	watch := s.watch
	s.mu.Unlock()
	if fault != nil {
		fault.wait(r)
	}
	s.mu.Lock()
	rec := httptest.NewRecorder()
	s.answer(rec, r, body, fault)
	s.mu.Unlock()

	e := Exchange{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Escaped: r.URL.EscapedPath(), Header: r.Header, Body: body,
		Status: rec.Code, Reply: rec.Header(), Answer: rec.Body.Bytes(), Fault: fault != nil}
	for _, f := range watch {
		f(e)
	}
	if fault != nil && fault.Drop {
		panic(http.ErrAbortHandler) // the connection breaks without a reply
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// bare takes the Enterprise prefix off.
func bare(path string) string {
	if path == "/api/graphql" {
		return "/graphql"
	}
	if rest, ok := strings.CutPrefix(path, "/api/v3"); ok && strings.HasPrefix(rest, "/") {
		return rest
	}
	return path
}

// answer writes the reply to one request. The caller holds the lock.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte, fault *Fault) {
	w.Header().Set("Date", s.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("X-GitHub-Request-Id", "0000:0000:0000:0000")
	w.Header().Set("X-GitHub-Media-Type", "github.v3; format=json")
	if fault != nil && !fault.After {
		fault.write(w)
		return
	}
	token, ok := s.token(r)
	if !ok {
		problem(w, http.StatusUnauthorized, "Bad credentials", "https://docs.github.com/rest")
		return
	}
	if !s.charge(w, r) {
		return
	}
	call := &call{Server: s, token: token, body: body}
	reply := httptest.NewRecorder()
	s.dispatch(reply, r, call)
	if fault != nil {
		fault.write(w)
		return
	}
	s.conditional(w, r, reply)
}

func (s *Server) token(r *http.Request) (Token, bool) {
	value := r.Header.Get("Authorization")
	for _, scheme := range []string{"Bearer ", "token ", "bearer "} {
		if t, ok := strings.CutPrefix(value, scheme); ok {
			found, known := s.Tokens[t]
			return found, known
		}
	}
	return Token{}, false
}

// dispatch finds who answers: GraphQL, a redirect for a former name, or REST.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, c *call) {
	ctx := withCall(r.Context(), c)
	if r.URL.Path == "/graphql" {
		c.graphql(w)
		return
	}
	if to := s.moved(r.URL); to != "" {
		s.redirect(w, r, to)
		return
	}
	r = s.byID(r).Clone(ctx)
	// ServeMux can't tell /issues/comments/{id} from /issues/{number}/comments.
	r.URL.Path = strings.Replace(r.URL.Path, "/issues/comments/", "/issue-comments/", 1)
	s.rest.ServeHTTP(w, r)
}
