package gateway

import (
	"io"
	"net/http"
	"net/url"

	"github.com/assaybot/assay/internal/assay"
)

// route is what the gateway does with a request.
type route int

const (
	routeRefuse route = iota
	routeCall         // a model call: forwarded, counted, priced
	routePlain        // forwarded and logged, costs nothing
)

// provider is what the gateway knows of one model API. One file each.
type provider interface {
	name() string
	// base is the base URL of the provider itself.
	base() string
	route(r *http.Request) route
	// token is the key that a client presents.
	token(h http.Header) string
	// place is the path at the upstream for a path that a client asked for.
	place(base *url.URL, asked string) string
	// authorise replaces all credentials of a request by the real key, which
	// goes into a header and never into the query.
	authorise(h http.Header, query url.Values, u Upstream)
	// asked reads the model's name out of a request.
	asked(r *http.Request, body []byte) string
	// meter reads an answer on its way; stream tells its form.
	meter(stream bool) meter
	// failure is the body of an error in the API's own form, event the same
	// as a piece of a stream.
	failure(status int, text string) []byte
	event(status int, text string) []byte
	// apiError reads an error body.
	apiError(status int, body []byte) assay.APIError
}

// meter counts an answer while it passes. Its memory is bounded.
type meter interface {
	io.Writer
	result() reading
}

// reading is what an answer said of itself.
type reading struct {
	model  string
	tokens assay.Tokens
	// hour are those of the tokens written to a cache that stay an hour.
	hour int64
	// reply: the model's reply came whole.
	reply bool
	// closing: it is whole once the answer ends, which may bring figures yet.
	closing bool
	// refused: the model, or the API for it, declined to answer.
	refused bool
	// text is about how many bytes of words came, for answers that tell no
	// tokens.
	text int64
	// fault is an error that came within an answer of status 200.
	fault *assay.APIError
}

// Providers lists the model APIs that the gateway speaks.
func Providers() []string {
	all := providers()
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.name()
	}
	return out
}

func providers() []provider { return []provider{anthropic{}, openai{}, gemini{}} }

func providerNamed(name string) provider {
	for _, p := range providers() {
		if p.name() == name {
			return p
		}
	}
	return nil
}
