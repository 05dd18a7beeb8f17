// Package egress is the way from a box to the few destinations that a task
// allows: an HTTP proxy, reached over the box's own channel. It dials only
// what is listed, only addresses that it has checked itself, and notes all
// else. It never decrypts, keeps no byte of what passes, and never reaches
// this machine or a private network unless the task names the very address.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// dialTime bounds making a connection, maxNoted the destinations that are
// noted, maxTunnels the connections at a time, maxName the length of a name.
const (
	dialTime   = 30 * time.Second
	maxNoted   = 64
	maxTunnels = 64
	maxName    = 255
)

// Outlet opens ways. Lookup and Dial are the machine's; nil means the real
// ones. It implements run.Outlet.
type Outlet struct {
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
}

var _ run.Outlet = Outlet{}

// Open makes the way of one box: allow lists "host:port"; model, which may be
// nil, serves what isn't asked of a proxy.
func (o Outlet) Open(allow []string, model http.Handler) run.Way {
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: dialTime}).DialContext
	}
	w := &way{o: o, model: model, begun: time.Now(), allow: map[string]bool{}, slots: make(chan struct{}, maxTunnels), done: make(chan struct{})}
	for _, a := range allow {
		w.allow[strings.ToLower(a)] = true
	}
	w.plain = &http.Transport{DialContext: w.dial, DisableCompression: true, ResponseHeaderTimeout: 5 * time.Minute}
	return w
}

// way is one box's.
type way struct {
	o     Outlet
	model http.Handler
	allow map[string]bool
	begun time.Time
	plain *http.Transport
	slots chan struct{}
	done  chan struct{}
	wait  sync.WaitGroup

	mu      sync.Mutex
	self    string
	closed  bool
	refused []assay.Refusal
}

// Self names the box's own address of the model, which a program may reach by
// way of its proxy too.
func (w *way) Self(addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.self = addr
}

// Refused are the destinations that were refused, in the order of their first
// refusal.
func (w *way) Refused() []assay.Refusal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.refused)
}

// Close ends all connections and waits for them.
func (w *way) Close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.done)
	}
	w.mu.Unlock()
	w.wait.Wait()
	w.plain.CloseIdleConnections()
}

// enter books a connection; false when the way is closed or full.
func (w *way) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	select {
	case w.slots <- struct{}{}:
		w.wait.Add(1)
		return true
	default:
		return false
	}
}

func (w *way) leave() { <-w.slots; w.wait.Done() }

// ServeHTTP is the proxy for requests that name a server, and the model for
// all others.
func (w *way) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	dest, proxied := destination(r)
	switch {
	case proxied && !w.own(dest):
		w.proxy(rw, r, dest)
	case proxied && r.Method == http.MethodConnect:
		w.loop(rw)
	case w.model == nil:
		http.Error(rw, "assay: there is no model here", http.StatusNotFound)
	default:
		w.model.ServeHTTP(rw, r)
	}
}

// destination is the "host:port" that a request asks a proxy for.
func destination(r *http.Request) (string, bool) {
	host, port := "", "80"
	switch {
	case r.Method == http.MethodConnect:
		host, port = r.Host, "443"
	case r.URL.Scheme == "http" && r.URL.Host != "":
		host = r.URL.Host
	case r.URL.Scheme != "" && r.URL.Host != "": // https:// and others want CONNECT
		return strings.ToLower(r.URL.Host), true
	default:
		return "", false
	}
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	return strings.ToLower(net.JoinHostPort(strings.TrimSuffix(host, "."), port)), true
}

func (w *way) own(dest string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.model != nil && w.self != "" && dest == w.self && !w.allow[dest]
}

func (w *way) proxy(rw http.ResponseWriter, r *http.Request, dest string) {
	if !w.allow[dest] {
		w.refuse(rw, dest, "the task doesn't allow it")
		return
	}
	if !w.enter() {
		http.Error(rw, "assay: too many connections, or the trial is over", http.StatusServiceUnavailable)
		return
	}
	defer w.leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	w.wait.Go(func() {
		select {
		case <-w.done:
			cancel()
		case <-stop:
		}
	})
	if r.Method == http.MethodConnect {
		w.connect(ctx, rw, dest)
		return
	}
	pass := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = p.In.URL, p.In.URL.Host },
		Transport: w.plain, FlushInterval: -1,
		ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, err error) { w.failed(rw, dest, err) },
	}
	pass.ServeHTTP(rw, r.WithContext(ctx))
}

// errPrivate refuses a name that leads to where no task may reach by name.
var errPrivate = errors.New("it leads to this machine or a private network")

// dial connects to one of a destination's addresses, the one that was
// checked: the name isn't looked up again.
func (w *way) dial(ctx context.Context, network, dest string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(dest)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err == nil { // listed by its address: the task means it
		return w.o.Dial(ctx, network, dest)
	}
	looking, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	addrs, err := w.o.Lookup(looking, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if !public(a.Unmap()) {
			return nil, errPrivate
		}
	}
	err = errors.New("it has no address")
	for _, a := range addrs {
		var conn net.Conn
		if conn, err = w.o.Dial(ctx, network, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// special are networks that are neither private by name nor the world's:
// shared addresses, benchmarks, translations to IPv4, reserved ones.
func special() []netip.Prefix {
	list := []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "fec0::/10"}
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// public tells whether an address is one of the world's.
func public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() &&
		!slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(a) })
}

func (w *way) failed(rw http.ResponseWriter, dest string, err error) {
	if errors.Is(err, errPrivate) {
		w.refuse(rw, dest, err.Error())
		return
	}
	http.Error(rw, fmt.Sprintf("assay: %s can't be reached", dest), http.StatusBadGateway)
}

// refuse answers and notes a destination.
func (w *way) refuse(rw http.ResponseWriter, dest, why string) {
	http.Error(rw, "assay: refused: "+strings.ToValidUTF8(dest, "?")+": "+why, http.StatusForbidden)
	dest = strings.ToValidUTF8(dest[:min(len(dest), maxName)], "?")
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.refused {
		if w.refused[i].Destination == dest {
			w.refused[i].Count++
			return
		}
	}
	if len(w.refused) < maxNoted {
		w.refused = append(w.refused, assay.Refusal{Destination: dest, Why: why, Seconds: time.Since(w.begun).Seconds(), Count: 1})
	}
}
