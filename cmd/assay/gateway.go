package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/cli"
	"github.com/assaybot/assay/internal/gateway"
)

// serveGateway is the edge gateway behind the door cli.
func serveGateway(ctx context.Context, r cli.GatewayRequest) error {
	host, _, err := net.SplitHostPort(r.Listen)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return assay.Userf("--listen %s: the gateway speaks plain HTTP, so it listens on loopback only (127.0.0.1:4100)", r.Listen)
	}
	g, err := newGateway(r.Upstreams, r.Headers)
	if err != nil {
		return err
	}
	spec := gateway.AloneSpec{Clients: r.Clients, MaxCostUSD: r.MaxCostUSD}
	if r.Log != "" {
		f, err := os.OpenFile(r.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return assay.Userf("opening the log: %v", err)
		}
		defer func() { _ = f.Close() }()
		spec.Log = f
	}
	a, err := g.Alone(spec)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.Listen)
	if err != nil {
		return assay.Userf("listening on %s: %v", r.Listen, err)
	}
	if err := printClients(r.Out, a, l.Addr().String()); err != nil {
		return errors.Join(err, l.Close())
	}
	served := serveUntil(ctx, l, a)
	return errors.Join(served, printSpent(r.Out, a))
}

// serveUntil serves until ctx is done; calls under way are ended then.
func serveUntil(ctx context.Context, l net.Listener, a *gateway.Alone) error {
	srv := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return errors.Join(fmt.Errorf("serving the gateway: %w", err), a.Close())
	case <-ctx.Done():
	}
	err := errors.Join(a.Close(), srv.Close())
	<-ended
	return err
}

// clientLines are the variables that programs of an API read.
func clientLines(provider, addr, token string) [2]string {
	switch provider {
	case "openai":
		return [2]string{"OPENAI_BASE_URL=http://" + addr + "/v1", "OPENAI_API_KEY=" + token}
	case "gemini":
		return [2]string{"GOOGLE_GEMINI_BASE_URL=http://" + addr, "GEMINI_API_KEY=" + token}
	}
	return [2]string{"ANTHROPIC_BASE_URL=http://" + addr, "ANTHROPIC_API_KEY=" + token}
}

func printClients(w io.Writer, a *gateway.Alone, addr string) error {
	last := ""
	for _, s := range a.Spent() {
		if s.Client != last {
			if _, err := fmt.Fprintf(w, "# %s\n", s.Client); err != nil {
				return err
			}
			last = s.Client
		}
		lines := clientLines(s.Provider, addr, s.Token)
		if _, err := fmt.Fprintf(w, "export %s\nexport %s\n", lines[0], lines[1]); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "# serving on http://%s; Ctrl-C ends it\n", addr)
	return err
}

func printSpent(w io.Writer, a *gateway.Alone) error {
	for _, s := range a.Spent() {
		c := s.Calls
		cost := fmt.Sprintf("$%.4f", c.CostUSD)
		if !c.Priced {
			cost += " and calls without a known price"
		}
		if c.Estimated {
			cost += ", in part estimated"
		}
		if c.Budget {
			cost += ", its budget is spent"
		}
		_, err := fmt.Fprintf(w, "%s  %s  %d calls, %d replies, %d tokens in, %d out, %s\n", s.Client, s.Provider,
			c.Calls, c.Replies, c.Tokens.Input+c.Tokens.CacheRead+c.Tokens.CacheWrite, c.Tokens.Output, cost)
		if err != nil {
			return err
		}
	}
	return nil
}
