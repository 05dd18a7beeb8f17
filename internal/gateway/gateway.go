package gateway

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/redact"
	"github.com/assaybot/assay/internal/run"
)

// Defaults of Config's durations.
const (
	DefaultFirstByte = 10 * time.Minute
	DefaultIdle      = 5 * time.Minute
)

// Config is what a gateway needs to know. The zero value of every field but
// Upstreams is usable.
type Config struct {
	// Upstreams by name of the provider ("anthropic").
	Upstreams map[string]Upstream
	// Prices by model, in USD per million tokens; they win over the built-in
	// ones.
	Prices map[string]Price
	// CA are certificates (PEM) to trust besides the system's.
	CA []byte
	// Proxy picks the proxy of an upstream request; nil for none. Doors
	// hand in http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// FirstByte bounds the wait for an answer's head, Idle the silence
	// within an answer. Negative means no bound.
	FirstByte, Idle time.Duration
	// Now is the clock of the log; nil for the system's.
	Now func() time.Time
}

// Upstream is where a provider's calls go.
type Upstream struct {
	// BaseURL without "/v1"; "" for the provider's own.
	BaseURL string
	// Key is the real key; "" where the upstream needs none.
	Key string
	// KeyHeader is the header for Key, "" for the provider's usual one;
	// "authorization" sends it as a bearer token.
	KeyHeader string
}

// Gateway opens sessions. It implements run.Gateway.
type Gateway struct {
	config Config
	routes map[string]*upstream
}

var _ run.Gateway = (*Gateway)(nil)

// upstream is one provider with its place and key.
type upstream struct {
	provider
	base   *url.URL
	conf   Upstream
	client *http.Client
	hide   *redact.Redactor
	mask   *redact.Mask
	pause  *pause
	lanes  *lanes
}

// New checks the configuration, all of it at once, and makes a gateway. It
// contacts nobody.
func New(c Config) (*Gateway, error) {
	var faults assay.Problems
	if c.Now == nil {
		c.Now = time.Now
	}
	c.FirstByte = orDefault(c.FirstByte, DefaultFirstByte)
	c.Idle = orDefault(c.Idle, DefaultIdle)
	client, err := newClient(c)
	if err != nil {
		faults.Addf("", 0, "%v", err)
	}
	g := &Gateway{config: c, routes: map[string]*upstream{}}
	for _, name := range sortedKeys(c.Upstreams) {
		u, err := newUpstream(name, c.Upstreams[name], client)
		if err != nil {
			faults.Addf("", 0, "%v", err)
			continue
		}
		g.routes[name] = u
	}
	return g, faults.Err()
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func newUpstream(name string, conf Upstream, client *http.Client) (*upstream, error) {
	p := providerNamed(name)
	if p == nil {
		return nil, fmt.Errorf("the gateway knows no model API called %q; it knows %s", name, strings.Join(Providers(), ", "))
	}
	base := conf.BaseURL
	if base == "" {
		base = p.base()
	}
	u, err := url.Parse(strings.TrimRight(base, "/"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the base URL of %s can't be read as a URL", name)
	case u.User != nil:
		return nil, fmt.Errorf("the base URL of %s holds a user name; give the key on its own", name)
	case (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return nil, fmt.Errorf("the base URL of %s, %q, must begin with http:// or https://", name, base)
	case strings.ContainsAny(conf.Key, "\r\n\x00"):
		return nil, fmt.Errorf("the key of %s holds a line break", name)
	}
	return &upstream{provider: p, base: u, conf: conf, client: client, hide: redact.New(conf.Key), mask: redact.NewMask(conf.Key), pause: &pause{}, lanes: &lanes{}}, nil
}

func newClient(c Config) (*http.Client, error) {
	t := &http.Transport{
		Proxy:                 c.Proxy,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   30 * time.Second,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true, // bytes pass through as they are
		ForceAttemptHTTP2:     true,
		ExpectContinueTimeout: time.Second,
	}
	if len(c.CA) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(c.CA) {
			return nil, fmt.Errorf("the gateway's CA file holds no certificate in PEM form")
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	// A redirect would carry the key to another place.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: t, CheckRedirect: stay}, nil
}

// Credentials tells which providers have a key, or an upstream of their own
// that may need none.
func (g *Gateway) Credentials() run.Credentials {
	out := run.Credentials{}
	for name, u := range g.routes {
		out[name] = u.conf.Key != "" || u.conf.BaseURL != ""
	}
	return out
}

// Session opens the way to one provider for one attempt.
func (g *Gateway) Session(spec run.SessionSpec) (run.Session, error) {
	s, err := g.open(spec)
	if err != nil { // not a nil *session within an interface
		return nil, err
	}
	return s, nil
}

func (g *Gateway) open(spec run.SessionSpec) (*session, error) {
	u := g.routes[spec.Provider]
	if u == nil {
		return nil, assay.Userf("the gateway has no upstream for %q: give a key or a base URL for it", spec.Provider)
	}
	s := &session{
		up: u, spec: spec, token: "assay-" + rand.Text(), config: g.config,
		prices: pricing{over: g.config.Prices}, active: map[*call]bool{},
	}
	s.calls.Seen, s.calls.Priced = true, true
	return s, nil
}
