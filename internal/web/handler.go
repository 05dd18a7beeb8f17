package web

import (
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

//go:embed templates/*.html static/*
var files embed.FS

// formLimit bounds the body of a POST, in bytes.
const formLimit = 64 << 10

// server is the page over one desk.
type server struct {
	desk  *flow.Desk
	guard guard
	pages *template.Template
	log   func(format string, args ...any)
}

// Handler is the page over a desk, for whoever knows the token.
func Handler(desk *flow.Desk, token string) http.Handler { return newServer(desk, token, nil) }

func newServer(desk *flow.Desk, token string, log func(string, ...any)) http.Handler {
	if log == nil {
		log = func(string, ...any) {}
	}
	s := &server{desk: desk, guard: newGuard(token), log: log}
	s.pages = template.Must(template.New("").Funcs(functions()).ParseFS(files, "templates/*.html"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.start)
	mux.HandleFunc("GET /candidate", s.private(s.candidate))
	mux.HandleFunc("GET /after", s.private(s.after))
	mux.HandleFunc("GET /done", s.private(s.done))
	mux.HandleFunc("GET /list", s.private(s.list))
	mux.HandleFunc("POST /decide", s.private(s.posted(s.decide)))
	mux.HandleFunc("POST /undo", s.private(s.posted(s.undo)))
	mux.Handle("GET /static/", http.FileServerFS(files))
	return harden(mux)
}

// private wants the cookie.
func (s *server) private(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.guard.known(r) {
			s.fail(w, r, http.StatusForbidden, errStranger)
			return
		}
		next(w, r)
	}
}

var (
	errStranger = errors.New("this browser wasn't let in: open the address that 'assay review' printed, with its token; each start has a new one")
	errForeign  = errors.New("this form didn't come from this page; load the page again and repeat the decision")
)

// posted wants a form of this server's own pages.
func (s *server) posted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, formLimit)
		if err := r.ParseForm(); err != nil {
			s.fail(w, r, http.StatusBadRequest, err)
			return
		}
		if !sameOrigin(r) || !equal(r.PostForm.Get("form"), s.guard.form) {
			s.fail(w, r, http.StatusForbidden, errForeign)
			return
		}
		next(w, r)
	}
}

// start lets a browser with the token in and shows the first candidate. The
// step between is a page and no redirect: where the link was followed from
// another site, a redirect would not carry the strict cookie.
func (s *server) start(w http.ResponseWriter, r *http.Request) {
	if token := r.URL.Query().Get("token"); token != "" {
		if !equal(token, s.guard.token) {
			s.fail(w, r, http.StatusForbidden, errStranger)
			return
		}
		s.guard.letIn(w)
		s.render(w, http.StatusOK, "enter.html", nil)
		return
	}
	s.private(s.after)(w, r)
}

// after goes on to the candidate after the one that the address names.
func (s *server) after(w http.ResponseWriter, r *http.Request) {
	step := 1
	if r.URL.Query().Get("to") == "previous" {
		step = -1
	}
	f := filterOf(r.URL.Query())
	http.Redirect(w, r, s.following(r.URL.Query().Get("id"), f, step), http.StatusSeeOther)
}

// following is the address of the next page.
func (s *server) following(id string, f flow.Filter, step int) string {
	next, ok := s.desk.Next(id, f, step)
	if !ok {
		return address("/done", f, nil)
	}
	return address("/candidate", f, url.Values{"id": {next}})
}

func (s *server) candidate(w http.ResponseWriter, r *http.Request) {
	f := filterOf(r.URL.Query())
	e, err := s.desk.Get(r.URL.Query().Get("id"))
	if err != nil {
		s.fail(w, r, statusOf(err), err)
		return
	}
	diff, err := s.desk.Diff(r.Context(), e.Candidate)
	p := s.page(f, e.Candidate.Title)
	p.Entry, p.Said = &e, r.URL.Query().Get("said")
	p.Diff = viewDiff(diff, err, e.Candidate.Files)
	s.render(w, http.StatusOK, "candidate.html", p)
}

func (s *server) done(w http.ResponseWriter, r *http.Request) {
	p := s.page(filterOf(r.URL.Query()), "Done")
	p.Said = r.URL.Query().Get("said")
	s.render(w, http.StatusOK, "done.html", p)
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	s.render(w, http.StatusOK, "list.html", s.page(filterOf(r.URL.Query()), "Candidates"))
}

func (s *server) decide(w http.ResponseWriter, r *http.Request) {
	v := flow.Verdict{
		Candidate: r.PostForm.Get("id"), Decision: assay.Decision(r.PostForm.Get("decision")),
		Reason: r.PostForm.Get("reason"), Note: r.PostForm.Get("note"), Digest: r.PostForm.Get("digest"),
	}
	if v.Decision == "" && v.Reason != "" { // a button sends its own name only
		v.Decision = assay.Reject
	}
	if err := s.desk.Decide(v); err != nil {
		s.log("review: %v", err)
		s.fail(w, r, statusOf(err), err)
		return
	}
	f := filterOf(r.PostForm)
	s.answer(w, r, s.following(v.Candidate, f, 1), string(v.Decision))
}

func (s *server) undo(w http.ResponseWriter, r *http.Request) {
	last, err := s.desk.Undo()
	if err != nil {
		s.fail(w, r, statusOf(err), err)
		return
	}
	f := filterOf(r.PostForm)
	s.answer(w, r, address("/candidate", f, url.Values{"id": {last.Candidate}}), "undo")
}

// reply is what the script gets for a decision that is on disk.
type reply struct {
	Next     string `json:"next"`
	Said     string `json:"said"`
	Decided  int    `json:"decided"`
	Total    int    `json:"total"`
	Accepted int    `json:"accepted"`
	Rejected int    `json:"rejected"`
	Skipped  int    `json:"skipped"`
}

// answer goes on to next, or tells the script to.
func (s *server) answer(w http.ResponseWriter, r *http.Request, next, said string) {
	if !wantsJSON(r) {
		u, err := url.Parse(next)
		if err != nil {
			s.fail(w, r, http.StatusInternalServerError, err)
			return
		}
		q := u.Query()
		q.Set("said", said)
		u.RawQuery = q.Encode()
		http.Redirect(w, r, u.String(), http.StatusSeeOther)
		return
	}
	p := s.desk.List(filterOf(r.PostForm)).Progress
	s.json(w, http.StatusOK, reply{Next: next, Said: saying(said), Decided: p.Decided(), Total: p.Total,
		Accepted: p.Accepted, Rejected: p.Rejected, Skipped: p.Skipped})
}

func wantsJSON(r *http.Request) bool { return r.Header.Get("Accept") == "application/json" }

func (s *server) json(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log("review: answering: %v", err)
	}
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, flow.ErrUnknown):
		return http.StatusNotFound
	case errors.Is(err, flow.ErrConflict), errors.Is(err, flow.ErrNothing):
		return http.StatusConflict
	case assay.IsUser(err):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// fail tells what went wrong, on a page or to the script.
func (s *server) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	if wantsJSON(r) {
		s.json(w, status, map[string]string{"error": err.Error()})
		return
	}
	s.render(w, status, "error.html", failure{Status: http.StatusText(status), Text: err.Error(), Stranger: errors.Is(err, errStranger)})
}
