package main

import (
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/assaybot/assay/internal/redact"
)

// secretName tells variables that hold a secret by their names.
var secretName = regexp.MustCompile(`(?i)(^|_)(API_?KEY|KEY|TOKEN|PAT|SECRET|PASS|PASSWD|PASSWORD|CREDENTIALS?)$`)

// minSecret keeps short values, which may be words, in the text.
const minSecret = 12

// secrets are the values of this machine's environment that nothing may keep
// or print: those of variables named like secrets, and passwords in addresses.
func secrets() []string {
	var out []string
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if u, err := url.Parse(value); err == nil && u.User != nil {
			if password, ok := u.User.Password(); ok {
				value, name = password, "PASSWORD"
			}
		}
		if len(value) >= minSecret && secretName.MatchString(name) && !strings.HasPrefix(value, "/") {
			out = append(out, value)
		}
	}
	return out
}

func hidden() *redact.Mask { return redact.NewMask(secrets()...) }
