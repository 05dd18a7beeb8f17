package github

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// limit is a reply that says: not now.
type limit struct {
	primary bool
	// wait is what the server told; less than zero when it didn't.
	wait time.Duration
	// bare is true when the reply said nothing, so that it may be something
	// else: it is waited for a few times only.
	bare bool
}

// maxBare is how often a refusal without a word is taken for a limit.
const maxBare = 2

// floor is the shortest wait when the server doesn't say how long.
const floor = time.Minute

// findLimit tells a limit from a refusal of another kind: a 429 always is one,
// a 422 only with the code "abuse", a 403 when a header or its text says so,
// or when it says nothing at all.
func findLimit(status int, h http.Header, body []byte, now time.Time) (limit, bool) {
	var said struct {
		Message string `json:"message"`
		Docs    string `json:"documentation_url"`
		Errors  []struct {
			Code string `json:"code"`
		} `json:"errors"`
	}
	_ = json.Unmarshal(body, &said)
	text := strings.ToLower(said.Message + " " + said.Docs)
	if status == http.StatusUnprocessableEntity {
		for _, e := range said.Errors {
			if e.Code == "abuse" {
				return limit{wait: -1}, true
			}
		}
		return limit{}, false
	}
	if status != http.StatusForbidden && status != http.StatusTooManyRequests {
		return limit{}, false
	}
	after, told := retryAfter(h, now)
	spent := h.Get("X-RateLimit-Remaining") == "0"
	switch {
	case status == http.StatusTooManyRequests:
	case containsAny(text, "rate limit", "abuse", "rate-limit"):
	case containsAny(text, "not accessible", "must have"):
		return limit{}, false
	case !told && !spent:
		bare := len(bytes.TrimSpace(body)) == 0 && h.Get("X-Accepted-GitHub-Permissions") == ""
		return limit{wait: -1, bare: true}, bare
	}
	if told {
		return limit{primary: spent, wait: after}, true
	}
	if reset, ok := untilReset(h, now); ok && spent {
		return limit{primary: true, wait: reset}, true
	}
	return limit{wait: -1}, true
}

func containsAny(s string, all ...string) bool {
	for _, one := range all {
		if strings.Contains(s, one) {
			return true
		}
	}
	return false
}

// retryAfter reads the header, which is seconds or a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := h.Get("Retry-After")
	if n, err := strconv.Atoi(value); err == nil && n >= 0 {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(serverTime(h, now))), true
	}
	return 0, false
}

// untilReset is how long the primary limit lasts, by the server's own clock.
func untilReset(h http.Header, now time.Time) (time.Duration, bool) {
	at, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return 0, false
	}
	return max(0, time.Unix(at, 0).Sub(serverTime(h, now))), true
}

func serverTime(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// length is how long to wait for the n-th limit in a row (from 0): what the
// server told, else a minute that doubles; never less than a second, and a
// little more by chance, so that many don't come back at once.
func (l limit) length(n int, chance float64) time.Duration {
	d := l.wait
	if d < 0 {
		d = floor << min(n, 5)
	}
	d = max(d, time.Second)
	return d + time.Duration(chance*float64(min(d/10+time.Second, 10*time.Second)))
}
