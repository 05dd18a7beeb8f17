package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/assaybot/assay/internal/redact"
)

// TestMask: every form of a value is masked wherever the pieces are cut, and
// nothing else changes.
func TestMask(t *testing.T) {
	m := redact.NewMask(secret, "short")
	for name, form := range map[string]string{
		"plain": secret, "hex": hex.EncodeToString([]byte(secret)), "base64": base64.StdEncoding.EncodeToString([]byte("u:" + secret)),
	} {
		in := "short a " + form + " b " + secret[:5] + form
		for _, read := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
			got, err := io.ReadAll(m.Reader(read(strings.NewReader(in))))
			if err != nil || len(got) != len(in) || bytes.Contains(got, []byte(form)) || !bytes.HasPrefix(got, []byte("short a ")) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		var out bytes.Buffer
		w := m.Writer(&out)
		for i := range in {
			if _, err := io.WriteString(w, in[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || out.Len() != len(in) || strings.Contains(out.String(), form) {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
}

// TestMaskFlows: what can't be the beginning of a value is passed on at once.
func TestMaskFlows(t *testing.T) {
	var out bytes.Buffer
	w := redact.NewMask(secret).Writer(&out)
	for _, piece := range []string{"data: {}\n\n", "event: x\n\n"} {
		before := out.Len()
		if _, err := io.WriteString(w, piece); err != nil || out.Len()-before != len(piece) {
			t.Errorf("%q is held back: %q, %v", piece, out.String(), err)
		}
	}
}
