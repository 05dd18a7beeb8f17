package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// bearer is the token of an Authorization header, "" for none.
func bearer(h http.Header) string {
	scheme, rest, _ := strings.Cut(h.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(rest)
	}
	return ""
}

// modelOf is the member "model" of a request.
func modelOf(body []byte) string {
	var in struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(body, &in) // a broken body is the upstream's to refuse
	return in.Model
}

func marshal(v any, otherwise string) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(otherwise)
	}
	return data
}

// framed is about how much text an event of a stream brings; most of a small
// one is its frame.
func framed(event []byte) int64 { return int64(max(len(event)/4, len(event)-160)) }

// maxBody bounds what a meter keeps of an answer that is one piece.
const maxBody = 32 << 20

// wholeBody meters an answer that isn't streamed: it is read at its end.
type wholeBody struct {
	buf  bytes.Buffer
	read func([]byte) reading
}

func (b *wholeBody) Write(p []byte) (int, error) {
	if room := maxBody - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *wholeBody) result() reading {
	r := b.read(b.buf.Bytes())
	if r.text == 0 {
		r.text = int64(b.buf.Len()) / 2
	}
	return r
}
