package docker

import (
	"strings"
	"sync"
)

// tail keeps the last bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if over := len(t.last) - tailSize; over > 0 {
		t.last = append([]byte(nil), t.last[over:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.last), "?"))
}
