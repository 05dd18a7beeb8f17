package github

import (
	"encoding/json"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// Fault makes matching requests go wrong. Empty fields match everything.
type Fault struct {
	Method string
	// Path is a pattern of path.Match over the path without the Enterprise
	// prefix; for GraphQL "/graphql".
	Path string
	// Operation is the name of a GraphQL operation.
	Operation string
	// Skip is how many matching requests pass first; Times is how many then
	// fail (0 is one, -1 is all).
	Skip, Times int

	Status int
	// After lets the request take effect, and then replies with the fault.
	After bool
	// Drop breaks the connection instead of a reply.
	Drop       bool
	RetryAfter int // seconds; 0 is no header
	// Secondary replies with the body of a secondary rate limit.
	Secondary bool
	Message   string
	Header    map[string]string
	Body      string // replaces the JSON body
	Delay     time.Duration
}

// fault is the script's fault for this request, or nil.
func (s *Server) fault(r *http.Request, body []byte) *Fault {
	for _, f := range s.faults {
		if !f.matches(r, body) || f.Times == gone {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		hit := *f
		switch f.Times {
		case -1:
		case 0, 1:
			f.Times = gone
		default:
			f.Times--
		}
		return &hit
	}
	return nil
}

// gone marks a fault that has been used up.
const gone = -2

func (f *Fault) matches(r *http.Request, body []byte) bool {
	if f.Method != "" && f.Method != r.Method {
		return false
	}
	if f.Path != "" {
		if ok, err := path.Match(f.Path, r.URL.Path); err != nil || !ok {
			return false
		}
	}
	return f.Operation == "" || r.URL.Path == "/graphql" && operation(body) == f.Operation
}

// operation is the name of the GraphQL operation in a request's body.
func operation(body []byte) string {
	var in struct {
		Query string `json:"query"`
	}
	if json.Unmarshal(body, &in) != nil {
		return ""
	}
	fields := strings.FieldsFunc(in.Query, func(r rune) bool { return strings.ContainsRune(" \n\t({", r) })
	if len(fields) < 2 || fields[0] != "query" && fields[0] != "mutation" {
		return ""
	}
	return fields[1]
}

func (f *Fault) wait(r *http.Request) {
	if f.Delay == 0 {
		return
	}
	t := time.NewTimer(f.Delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
}

func (f *Fault) write(w http.ResponseWriter) {
	message, docs := f.Message, "https://docs.github.com/rest"
	if f.Status == 0 {
		f.Status = http.StatusBadGateway
	}
	if f.Secondary {
		message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
		docs = "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	}
	if f.RetryAfter != 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	for k, v := range f.Header {
		w.Header().Set(k, v)
	}
	if f.Body != "" {
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
		return
	}
	if message == "" {
		message = http.StatusText(f.Status)
	}
	problem(w, f.Status, message, docs)
}
