package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/assaybot/assay/internal/testkit/github"
)

// used are the paths that the fake serves; the whole description takes too
// long to load.
func used() []string {
	const repo = "/repos/{owner}/{repo}"
	return []string{
		"/meta", "/rate_limit", repo,
		repo + "/pulls", repo + "/pulls/{pull_number}",
		repo + "/issues", repo + "/issues/{issue_number}", repo + "/issues/{issue_number}/comments",
		repo + "/issues/comments/{comment_id}", repo + "/issues/{issue_number}/labels", repo + "/issues/{issue_number}/labels/{name}",
		repo + "/labels", repo + "/check-runs", repo + "/check-runs/{check_run_id}", repo + "/check-runs/{check_run_id}/annotations",
		repo + "/commits/{ref}/check-runs", repo + "/collaborators/{username}/permission",
		repo + "/git/ref/{ref}", repo + "/branches/{branch}", repo + "/contents/{path}",
	}
}

// rest is the part of the OpenAPI description that is used.
type rest struct{ router routers.Router }

func loadREST(spec []byte) (*rest, error) {
	small, err := extract(spec)
	if err != nil {
		return nil, fmt.Errorf("cutting GitHub's OpenAPI description: %w", err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(small)
	if err != nil {
		return nil, fmt.Errorf("loading GitHub's OpenAPI description: %w", err)
	}
	doc.Servers = openapi3.Servers{{URL: "https://api.github.com"}}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("routing GitHub's OpenAPI description: %w", err)
	}
	return &rest{router: router}, nil
}

// extract keeps the used paths and the components that they refer to.
func extract(spec []byte) ([]byte, error) {
	var in struct {
		OpenAPI    string                                `json:"openapi"`
		Info       json.RawMessage                       `json:"info"`
		Paths      map[string]json.RawMessage            `json:"paths"`
		Components map[string]map[string]json.RawMessage `json:"components"`
	}
	if err := json.Unmarshal(spec, &in); err != nil {
		return nil, err
	}
	paths, kept := map[string]json.RawMessage{}, map[string]map[string]json.RawMessage{}
	todo := make([]json.RawMessage, 0, len(used()))
	for _, p := range used() {
		one, ok := in.Paths[p]
		if !ok {
			return nil, fmt.Errorf("it has no path %s", p)
		}
		paths[p] = one
		todo = append(todo, one)
	}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, ref := range refs(next) {
			kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
			if kept[kind] == nil {
				kept[kind] = map[string]json.RawMessage{}
			}
			if kept[kind][name] == nil {
				kept[kind][name] = in.Components[kind][name]
				todo = append(todo, in.Components[kind][name])
			}
		}
	}
	return json.Marshal(map[string]any{"openapi": in.OpenAPI, "info": in.Info, "paths": paths, "components": kept})
}

// refs are the references in a piece of JSON. The description holds the key
// nowhere else.
func refs(piece []byte) []string {
	const key = `"$ref"`
	var out []string
	for {
		at := bytes.Index(piece, []byte(key))
		if at < 0 {
			return out
		}
		piece = piece[at+len(key):]
		var ref string
		from := bytes.IndexByte(piece, '"')
		to := bytes.IndexByte(piece[from+1:], '"')
		if from < 0 || to < 0 {
			return out
		}
		ref, piece = string(piece[from+1:from+1+to]), piece[from+1+to:]
		out = append(out, ref)
	}
}

// check validates a request, and the reply unless the script made it.
func (c *rest) check(e github.Exchange) error {
	path := e.Escaped
	// The description has no redirects by number, and one parameter for a
	// path with slashes.
	if strings.HasPrefix(path, "/repositories/") {
		return nil
	}
	for _, many := range []string{"/contents/", "/git/ref/"} {
		if head, tail, ok := strings.Cut(path, many); ok {
			path = head + many + strings.ReplaceAll(tail, "/", "%2F")
		}
	}
	req, err := http.NewRequestWithContext(context.Background(), e.Method, "https://api.github.com"+path+"?"+e.Query, bytes.NewReader(e.Body))
	if err != nil {
		return err
	}
	req.Header = e.Header.Clone()
	route, params, err := c.router.FindRoute(req)
	if err != nil {
		return fmt.Errorf("no such operation: %w", err)
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	// What the server refused is allowed to be wrong.
	if err := openapi3filter.ValidateRequest(req.Context(), in); err != nil && e.Status < 400 {
		return fmt.Errorf("request: %w", brief(err))
	}
	if e.Fault || e.Status == http.StatusNotModified || route.Operation.Responses.Status(e.Status) == nil {
		return nil
	}
	err = openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: e.Status, Header: e.Reply, Body: io.NopCloser(bytes.NewReader(e.Answer))})
	if err != nil {
		return fmt.Errorf("reply %d: %w", e.Status, brief(err))
	}
	return nil
}

// brief is a schema error without the pages of schema that it prints.
func brief(err error) error {
	var s *openapi3.SchemaError
	if errors.As(err, &s) {
		return fmt.Errorf("%s: %s", strings.Join(s.JSONPointer(), "/"), s.Reason)
	}
	return err
}
