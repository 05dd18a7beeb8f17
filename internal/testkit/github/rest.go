package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// object is a JSON object of the wire.
type object = map[string]any

// call is one request that passed the doors.
type call struct {
	*Server
	token Token
	body  []byte
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// place is a REST request in its repository.
type place struct {
	*call
	*Repo
	r *http.Request
	w http.ResponseWriter
}

// routes are the REST operations that are served.
func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	in := func(pattern, scope string, f func(p place)) {
		method, path := splitPattern(pattern)
		m.HandleFunc(method+" /repos/{owner}/{repo}"+path, func(w http.ResponseWriter, r *http.Request) {
			c := r.Context().Value(callKey{}).(*call)
			repo := c.repo(r.PathValue("owner") + "/" + r.PathValue("repo"))
			if repo == nil {
				notFound(w)
				return
			}
			if !c.allowed(w, method, scope) {
				return
			}
			f(place{call: c, Repo: repo, r: r, w: w})
		})
	}
	s.readRoutes(in)
	s.writeRoutes(in)
	m.HandleFunc("GET /meta", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusOK, object{"verifiable_password_authentication": false})
	})
	m.HandleFunc("GET /rate_limit", s.rateLimit)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	return m
}

type register func(pattern, scope string, f func(p place))

func (s *Server) readRoutes(in register) {
	in("GET ", "metadata", place.getRepo)
	in("GET /pulls", "pull_requests", place.listPulls)
	in("GET /pulls/{number}", "pull_requests", place.getPull)
	in("GET /issues", "issues", place.listIssues)
	in("GET /issues/{number}", "issues", place.getIssue)
	in("GET /issues/{number}/comments", "issues", place.listComments)
	in("GET /issues/{number}/labels", "issues", place.listIssueLabels)
	in("GET /issue-comments/{id}", "issues", place.getComment)
	in("GET /labels", "issues", place.listLabels)
	in("GET /commits/{ref}/check-runs", "checks", place.listChecks)
	in("GET /check-runs/{id}", "checks", place.getCheck)
	in("GET /check-runs/{id}/annotations", "checks", place.listAnnotations)
	in("GET /collaborators/{user}/permission", "metadata", place.permission)
	in("GET /git/ref/heads/{branch...}", "contents", place.getRef)
	in("GET /branches/{branch}", "contents", place.getBranch)
	in("GET /contents/{path...}", "contents", place.getContents)
}

func (s *Server) writeRoutes(in register) {
	in("POST /issues/{number}/comments", "issues", place.createComment)
	in("PATCH /issue-comments/{id}", "issues", place.updateComment)
	in("DELETE /issue-comments/{id}", "issues", place.deleteComment)
	in("POST /issues/{number}/labels", "issues", place.addLabels)
	in("DELETE /issues/{number}/labels/{label}", "issues", place.removeLabel)
	in("POST /pulls", "pull_requests", place.createPull)
	in("PATCH /pulls/{number}", "pull_requests", place.updatePull)
	in("POST /labels", "issues", place.createLabel)
	in("POST /check-runs", "checks", place.createCheck)
	in("PATCH /check-runs/{id}", "checks", place.updateCheck)
}

func splitPattern(p string) (method, path string) {
	for i := range p {
		if p[i] == ' ' {
			return p[:i], p[i+1:]
		}
	}
	return "", p
}

// allowed holds the token's permissions against what an operation needs, in
// the words of GitHub's refusal.
func (c *call) allowed(w http.ResponseWriter, method, scope string) bool {
	need := "read"
	if method != http.MethodGet {
		need = "write"
	}
	if c.token.Scopes == nil || scope == "metadata" || c.token.Scopes[scope] == "write" || c.token.Scopes[scope] == need {
		return true
	}
	accepted := scope + "=" + need
	if scope == "issues" {
		accepted += "; pull_requests=" + need
		if v := c.token.Scopes["pull_requests"]; v == need || v == "write" {
			return true
		}
	}
	w.Header().Set("X-Accepted-GitHub-Permissions", accepted)
	problem(w, http.StatusForbidden, "Resource not accessible by integration", "https://docs.github.com/rest")
	return false
}

func (s *Server) rateLimit(w http.ResponseWriter, _ *http.Request) {
	limit := s.limit()
	one := func(name string) object {
		used := min(limit, s.used[name])
		return object{"limit": limit, "used": used, "remaining": limit - used, "reset": s.reset.Unix(), "resource": name}
	}
	write(w, http.StatusOK, object{
		"resources": object{"core": one("core"), "search": one("search"), "graphql": one("graphql")},
		"rate":      one("core"),
	})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fake GitHub: %v", err))
	}
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

func problem(w http.ResponseWriter, status int, message, docs string) {
	write(w, status, object{"message": message, "documentation_url": docs, "status": strconv.Itoa(status)})
}

func notFound(w http.ResponseWriter) {
	problem(w, http.StatusNotFound, "Not Found", "https://docs.github.com/rest")
}

// invalid is a 422 with what is wrong in which field.
func invalid(w http.ResponseWriter, resource, field, message string) {
	write(w, http.StatusUnprocessableEntity, object{
		"message":           "Validation Failed",
		"documentation_url": "https://docs.github.com/rest",
		"status":            "422",
		"errors":            []object{{"resource": resource, "field": field, "code": "custom", "message": message}},
	})
}

// decode reads the request's body; false means that the refusal is written.
func (p place) decode(into any) bool {
	if err := json.Unmarshal(p.body, into); err != nil {
		problem(p.w, http.StatusBadRequest, "Problems parsing JSON", "https://docs.github.com/rest")
		return false
	}
	return true
}

func (p place) number(name string) int64 {
	n, err := strconv.ParseInt(p.r.PathValue(name), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// page cuts one page out of a list and sets the Link header.
func page[T any](p place, all []T) []T {
	q := p.r.URL.Query()
	size, at := atoi(q.Get("per_page"), 30), atoi(q.Get("page"), 1)
	size = min(max(size, 1), 100)
	from := min((at-1)*size, len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		last := (len(all) + size - 1) / size
		p.w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next", <%s>; rel="last"`, p.pageURL(q, at+1), p.pageURL(q, last)))
	}
	return all[from:to]
}

func (p place) pageURL(q url.Values, n int) string {
	q.Set("page", strconv.Itoa(n))
	return p.URL + p.r.URL.Path + "?" + q.Encode()
}

func atoi(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return otherwise
	}
	return n
}

// each turns every value into its form of the wire; the list is never null.
func each[T any](all []T, f func(T) object) []object {
	out := make([]object, 0, len(all))
	for _, v := range all {
		out = append(out, f(v))
	}
	return out
}
