package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// graph speaks GraphQL through a transport.
type graph struct{ t *Transport }

// operation is one GraphQL request. Mutations are writes: they are never
// repeated blindly.
type operation struct {
	text  string
	vars  map[string]any
	write bool
}

// graphError is one entry of a reply's "errors".
type graphError struct {
	Type    string `json:"type"`
	Path    []any  `json:"path"`
	Message string `json:"message"`
}

func (e graphError) String() string {
	path := make([]string, 0, len(e.Path))
	for _, p := range e.Path {
		path = append(path, fmt.Sprint(p))
	}
	if len(path) == 0 {
		return e.Message
	}
	return strings.Join(path, ".") + ": " + e.Message
}

// GraphError is a reply of 200 that tells errors and no data to rely on.
type GraphError struct{ Texts []string }

func (e *GraphError) Error() string { return "GitHub's GraphQL: " + strings.Join(e.Texts, "; ") }

// errOverload is a server that could not answer in its time: ask for less.
var errOverload = errors.New("GitHub could not answer in time")

// do sends an operation and decodes its data. What a reply leaves out because
// the token may not see it is returned as notes; every other error in a reply
// is an error here, so that nothing missing passes for nothing there.
func (g graph) do(ctx context.Context, op operation, into any) (notes []string, err error) {
	body, err := json.Marshal(map[string]any{"query": op.text, "variables": op.vars})
	if err != nil {
		return nil, fmt.Errorf("encoding a GraphQL request: %w", err)
	}
	b := &budget{}
	ctx = context.WithValue(ctx, traitsKey{}, traits{read: !op.write, own5xx: true, budget: b})
	for {
		data, errs, header, err := g.send(ctx, body)
		if err != nil {
			return nil, err
		}
		if limited(errs) {
			l := limit{wait: -1}
			if reset, ok := untilReset(header, g.t.o.Now()); ok {
				l = limit{primary: true, wait: reset}
			}
			if err := g.t.pause(ctx, b, l); err != nil {
				return nil, err
			}
			continue
		}
		return settle(data, errs, into)
	}
}

func (g graph) send(ctx context.Context, body []byte) (json.RawMessage, []graphError, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.t.o.Host.GraphQL, bytes.NewReader(body))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("addressing GraphQL: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.t.Client().Do(req)
	if err != nil {
		return nil, nil, nil, assay.Infra(assay.InfraAPI, "asking GitHub's GraphQL", err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, nil, assay.Infra(assay.InfraNetwork, "reading GitHub's GraphQL reply", err)
	}
	var out struct {
		Data    json.RawMessage `json:"data"`
		Errors  []graphError    `json:"errors"`
		Message string          `json:"message"`
	}
	decoded := json.Unmarshal(raw, &out)
	switch {
	case resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusGatewayTimeout || resp.StatusCode == http.StatusServiceUnavailable:
		return nil, nil, nil, fmt.Errorf("%w (%d)", errOverload, resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, nil, nil, refused{method: "POST", path: req.URL.Path, status: resp.StatusCode, header: resp.Header, message: out.Message}.explain(g.t.o.Now())
	case decoded != nil:
		return nil, nil, nil, assay.Infra(assay.InfraAPI, "decoding GitHub's GraphQL reply", decoded)
	}
	return out.Data, out.Errors, resp.Header, nil
}

func limited(errs []graphError) bool {
	for _, e := range errs {
		if e.Type == "RATE_LIMITED" || e.Type == "RATE_LIMIT" {
			return true
		}
	}
	return false
}

// settle decides what a reply of 200 is worth.
func settle(data json.RawMessage, errs []graphError, into any) ([]string, error) {
	var notes, bad []string
	for _, e := range errs {
		switch {
		case strings.Contains(e.Message, "Something went wrong while executing"), strings.Contains(strings.ToLower(e.Message), "timeout"):
			return nil, fmt.Errorf("%w (%s)", errOverload, e.Message)
		case e.Type == "NOT_FOUND" && len(e.Path) == 1 && e.Path[0] == "repository":
			return nil, assay.Userf("%s (or the token can't see it)", strings.TrimSuffix(e.Message, "."))
		case (e.Type == "FORBIDDEN" || e.Type == "NOT_FOUND") && (len(e.Path) > 1 || len(e.Path) == 1 && e.Path[0] != "repository"):
			notes = append(notes, e.String())
		default:
			bad = append(bad, e.String())
		}
	}
	if len(bad) > 0 {
		return nil, &GraphError{Texts: bad}
	}
	if len(data) == 0 || string(data) == "null" {
		return nil, &GraphError{Texts: append(notes, "the reply holds no data")}
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, assay.Infra(assay.InfraAPI, "decoding GitHub's GraphQL reply", err)
	}
	return notes, nil
}

// patient repeats a read that the server could not answer, with growing
// waits, as long as smaller() can't make it smaller.
func (g graph) patient(ctx context.Context, smaller func() bool, f func() error) error {
	b := &budget{}
	for tries := 0; ; {
		err := f()
		if !errors.Is(err, errOverload) {
			return err
		}
		if smaller() {
			continue
		}
		if tries >= maxRetries {
			return assay.Infra(assay.InfraAPI, "asking GitHub's GraphQL for the least it can be asked for", err)
		}
		if err := g.t.wait(ctx, b, err.Error(), limit{wait: time.Second << tries}); err != nil {
			return err
		}
		tries++
	}
}
