package sandboxtest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/run"
)

func (s suite) model(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		if u := s.open(t, run.BoxSpec{}).ModelURL(); u != "" {
			t.Errorf("without a model, ModelURL is %q", u)
		}
	})
	t.Run("answers", s.modelAnswers)
	t.Run("streams", s.modelStreams)
}

// post sends its second argument to its first and prints status and answer.
const post = `
import sys, urllib.request, urllib.error
req = urllib.request.Request(sys.argv[1], data=sys.argv[2].encode(), headers={"X-Api-Key": "box token"})
try:
    r = urllib.request.urlopen(req, timeout=60)
except urllib.error.HTTPError as e:
    r = e
print(r.status, r.headers["X-From"], r.read().decode())
`

func (s suite) modelAnswers(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-From", "model")
		if r.URL.Path == "/limited" {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = fmt.Fprintf(w, "%s %s?%s %s %d", r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("X-Api-Key"), len(body))
	})
	b := s.open(t, run.BoxSpec{Model: h, Role: "agent"})
	if strings.HasSuffix(b.ModelURL(), "/") || !strings.HasPrefix(b.ModelURL(), "http://") {
		t.Errorf("ModelURL is %q", b.ModelURL())
	}
	big := strings.Repeat("x", 100_000)
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/messages?beta=true", big, "200 model POST /v1/messages?beta=true box token 100000\n"},
		{"/limited", "b", "429 model POST /limited? box token 1\n"},
	} {
		if o := b.cmd(t, "python3", "-c", post, b.ModelURL()+tt.path, tt.body); o.out != tt.want {
			t.Errorf("%s gave %q, want %q; stderr %s", tt.path, o.out, tt.want, o.err)
		}
	}
}

// duet reads the first line of a stream and only then tells the server to go
// on: it ends only if pieces come as they are written.
const duet = `
import sys, urllib.request
url = sys.argv[1]
stream = urllib.request.urlopen(url + "/stream", timeout=60)
for n in range(3):
    sys.stdout.write(stream.readline().decode())
    urllib.request.urlopen(url + "/next", data=b"", timeout=60).read()
print(stream.read())
`

func (s suite) modelStreams(t *testing.T) {
	next := make(chan struct{}, 3)
	mux := http.NewServeMux()
	mux.HandleFunc("/next", func(http.ResponseWriter, *http.Request) { next <- struct{}{} })
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n", n)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("the handler can't flush: %v", err)
			}
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	})
	b := s.open(t, run.BoxSpec{Model: mux, Role: "agent"})
	o := b.cmd(t, "python3", "-c", duet, b.ModelURL())
	if want := "data: 0\ndata: 1\ndata: 2\nb''\n"; o.out != want {
		t.Errorf("got %q, want %q; stderr %s", o.out, want, o.err)
	}
}
