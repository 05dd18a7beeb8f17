package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

// charset tells which bytes a token is made of.
type charset interface{ has(byte) bool }

type bits [256]bool

func (b *bits) has(c byte) bool { return b[c] }

func alnum(extra string) *bits {
	var b bits
	for c := '0'; c <= '9'; c++ {
		b[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		b[c], b[c-32] = true, true
	}
	for i := range len(extra) {
		b[extra[i]] = true
	}
	return &b
}

// The alphabets of tokens; never written to.
var (
	word   = alnum("_")
	dashed = alnum("_-")
	dotted = alnum("_-.")
	bearer = alnum("_-.~+/=")
)

// prefixed is a credential that is known by its first characters.
type prefixed struct {
	prefix string
	min    int // characters after the prefix, at least
	set    *bits
	// alone: only where no word goes on before it, and with a digit or a
	// capital in it, since the prefix alone says little.
	alone bool
}

// prefixes holds longer prefixes before the shorter ones that they contain.
var prefixes = []prefixed{
	{prefix: "github_pat_", min: 20, set: word},
	{prefix: "ghp_", min: 20, set: word},
	{prefix: "gho_", min: 20, set: word},
	{prefix: "ghr_", min: 20, set: word},
	{prefix: "ghu_", min: 20, set: dotted},
	{prefix: "ghs_", min: 20, set: dotted}, // may hold a whole JWT
	{prefix: "sk-ant-", min: 8, set: dashed},
	{prefix: "sk-", min: 20, set: dashed, alone: true},
	{prefix: "AIza", min: 30, set: dashed},
	{prefix: "AKIA", min: 16, set: word},
	{prefix: "ASIA", min: 16, set: word, alone: true},
	{prefix: "xoxa-", min: 10, set: dashed},
	{prefix: "xoxb-", min: 10, set: dashed},
	{prefix: "xoxp-", min: 10, set: dashed},
	{prefix: "xoxr-", min: 10, set: dashed},
	{prefix: "xoxs-", min: 10, set: dashed},
	{prefix: "xoxe-", min: 10, set: dashed},
}

// shapeStarts are beginnings of everything that this file knows, two bytes or
// more.
func shapeStarts() []string {
	out := []string{"--", "be", "bE", "Be", "BE", "ba", "bA", "Ba", "BA"}
	for _, p := range prefixes {
		out = append(out, p.prefix)
	}
	return out
}

// shape tells whether rest begins with a credential: keep bytes of it stay,
// n bytes are decided, and bytes of set that follow belong to it.
func shape(rest []byte, prev [2]byte) (keep, n int, set charset) {
	for i := range prefixes {
		p := &prefixes[i]
		if rest[0] == p.prefix[0] && p.matches(rest, prev) {
			return 0, len(p.prefix) + p.min, p.set
		}
	}
	if n := bearerLen(rest, prev); n > 0 {
		return n, n + 16, bearer
	}
	return 0, 0, nil
}

func (p *prefixed) matches(rest []byte, prev [2]byte) bool {
	if len(rest) < len(p.prefix)+p.min || string(rest[:len(p.prefix)]) != p.prefix {
		return false
	}
	body := rest[len(p.prefix) : len(p.prefix)+p.min]
	if !all(body, p.set) {
		return false
	}
	return !p.alone || (boundary(prev) && random(body))
}

func all(b []byte, set charset) bool {
	for _, c := range b {
		if !set.has(c) {
			return false
		}
	}
	return true
}

// boundary tells whether a word can begin after prev. A letter after a
// backslash is an escape of a JSON string, not a word.
func boundary(prev [2]byte) bool {
	return !dashed.has(prev[1]) || (prev[0] == '\\' && strings.ContainsRune("nrtbf", rune(prev[1])))
}

func random(b []byte) bool {
	for _, c := range b {
		if (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') {
			return true
		}
	}
	return false
}

// bearerLen is the length of "Bearer " or "Basic " at the start of rest when
// a credential of 16 characters or more follows, else 0.
func bearerLen(rest []byte, prev [2]byte) int {
	for _, scheme := range []string{"bearer ", "basic "} {
		n := len(scheme)
		if len(rest) < n+16 || !bytes.EqualFold(rest[:n], []byte(scheme)) || !boundary(prev) {
			continue
		}
		if body := rest[n : n+16]; all(body, bearer) && random(body) {
			return n
		}
	}
	return 0
}

// keyBlock is the length of the first line of a private key, else 0.
func keyBlock(rest []byte) int {
	const begin, end = "-----BEGIN ", "PRIVATE KEY-----"
	if len(rest) < len(begin) || string(rest[:len(begin)]) != begin {
		return 0
	}
	head := rest[:min(len(rest), window/2)]
	i := bytes.Index(head, []byte(end))
	if i < 0 || bytes.IndexByte(head[:i], '\n') >= 0 {
		return 0
	}
	return i + len(end)
}

// keyEnd is the length up to the end of a private key block's last line, which
// begins before limit, else 0.
func keyEnd(rest []byte, limit int) int {
	const begin, end = "-----END ", "PRIVATE KEY-----"
	for from := 0; ; {
		i := bytes.Index(rest[from:], []byte(begin))
		if i < 0 || from+i >= limit {
			return 0
		}
		from += i
		line := rest[from:min(from+window/2, len(rest))]
		if j := bytes.Index(line, []byte(end)); j >= 0 {
			return from + j + len(end)
		}
		from += len(begin)
	}
}

// encodings are the forms in which v may stand in a text, v first.
func encodings(v string) []string {
	out := []string{v, hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v)))}
	for _, e := range []string{url.QueryEscape(v), url.PathEscape(v)} {
		out = append(out, e, lowerEscapes(e))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			out = append(out, inner64(enc, v, shift))
		}
	}
	if j, err := json.Marshal(v); err == nil {
		out = append(out, string(j[1:len(j)-1]))
	}
	return out
}

// inner64 is the part of v's base64 form that doesn't depend on what stands
// around v when v begins shift bytes after a multiple of three.
func inner64(enc *base64.Encoding, v string, shift int) string {
	e := enc.EncodeToString(append(make([]byte, shift), v...))
	from := (shift*8 + 5) / 6
	to := (shift + len(v)) * 8 / 6
	if to-from < 8 {
		return ""
	}
	return e[from:to]
}

func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}
