package github

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// The bounds of what is remembered of replies: their number, and the bytes of
// one.
const (
	maxCached    = 256
	maxCachedOne = 1 << 20
)

// cache remembers replies to reads with their ETags. Nothing is answered from
// it unasked: every hit is asked for again, and a 304 costs no quota. A reply
// belongs to the token that it was given to, since the server's tags differ by
// token and what one may see another may not.
type cache struct {
	mu      sync.Mutex
	entries map[string]*cached
	age     []string // keys, oldest first
}

// cached is a reply of 200 as it came.
type cached struct {
	tag    string
	header http.Header
	body   []byte
}

// ask makes a read conditional if its reply is known; the key is "" for a
// request that isn't remembered.
func (c *cache) ask(r *http.Request) (key string, known *cached) {
	if r.Method != http.MethodGet || r.Header.Get("If-None-Match") != "" {
		return "", nil
	}
	who := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	key = fmt.Sprintf("%x %s %s", who, r.Header.Get("Accept"), r.URL)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known = c.entries[key]; known != nil {
		r.Header.Set("If-None-Match", known.tag)
	}
	return key, known
}

// answer is the reply that a caller sees: a 304 becomes what is known, with
// the limits and the date of the new reply. A new reply is remembered.
func (c *cache) answer(key string, known *cached, resp *http.Response) error {
	switch {
	case key == "":
		return nil
	case known != nil && resp.StatusCode == http.StatusNotModified:
		_ = resp.Body.Close()
		fresh := resp.Header
		resp.Header = known.header.Clone()
		for name, values := range fresh {
			resp.Header[name] = values
		}
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(known.body)), int64(len(known.body))
		return nil
	case resp.StatusCode == http.StatusOK && resp.Header.Get("ETag") != "":
		return c.keep(key, resp)
	}
	return nil
}

// keep remembers a reply, unless it is too long.
func (c *cache) keep(key string, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxCachedOne+1))
	if err != nil {
		_ = resp.Body.Close()
		return err
	}
	rest := resp.Body
	if len(body) > maxCachedOne {
		resp.Body = both{io.MultiReader(bytes.NewReader(body), rest), rest}
		return nil
	}
	_ = rest.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string]*cached{}
	}
	if c.entries[key] == nil {
		c.age = append(c.age, key)
	}
	header := resp.Header.Clone()
	for name := range header { // what was true then only
		if strings.HasPrefix(name, "X-Ratelimit-") || name == "Date" || name == "Retry-After" {
			header.Del(name)
		}
	}
	c.entries[key] = &cached{tag: resp.Header.Get("ETag"), header: header, body: body}
	if len(c.age) > maxCached {
		delete(c.entries, c.age[0])
		c.age = c.age[1:]
	}
	return nil
}

// both reads from one and closes another.
type both struct {
	io.Reader
	io.Closer
}
