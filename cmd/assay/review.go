package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strings"

	"github.com/assaybot/assay/internal/cli"
	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/web"
)

// serveReview is the door web behind the door cli.
func serveReview(ctx context.Context, d *flow.Desk, p cli.ReviewPage) error {
	return web.Serve(ctx, web.Options{
		Desk: d, Listen: p.Listen, Token: web.NewToken(),
		Ready: func(url string) {
			_, _ = fmt.Fprintln(p.Out, url)
			if p.Open {
				openBrowser(ctx, url)
			}
		},
		Log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "assay: "+format+"\n", args...) },
	})
}

// openBrowser tries to; the address was printed anyway.
func openBrowser(ctx context.Context, url string) {
	argv := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		argv[0] = "open"
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // ends with the opener, which hands over and leaves
	}
}

// reviewer is who decides when nobody says: git's mail address, else this
// machine's user.
func reviewer(ctx context.Context) string {
	if out, err := exec.CommandContext(ctx, "git", "config", "user.email").Output(); err == nil {
		if who := strings.TrimSpace(string(out)); who != "" {
			return who
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
