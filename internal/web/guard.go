package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard lets only this machine's user in. The token comes once by the
// address, then a cookie stands for it; forms carry a third secret. The three
// are derived one way, so that none gives another away.
type guard struct{ token, cookie, name, form string }

func newGuard(token string) guard {
	derive := func(what string) string {
		mac := hmac.New(sha256.New, []byte(token))
		mac.Write([]byte(what))
		return hex.EncodeToString(mac.Sum(nil))
	}
	// Cookies are shared by all ports of a host: each server has its own name.
	return guard{token: token, cookie: derive("cookie"), name: "assay_review_" + derive("name")[:8], form: derive("form")}
}

func equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// known tells whether the request comes from a browser that was let in.
func (g guard) known(r *http.Request) bool {
	for _, c := range r.CookiesNamed(g.name) {
		if equal(c.Value, g.cookie) {
			return true
		}
	}
	return false
}

func (g guard) letIn(w http.ResponseWriter) {
	//nolint:gosec // Secure would forbid plain HTTP, which is all there is on loopback.
	http.SetCookie(w, &http.Cookie{Name: g.name, Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// loopback tells whether a host, with or without a port, is this machine by a
// name that no DNS server can answer for.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// sameOrigin tells whether a request was made by a page of this server. A
// browser says so with every POST; what says nothing is refused.
func sameOrigin(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if origin == "" && site == "" {
		return false
	}
	return (origin == "" || origin == "http://"+r.Host) && (site == "" || site == "same-origin")
}

// policy is the content security policy: own style, own script, nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// harden refuses foreign host names (DNS rebinding) and sets the headers that
// every answer has.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // no-referrer would take Origin from forms
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !loopback(r.Host) {
			http.Error(w, "this page is for this machine only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
