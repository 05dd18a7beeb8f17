package run

import (
	"strings"

	"github.com/assaybot/assay/internal/atif"
)

// clip is s with its middle left out when it is longer than n bytes.
func clip(s string, n int) string { return atif.Cut(strings.ToValidUTF8(s, "\uFFFD"), n) }

// join puts sentences together, without empty ones.
func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "; ")
}
