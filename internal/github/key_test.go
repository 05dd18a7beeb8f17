package github_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/github"
)

func TestRow31AKeyInTheShapesOfSecrets(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	for name, text := range map[string]string{
		"as downloaded": file,
		"PKCS#8":        string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"CRLF":          strings.ReplaceAll(file, "\n", "\r\n"),
		"no last break": strings.TrimSuffix(file, "\n"),
		"escaped":       strings.ReplaceAll(file, "\n", `\n`),
		"escaped CRLF":  strings.ReplaceAll(file, "\n", `\r\n`),
		"quoted":        `"` + strings.ReplaceAll(file, "\n", `\n`) + `"`,
		"single quotes": "'" + file + "'",
		"base64":        base64.StdEncoding.EncodeToString([]byte(file)),
		"indented":      strings.ReplaceAll(file, "\n", "\n    "),
		"blanks":        strings.ReplaceAll(file, "\n", " "),
	} {
		if got, err := github.ParseKey(text); err != nil || !got.Equal(key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "a path": "/run/secrets/key.pem", "half": file[:len(file)/2], "damaged": strings.Replace(file, "\n", "\n!", 1),
		"cut": strings.Replace(file, file[200:264], "", 1), "a certificate": strings.ReplaceAll(file, "RSA PRIVATE KEY", "CERTIFICATE"),
		"encrypted": strings.ReplaceAll(file, "RSA PRIVATE", "ENCRYPTED PRIVATE"),
	} {
		_, err := github.ParseKey(text)
		if !assay.IsUser(err) || !strings.Contains(err.Error(), "characters") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := 0; i+8 < len(text); i += 8 {
			if strings.Contains(err.Error(), text[i:i+8]) && !strings.Contains("RSA PRIVATE KEY-----BEGIN", text[i:i+8]) {
				t.Errorf("%s: the error tells of the key: %v", name, err)
			}
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("-----BEGIN RSA PRIVATE KEY-----\\nAAAA\\n-----END RSA PRIVATE KEY-----")
	f.Add("LS0tLS1CRUdJTg==")
	f.Fuzz(func(t *testing.T, s string) {
		if key, err := github.ParseKey(s); err == nil && key == nil {
			t.Error("no key and no error")
		}
	})
}
