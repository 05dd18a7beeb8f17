package egress_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/egress"
	"github.com/assaybot/assay/internal/run"
)

// served opens a way behind a server and gives a client that uses it as its
// proxy.
func served(t *testing.T, o egress.Outlet, allow ...string) (run.Way, *http.Client, string) {
	t.Helper()
	w := o.Open(allow, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "model") }))
	srv := httptest.NewServer(w)
	at, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{Proxy: http.ProxyURL(at)}
	t.Cleanup(func() { tr.CloseIdleConnections(); w.Close(); srv.Close() })
	w.Self(at.Host)
	return w, &http.Client{Transport: tr}, srv.URL
}

func get(t *testing.T, c *http.Client, at string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// TestWay: what is listed is reached, both by proxy and by tunnel, the model
// too, and the rest is refused and noted with its count.
func TestWay(t *testing.T) {
	hello := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "hello") })
	plain, secure := httptest.NewServer(hello), httptest.NewTLSServer(hello)
	defer plain.Close()
	defer secure.Close()
	host := func(u string) string { return strings.SplitN(u, "://", 2)[1] }
	w, c, self := served(t, egress.Outlet{}, host(plain.URL), host(secure.URL))
	if tr, ok := secure.Client().Transport.(*http.Transport); ok {
		c.Transport.(*http.Transport).TLSClientConfig = tr.TLSClientConfig
	}
	for at, want := range map[string]string{plain.URL + "/x": "hello", secure.URL: "hello", self + "/v1": "model"} {
		if code, body := get(t, c, at); code != 200 || body != want {
			t.Errorf("%s: %d %q", at, code, body)
		}
	}
	for range 2 {
		if code, body := get(t, c, "http://example.org/a"); code != 403 || !strings.Contains(body, "refused: example.org:80") {
			t.Errorf("not listed: %d %q", code, body)
		}
	}
	if code, said := get(t, c, "https://Example.org/a"); code != 0 || !strings.Contains(said, "Forbidden") {
		t.Errorf("a tunnel that isn't listed: %d %s", code, said)
	}
	got := w.Refused()
	if len(got) != 2 || got[0].Destination != "example.org:80" || got[0].Count != 2 || got[1].Destination != "example.org:443" {
		t.Errorf("noted: %+v", got)
	}
}

// TestNamesLeadToTheWorldOnly: a listed name that leads inside is refused, and
// what is dialled is the address that was checked.
func TestNamesLeadToTheWorldOnly(t *testing.T) {
	for addr, open := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "127.0.0.1": false, "10.1.2.3": false, "192.168.0.1": false, "169.254.169.254": false,
		"172.17.0.1": false, "100.64.0.1": false, "0.0.0.0": false, "::1": false, "fe80::1": false, "fd00::1": false, "::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false,
	} {
		dialled := ""
		o := egress.Outlet{
			Lookup: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr(addr)}, nil
			},
			Dial: func(_ context.Context, _, to string) (net.Conn, error) {
				dialled = to
				return nil, errors.New("no")
			},
		}
		w, c, _ := served(t, o, "name.example:80")
		code, body := get(t, c, "http://name.example/")
		if open && (code != 502 || dialled != net.JoinHostPort(addr, "80") || len(w.Refused()) != 0) {
			t.Errorf("%s: %d %q, dialled %q", addr, code, body, dialled)
		}
		if !open && (code != 403 || dialled != "" || len(w.Refused()) != 1) {
			t.Errorf("%s: %d %q, dialled %q, %v", addr, code, body, dialled, w.Refused())
		}
	}
}
