package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// Cleaner is the part of a test that New needs: testing.TB has it.
type Cleaner interface{ Cleanup(func()) }

// Server answers at URL until it is closed.
type Server struct {
	// URL is the base URL, without a slash at its end.
	URL string

	script Script
	http   *http.Server
	stop   context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	served   Served
	requests []Request
}

// Served is what a server gave out.
type Served struct {
	Calls   int // requests for messages, answered or not
	Replies int // whole messages
	Errors  int
	Tokens  assay.Tokens
}

// New starts a server on a free port of loopback. With a test it closes by
// itself; with nil the caller closes it. It panics when loopback can't be
// listened on.
func New(t Cleaner, script Script) *Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("scripted model: %v", err))
	}
	s := Serve(l, script)
	if t != nil {
		t.Cleanup(s.Close)
	}
	return s
}

// Serve starts a server on a listener of the caller's, which it closes.
func Serve(l net.Listener, script Script) *Server {
	ctx, stop := context.WithCancel(context.Background()) // the server's own life; Close ends it
	s := &Server{URL: "http://" + l.Addr().String(), script: script, stop: stop, done: make(chan struct{})}
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l)
	}()
	return s
}

// Close ends all calls and stops the server.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close()
	<-s.done
}

// Served is the account so far.
func (s *Server) Served() Served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// Requests are the calls for messages so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	a := apiOf(r.URL.Path)
	switch {
	case r.Method != http.MethodPost:
		sendError(w, messages{}, Status(http.StatusNotFound))
	case counts(r.URL.Path):
		sendJSON(w, http.StatusOK, map[string]int{"input_tokens": 10, "totalTokens": 10})
	case a != nil:
		s.message(w, r, a, body)
	default:
		sendError(w, messages{}, Status(http.StatusNotFound))
	}
}

func (s *Server) message(w http.ResponseWriter, r *http.Request, a api, body []byte) {
	req, turns, err := a.parse(r, body)
	if err != nil {
		sendError(w, a, Status(http.StatusBadRequest))
		return
	}
	req.Path, req.Query, req.Header = r.URL.Path, r.URL.RawQuery, r.Header.Clone()
	req.Seq = s.note(&req)
	reply := speak(a, req, s.script(req, turns))
	for k, v := range reply.Header {
		w.Header().Set(k, v)
	}
	switch {
	case reply.Silent:
		<-r.Context().Done()
	case isError(reply):
		s.count(Served{Errors: 1})
		sendError(w, a, reply)
	default:
		s.send(w, a, req, reply)
	}
}

func (s *Server) note(req *Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served.Calls++
	req.Seq = s.served.Calls
	s.requests = append(s.requests, *req)
	return req.Seq
}

func (s *Server) count(d Served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served.Replies += d.Replies
	s.served.Errors += d.Errors
	s.served.Tokens = s.served.Tokens.Add(d.Tokens)
}

func (s *Server) send(w http.ResponseWriter, a api, req Request, reply Reply) {
	m := message{id: fmt.Sprintf("msg_scripted_%d", req.Seq), model: req.Model, reply: reply}
	if reply.CutAfter == 0 && reply.ErrorAfter == 0 {
		s.count(Served{Replies: 1, Tokens: m.reply.Usage})
	}
	if !req.Stream {
		sendJSON(w, http.StatusOK, a.whole(m))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, e := range a.events(m) {
		if reply.CutAfter > 0 && i == reply.CutAfter {
			panic(http.ErrAbortHandler) // the only way to cut a connection off
		}
		broken := reply.ErrorAfter > 0 && i == reply.ErrorAfter
		if broken {
			e = a.faultEvent(reply)
		}
		if _, err := io.WriteString(w, a.frame(e)); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		if broken {
			return
		}
	}
}

func sendJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(encode(v))
}

func sendError(w http.ResponseWriter, a api, r Reply) {
	sendJSON(w, r.Status, a.fault(r))
}

func errorEvent(r Reply) map[string]any {
	kind := r.Kind
	if kind == "" {
		kind = kindOf(r.Status)
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": r.Message}}
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"type":"error","error":{"type":"api_error","message":"the script's value is no JSON"}}`)
	}
	return data
}
