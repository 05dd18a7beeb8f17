package github

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// LimitError is a rate limit that lasts longer than may be waited.
type LimitError struct {
	Primary bool
	Until   time.Time     // when the server said that it ends, or our guess
	Wait    time.Duration // until then
	Max     time.Duration // the most that one call may wait; 0 when the deadline cut it
}

func (e *LimitError) Error() string {
	kind := "secondary"
	if e.Primary {
		kind = "primary"
	}
	why := "the caller's deadline is earlier"
	if e.Max > 0 {
		why = fmt.Sprintf("one call may wait %s", e.Max)
	}
	return fmt.Sprintf("GitHub's %s rate limit holds until %s (%s more) and %s: try again then",
		kind, e.Until.UTC().Format(time.RFC3339), e.Wait.Round(time.Second), why)
}

// UncertainError is a write of which nobody knows whether it took effect: read
// back before it is tried again.
type UncertainError struct {
	Method, Path string
	Status       int // 0 when there was no reply
	Err          error
}

func (e *UncertainError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s %s: GitHub answered %d after a write; it may have taken effect", e.Method, e.Path, e.Status)
	}
	return fmt.Sprintf("%s %s: no reply to a write; it may have taken effect: %v", e.Method, e.Path, e.Err)
}

func (e *UncertainError) Unwrap() error { return e.Err }

// MovedError is a redirect that can't be followed without changing what is
// asked.
type MovedError struct {
	Method, Path string
	Status       int
	To           string
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s %s: redirected (%d) to %q, where it can't be sent; has the repository moved to another server?", e.Method, e.Path, e.Status, e.To)
}

// StatusError is a refusal that has no better name.
type StatusError struct {
	Status       int
	Method, Path string
	Message      string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, e.Message)
	if e.Status == http.StatusNotFound {
		text += " (it doesn't exist, or the token can't see it)"
	}
	return text
}

// NotFound tells whether err is a 404.
func NotFound(err error) bool {
	var s *StatusError
	return errors.As(err, &s) && s.Status == http.StatusNotFound
}

// PermissionError is a token that lacks a permission. Needs are the
// alternatives, each of one or more lines of a workflow's permissions block,
// as "checks: write".
type PermissionError struct {
	Method, Path string
	Message      string
	Needs        [][]string
	// Approve is where the owner of an App's installation accepts what the
	// App asks for; "" where it isn't known.
	Approve string
}

func (e *PermissionError) Error() string {
	text := fmt.Sprintf("%s %s: the token lacks a permission (%s)", e.Method, e.Path, e.Message)
	for n, lines := range e.Needs {
		lead := "; add to the workflow's job"
		if n > 0 {
			lead = "\nor"
		}
		text += lead + ":\n  permissions:\n    " + strings.Join(lines, "\n    ")
	}
	if len(e.Needs) > 0 {
		text += "\n(for an App: grant it, and have the installation accept it"
		if e.Approve != "" {
			text += " at " + e.Approve
		}
		text += "; a run for a fork's pull request can't have it)"
	}
	return text
}

// AuthError is a refused token. Skew is how far this machine's clock is ahead
// of the server's; it counts when it is more than a minute.
type AuthError struct {
	Message string
	Skew    time.Duration
}

func (e *AuthError) Error() string {
	text := "GitHub refused the token (" + e.Message + ")"
	if e.Skew.Abs() <= maxSkew {
		return text + ": it is wrong, expired or revoked"
	}
	side := "ahead of"
	if e.Skew < 0 {
		side = "behind"
	}
	return fmt.Sprintf("%s: this machine's clock is %s %s the server's, which makes tokens of an App invalid; set the clock", text, e.Skew.Abs().Round(time.Second), side)
}

const maxSkew = time.Minute

// refused is a reply that says no.
type refused struct {
	method, path string
	status       int
	header       http.Header
	message      string
	approve      string
}

// explain turns a refusal into the error that helps most.
func (r refused) explain(now time.Time) error {
	switch {
	case r.status == http.StatusUnauthorized:
		e := &AuthError{Message: r.message}
		if date, err := http.ParseTime(r.header.Get("Date")); err == nil {
			e.Skew = now.Sub(date).Round(time.Second)
		}
		return &assay.UserError{Err: e}
	case r.status == http.StatusForbidden && permissionish(r.message):
		return &assay.UserError{Err: &PermissionError{Method: r.method, Path: r.path, Message: r.message, Needs: r.needs(), Approve: r.approve}}
	}
	return &StatusError{Status: r.status, Method: r.method, Path: r.path, Message: r.message}
}

func permissionish(message string) bool {
	return containsAny(strings.ToLower(message), "not accessible", "must have", "permission", "insufficient")
}

// needs reads the header that tells permissions, as "issues=write;
// pull_requests=write": alternatives by semicolon, all of one by comma.
// Without it the path tells.
func (r refused) needs() [][]string {
	told := first(r.header.Get("X-Accepted-GitHub-Permissions"), r.guess())
	var out [][]string
	for _, alternative := range strings.Split(told, ";") {
		var lines []string
		for _, one := range strings.Split(alternative, ",") {
			if name, level, ok := strings.Cut(strings.TrimSpace(one), "="); ok {
				lines = append(lines, strings.ReplaceAll(name, "_", "-")+": "+level)
			}
		}
		if len(lines) > 0 {
			out = append(out, lines)
		}
	}
	return out
}

func (r refused) guess() string {
	level := "write"
	if r.method == http.MethodGet {
		level = "read"
	}
	for _, g := range [][2]string{{"/check-", "checks"}, {"/comments", "pull_requests"}, {"/pulls", "pull_requests"}, {"/issues", "issues"}, {"/labels", "issues"}} {
		if strings.Contains(r.path, g[0]) {
			return g[1] + "=" + level
		}
	}
	return ""
}
