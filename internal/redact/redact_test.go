package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/redact"
)

const secret = "s3cr3t/Value+with=signs"

func letters(n int) string { return strings.Repeat("aB3dE6", n/6+1)[:n] }

func TestStringTakesSecretsOut(t *testing.T) {
	r := redact.New(secret, "", "ab")
	jwt := "eyJhbGciOiJSUzI1NiJ9." + letters(80) + "." + letters(40)
	key := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Repeat(letters(64)+"\n", 20) + "-----END RSA " + "PRIVATE KEY-----"
	tests := []struct{ name, in, want string }{
		{"nothing", "plain text, ab, and task-list", "plain text, ab, and task-list"},
		{"exact", "a " + secret + " b", "a [redacted] b"},
		{"query", "k=" + url.QueryEscape(secret) + "&x", "k=[redacted]&x"},
		{"hex", "h " + hex.EncodeToString([]byte(secret)) + " h", "h [redacted] h"},
		{"classic token", "t ghp_" + letters(36) + ", next", "t [redacted], next"},
		{"fine-grained token", "github_pat_" + letters(82) + "\n", "[redacted]\n"},
		{"token of an installation", "ghs_" + letters(36) + " x", "[redacted] x"},
		{"token that holds a JWT", `"ghs_12345_` + jwt + `"`, `"[redacted]"`},
		{"token after a JSON escape", `out:\nghp_` + letters(36) + `\n`, `out:\n[redacted]\n`},
		{"anthropic", "sk-ant-api03-" + letters(90), "[redacted]"},
		{"openai", "key sk-proj-" + letters(40) + ".", "key [redacted]."},
		{"openai after a JSON escape", `\nsk-` + letters(40), `\n[redacted]`},
		{"no openai key", "risk-based-decision-making-with-words", "risk-based-decision-making-with-words"},
		{"no openai key either", "sk-learn-something-new-every-day", "sk-learn-something-new-every-day"},
		{"google", "AIza" + letters(35) + "'", "[redacted]'"},
		{"amazon", "AKIA" + strings.Repeat("Q7", 8), "[redacted]"},
		{"slack", "xoxb-" + letters(20), "[redacted]"},
		{"bearer", "Authorization: Bearer " + letters(30) + "\r\n", "Authorization: Bearer [redacted]\r\n"},
		{"bearer in words", "the bearer of this letter is known", "the bearer of this letter is known"},
		{"private key", "a\n" + key + "\nb", "a\n[redacted]\nb"},
		{"public key", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----"},
		{"two", secret + secret, "[redacted][redacted]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.String(tt.in); got != tt.want {
				t.Errorf("String(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestBase64InsideOfOtherText(t *testing.T) {
	r := redact.New(secret)
	for shift := range 6 {
		plain := strings.Repeat("u", shift) + secret + ":tail"
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			got := r.String(enc.EncodeToString([]byte(plain)))
			if !strings.Contains(got, redact.Mark) {
				t.Errorf("shift %d: %q still holds the secret", shift, got)
			}
		}
	}
}

func TestWriterIsTheSameWhereverItIsCut(t *testing.T) {
	r := redact.New(secret)
	in := "x " + secret + " ghp_" + letters(36) + " Bearer " + letters(300) + "; -----BEGIN PRIVATE KEY-----" +
		letters(500) + "-----END PRIVATE KEY----- end of it, " + secret[:10]
	want := r.String(in)
	for size := 1; size < 70; size++ {
		if got := inPieces(r, in, size); got != want {
			t.Fatalf("pieces of %d:\n got %q\nwant %q", size, got, want)
		}
	}
}

func inPieces(r *redact.Redactor, in string, size int) string {
	var out bytes.Buffer
	w := r.Writer(&out)
	for rest := in; rest != ""; {
		n := min(size, len(rest))
		_, _ = io.WriteString(w, rest[:n])
		rest = rest[n:]
	}
	_ = w.Close()
	return out.String()
}

func TestUnfinishedKeyIsBounded(t *testing.T) {
	in := "-----BEGIN PRIVATE KEY-----" + strings.Repeat("x", 200<<10)
	if got := redact.New().String(in); len(got) < 100<<10 {
		t.Errorf("a key block without an end swallowed the rest: %d bytes left", len(got))
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, fmt.Errorf("full") }

func TestWriterTellsAnError(t *testing.T) {
	w := redact.New().Writer(broken{})
	_, err := io.WriteString(w, strings.Repeat("y", 1000))
	if err == nil || w.Close() == nil {
		t.Error("the error of the writer below is lost")
	}
}

func FuzzWriter(f *testing.F) {
	for _, s := range []string{"", "plain", secret, "ghs_" + letters(60), "-----BEGIN PRIVATE KEY-----", "Bearer " + letters(20), "sk-ant-" + letters(9) + secret} {
		f.Add(s, 3)
	}
	r := redact.New(secret)
	f.Fuzz(func(t *testing.T, s string, size int) {
		size = max(1, min(size, 1<<16))
		whole := r.String(s)
		if pieces := inPieces(r, s, size); pieces != whole {
			t.Fatalf("cut in %d: %q, whole: %q", size, pieces, whole)
		}
		if strings.Contains(whole, secret) {
			t.Fatalf("%q still holds the secret", whole)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	text := []byte(strings.Repeat("some output of a build, go test ./... -run TestX: ok\n", 2000))
	r := redact.New(secret)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w := r.Writer(io.Discard)
		_, _ = w.Write(text)
		_ = w.Close()
	}
}
