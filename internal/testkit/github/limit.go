package github

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// resource is the rate limit that a request counts against.
func resource(r *http.Request) string {
	switch {
	case r.URL.Path == "/graphql":
		return "graphql"
	case strings.HasPrefix(r.URL.Path, "/search/"):
		return "search"
	}
	return "core"
}

// charge counts a request and sets the headers that tell; false means that
// the limit is used up and the reply is written.
func (s *Server) charge(w http.ResponseWriter, r *http.Request) bool {
	now, name := s.Now(), resource(r)
	if !now.Before(s.reset) {
		s.reset, s.used = now.Add(time.Hour).Truncate(time.Second), map[string]int{}
	}
	limit := s.limit()
	if r.URL.Path != "/rate_limit" {
		s.used[name]++
	}
	h := w.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Used", strconv.Itoa(min(limit, s.used[name])))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, limit-s.used[name])))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(s.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", name)
	if s.used[name] <= limit {
		return true
	}
	problem(w, http.StatusForbidden, "API rate limit exceeded for user ID 1.", "https://docs.github.com/rest/overview/resources-in-the-rest-api#rate-limiting")
	return false
}

// conditional copies a reply with its ETag, or says 304, which is free of
// charge. The tag differs by token, as GitHub's does.
func (s *Server) conditional(w http.ResponseWriter, r *http.Request, reply *httptest.ResponseRecorder) {
	for k, v := range reply.Header() {
		w.Header()[k] = v
	}
	if r.Method == http.MethodGet && reply.Code == http.StatusOK {
		tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256([]byte(r.Header.Get("Authorization")+reply.Body.String())))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			s.refund(w, resource(r))
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(reply.Code)
	_, _ = w.Write(reply.Body.Bytes())
}

// refund takes back what a request was charged.
func (s *Server) refund(w http.ResponseWriter, name string) {
	s.used[name]--
	limit := s.limit()
	w.Header().Set("X-RateLimit-Used", strconv.Itoa(s.used[name]))
	w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(max(0, limit-s.used[name])))
}

func (s *Server) limit() int {
	if s.Limit == 0 {
		return 5000
	}
	return s.Limit
}
