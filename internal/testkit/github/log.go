package github

import (
	"net/http"
	"slices"
)

// Request is one request that came in. Path has no Enterprise prefix;
// Operation is the name of a GraphQL operation.
type Request struct {
	Method, Path, Query, Operation string
	Header                         http.Header
	Body                           []byte
}

// GraphQL tells whether it is a GraphQL request.
func (r Request) GraphQL() bool { return r.Path == "/graphql" }

func (s *Server) record(r *http.Request, body []byte) {
	q := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body}
	if q.GraphQL() {
		q.Operation = operation(body)
	}
	s.log = append(s.log, q)
}

// Requests are all requests so far, in order, those that failed by the script
// too.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Count is how many requests came in, of REST and of GraphQL.
func (s *Server) Count() (rest, graphql int) {
	for _, r := range s.Requests() {
		if r.GraphQL() {
			graphql++
		} else {
			rest++
		}
	}
	return rest, graphql
}

// Forget empties the log.
func (s *Server) Forget() { s.Edit(func() { s.log = nil }) }
