package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// maxErrorBody bounds what is passed on of an error answer.
const maxErrorBody = 256 << 10

// exchange asks the upstream, passes its answer on and books the call. A call
// is booked before its end reaches the agent, so that the next one finds the
// account up to date.
func (s *session) exchange(c *call, w http.ResponseWriter, r *http.Request, body []byte) {
	round, ok := s.up.lanes.enter(c.ctx)
	if !ok {
		s.noAnswer(c, w, context.Cause(c.ctx))
		return
	}
	status := 0
	defer func() { s.up.lanes.leave(round, status) }()
	s.up.pause.wait(c.ctx, s.config.Now())
	req, err := s.request(c, r, body)
	if err != nil {
		s.noAnswer(c, w, err)
		return
	}
	clock := newClock(s.config.FirstByte, func() { c.cancel(errFirstByte) })
	defer clock.stop()
	resp, err := s.up.client.Do(req)
	clock.stop()
	if err != nil {
		s.noAnswer(c, w, err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	s.up.pause.told(resp.StatusCode, resp.Header, s.config.Now())
	c.line.FirstMS = clock.since.Milliseconds()
	status = resp.StatusCode
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		s.passError(c, w, resp)
	case resp.StatusCode >= http.StatusMultipleChoices:
		s.noAnswer(c, w, fmt.Errorf("the model API answered with a redirect (%d), which is not followed: check the base URL", resp.StatusCode))
	case isStream(resp.Header):
		s.passStream(c, w, resp)
	default:
		s.passBody(c, w, resp)
	}
}

func (s *session) request(c *call, r *http.Request, body []byte) (*http.Request, error) {
	u := *s.up.base
	query := r.URL.Query()
	members := len(query)
	header := endToEnd(r.Header)
	s.up.authorise(header, query, s.up.conf)
	u.Path = s.up.place(s.up.base, r.URL.Path)
	if u.RawQuery = r.URL.RawQuery; len(query) != members {
		u.RawQuery = query.Encode()
	}
	req, err := http.NewRequestWithContext(c.ctx, r.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header
	for _, h := range []string{"Cookie", "Content-Length", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Expect"} {
		req.Header.Del(h)
	}
	req.Header.Set("Accept-Encoding", "identity")
	return req, nil
}

// endToEnd copies headers without those that belong to one connection.
func endToEnd(h http.Header) http.Header {
	out := h.Clone()
	for _, line := range h.Values("Connection") {
		for _, name := range strings.Split(line, ",") {
			out.Del(textproto.TrimString(name))
		}
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		out.Del(name)
	}
	return out
}

// noAnswer answers for an upstream that didn't.
func (s *session) noAnswer(c *call, w http.ResponseWriter, err error) {
	cause := context.Cause(c.ctx)
	text := s.up.hide.String(err.Error())
	switch {
	case errors.Is(cause, errFirstByte), errors.Is(cause, errIdle):
		s.account(c, outcome{fault: fault("timeout", cause.Error())})
		s.refuse(w, http.StatusGatewayTimeout, cause.Error())
	case cause != nil:
		s.account(c, outcome{left: true, fault: fault("unanswered", "the call ended before the model API answered")})
		s.refuse(w, http.StatusServiceUnavailable, errClosed.Error())
	default:
		s.account(c, outcome{fault: fault("connection", text)})
		s.refuse(w, http.StatusBadGateway, "assay's gateway got no answer from the model API: "+text)
	}
}

func fault(kind, text string) *assay.APIError {
	return &assay.APIError{Kind: kind, Message: text, Count: 1}
}

// passError passes an error answer on. It may repeat the key that it didn't
// like, so the key is taken out.
func (s *session) passError(c *call, w http.ResponseWriter, resp *http.Response) {
	clock := newClock(s.config.Idle, func() { c.cancel(errIdle) })
	defer clock.stop()
	body, release := plain(resp)
	defer release()
	data, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what came is passed on
	data = []byte(s.up.hide.String(string(data)))
	e := s.up.apiError(resp.StatusCode, data)
	s.account(c, outcome{status: resp.StatusCode, fault: &e, bytes: int64(len(data))})
	s.head(w, resp, int64(len(data)))
	_, _ = w.Write(data) // the client may be gone
}

// passBody passes on an answer that is one piece.
func (s *session) passBody(c *call, w http.ResponseWriter, resp *http.Response) {
	clock := newClock(s.config.Idle, func() { c.cancel(errIdle) })
	defer clock.stop()
	body, release := plain(resp)
	defer release()
	// An upstream that repeats the key in an answer must not give it away.
	data, err := io.ReadAll(io.LimitReader(s.up.mask.Reader(body), maxBody+1))
	if err == nil && len(data) > maxBody {
		err = errors.New("the answer is too large")
	}
	if err != nil {
		s.noAnswer(c, w, fmt.Errorf("the answer broke off: %w", err))
		return
	}
	m := s.up.meter(false)
	_, _ = m.Write(data) // meters don't fail
	out := outcome{reading: m.result(), status: resp.StatusCode, bytes: int64(len(data))}
	if !out.reply && c.kind == routeCall {
		out.fault = noReply(resp.StatusCode)
	}
	s.account(c, out)
	s.head(w, resp, int64(len(data)))
	_, _ = w.Write(data) // the client may be gone
}

func noReply(status int) *assay.APIError {
	return &assay.APIError{Status: status, Kind: "no_reply", Message: "the answer holds no whole reply of a model", Count: 1}
}

// head copies the answer's head; length is -1 where it isn't known.
func (s *session) head(w http.ResponseWriter, resp *http.Response, length int64) {
	h := endToEnd(resp.Header)
	for _, name := range []string{"Set-Cookie", "Content-Length", "Content-Encoding"} {
		h.Del(name)
	}
	if length >= 0 {
		h.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	for name, values := range h {
		for _, v := range values {
			w.Header().Add(name, s.up.hide.String(v))
		}
	}
	w.WriteHeader(resp.StatusCode)
}

// plain is the answer's body without compression, which was not asked for but
// may come all the same.
func plain(resp *http.Response) (io.Reader, func()) {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return resp.Body, func() {}
	}
	z, err := gzip.NewReader(resp.Body)
	if err != nil {
		return bytes.NewReader(nil), func() {}
	}
	resp.ContentLength = -1
	return z, func() { _ = z.Close() }
}

// passStream passes an answer on, piece by piece, and reads it on the way.
func (s *session) passStream(c *call, w http.ResponseWriter, resp *http.Response) {
	m := s.up.meter(true)
	body, release := plain(resp)
	defer release()
	s.head(w, resp, -1)
	out := outcome{status: resp.StatusCode}
	before := func(n int) {
		out.bytes += int64(n)
		if out.reading = m.result(); out.reply {
			s.account(c, out)
		}
	}
	err := s.copy(c, w, io.TeeReader(s.up.mask.Reader(body), m), before)
	out.reply = out.reply || out.closing && out.reading.fault == nil
	broke := false
	switch {
	case out.reading.fault != nil:
		out.fault, out.status = out.reading.fault, out.reading.fault.Status
		out.fault.Message = s.up.hide.String(out.fault.Message)
	case err != nil:
		s.broken(c, &out, err)
		broke = out.fault != nil
	case !out.reply && c.kind == routeCall:
		out.fault = noReply(resp.StatusCode)
	}
	s.account(c, out)
	if broke {
		_, _ = w.Write(s.up.event(http.StatusInternalServerError, "assay's gateway: "+out.fault.Message))
	}
}

func isStream(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && t == "text/event-stream"
}

// errClient marks errors of writing to the agent.
var errClient = errors.New("the client is gone")

// copy passes pieces on at once and bounds the silence between them; before
// is called with the size of each piece before it goes out.
func (s *session) copy(c *call, w http.ResponseWriter, from io.Reader, before func(n int)) error {
	clock := newClock(s.config.Idle, func() { c.cancel(errIdle) })
	defer clock.stop()
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		clock.again()
		if n > 0 {
			before(n)
			if _, werr := w.Write(buf[:n]); werr != nil {
				return errClient
			}
			_ = flush.Flush() // a writer that can't flush writes at once
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// broken says what became of an answer that did not come to its end.
func (s *session) broken(c *call, out *outcome, err error) {
	cause := context.Cause(c.ctx)
	switch {
	case out.reply:
		// All that matters had come.
	case errors.Is(cause, errIdle):
		out.status, out.fault = 0, fault("timeout", errIdle.Error())
	case cause != nil, errors.Is(err, errClient), c.client.Err() != nil:
		// The agent went, or was stopped; the upstream did its part.
	default:
		out.status = 0
		out.fault = fault("connection", "the answer broke off: "+s.up.hide.String(err.Error()))
	}
}

// clock calls a function unless it is stopped or begun again in time.
type clock struct {
	d     time.Duration
	t     *time.Timer
	start time.Time
	since time.Duration // until the first stop
}

func newClock(d time.Duration, f func()) *clock {
	c := &clock{d: d, start: time.Now()}
	if d > 0 {
		c.t = time.AfterFunc(d, f)
	}
	return c
}

func (c *clock) again() {
	if c.t != nil {
		c.t.Reset(c.d)
	}
}

func (c *clock) stop() {
	if c.t != nil {
		c.t.Stop()
	}
	if c.since == 0 {
		c.since = time.Since(c.start)
	}
}
