package github

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// repo finds a repository by its present name; letters' case doesn't matter.
func (s *Server) repo(full string) *Repo {
	for _, r := range s.repos {
		if strings.EqualFold(r.FullName(), full) {
			return r
		}
	}
	return nil
}

// former finds a repository by a name that it once had.
func (s *Server) former(full string) *Repo {
	for _, r := range s.repos {
		if slices.ContainsFunc(r.Old, func(o string) bool { return strings.EqualFold(o, full) }) {
			return r
		}
	}
	return nil
}

// moved is where a path of a former name now is; "" when it didn't move.
func (s *Server) moved(u *url.URL) string {
	parts := strings.SplitN(strings.TrimPrefix(u.Path, "/"), "/", 4)
	if len(parts) < 3 || parts[0] != "repos" || s.repo(parts[1]+"/"+parts[2]) != nil {
		return ""
	}
	r := s.former(parts[1] + "/" + parts[2])
	if r == nil {
		return ""
	}
	to := fmt.Sprintf("%s/repositories/%d", s.URL, r.ID)
	if len(parts) == 4 {
		to += "/" + parts[3]
	}
	if u.RawQuery != "" {
		to += "?" + u.RawQuery
	}
	return to
}

func (s *Server) redirect(w http.ResponseWriter, r *http.Request, to string) {
	status, message := http.StatusMovedPermanently, "Moved Permanently"
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		status = s.WriteRedirect
		if status == http.StatusTemporaryRedirect {
			message = "Temporary Redirect"
		}
	}
	w.Header().Set("Location", to)
	write(w, status, object{"message": message, "url": to, "documentation_url": "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"})
}

// byID turns /repositories/{id}/... into /repos/{owner}/{repo}/...
func (s *Server) byID(r *http.Request) *http.Request {
	rest, ok := strings.CutPrefix(r.URL.Path, "/repositories/")
	if !ok {
		return r
	}
	id, tail, _ := strings.Cut(rest, "/")
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return r
	}
	for _, repo := range s.repos {
		if repo.ID != n {
			continue
		}
		out := r.Clone(r.Context())
		out.URL.Path, out.URL.RawPath = "/repos/"+repo.FullName(), ""
		if tail != "" {
			out.URL.Path += "/" + tail
		}
		return out
	}
	return r
}
