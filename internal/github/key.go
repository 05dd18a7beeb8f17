package github

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// pemBlock is a PEM block, whatever became of its line breaks.
var pemBlock = regexp.MustCompile(`(?s)-----BEGIN ([A-Z ]+)-----(.*?)-----END ([A-Z ]+)-----`)

// ParseKey reads the private key of an App in the shapes that secrets and
// environment variables give it: PEM as it was downloaded, with \n written
// out, in quotes, indented, with blanks for line breaks, or as base64 of the
// file. An error tells the shape, never the content.
func ParseKey(text string) (*rsa.PrivateKey, error) {
	s := strings.Trim(strings.TrimSpace(text), `"'`)
	s = strings.NewReplacer(`\r`, "", `\n`, "\n").Replace(s)
	if !strings.Contains(s, "-----BEGIN") {
		if data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), "")); err == nil {
			s = string(data)
		}
	}
	m := pemBlock.FindStringSubmatch(s)
	switch {
	case m == nil:
		return nil, keyFault(text, "it has no BEGIN and END lines of a PEM file")
	case strings.Contains(m[2], "ENCRYPTED") || strings.Contains(m[1], "ENCRYPTED"):
		return nil, keyFault(text, "it is encrypted; GitHub's own download isn't")
	case !strings.HasSuffix(m[1], "PRIVATE KEY"):
		return nil, keyFault(text, "it is no private key")
	}
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(m[2]), ""))
	if err != nil {
		return nil, keyFault(text, "what stands between BEGIN and END is no base64")
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if other, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if key, ok := other.(*rsa.PrivateKey); ok {
			return key, nil
		}
		return nil, keyFault(text, "it is of another kind than RSA")
	}
	return nil, keyFault(text, "it is cut off or damaged")
}

func keyFault(text, why string) error {
	return assay.Userf("the App's private key can't be used: %s (%d characters, %d lines)", why, len(text), 1+strings.Count(text, "\n"))
}
