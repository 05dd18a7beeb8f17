// Package web serves the review page on loopback: candidates one after the
// other, one key per decision, plain forms where there is no JavaScript. It
// only shows what a flow.Desk holds and hands decisions to it; it never
// listens on another machine's reach, never loads anything from elsewhere and
// never trusts a candidate's text.
package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

// Options of Serve. Listen is a loopback address with a port, 0 for any free
// one. Ready is told the address to open, with the token in it. Log gets
// failures that the browser can't tell; nil drops them.
type Options struct {
	Desk   *flow.Desk
	Listen string
	Token  string
	Ready  func(url string)
	Log    func(format string, args ...any)
}

// drain is how long requests may take to end when the server stops.
const drain = 5 * time.Second

// NewToken is a secret for one run of the server.
func NewToken() string { return rand.Text() }

// Serve shows the page until ctx is done. An address that other machines
// could reach is refused.
func Serve(ctx context.Context, o Options) error {
	if o.Token == "" {
		return errors.New("serving reviews: there is no token")
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if !loopback(o.Listen) {
		return assay.Userf("the review page is for this machine only: listen on 127.0.0.1:PORT, not on %s", o.Listen)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return assay.Userf("listening on %s: %v", o.Listen, err)
	}
	server := &http.Server{
		Handler: newServer(o.Desk, o.Token, o.Log), ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	if o.Ready != nil {
		o.Ready(fmt.Sprintf("http://%s/?token=%s", listener.Addr(), o.Token))
	}
	return until(ctx, server, listener)
}

// until serves and stops with ctx; decisions that are on their way are
// recorded first.
func until(ctx context.Context, server *http.Server, listener net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving reviews: %w", err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := server.Shutdown(bounded)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
