package gateway

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
)

// logLine is one call in gateway.jsonl. It holds no header and no body.
type logLine struct {
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	// Model as asked for; Served as the answer named it, if it differs.
	Model  string `json:"model,omitempty"`
	Served string `json:"served_model,omitempty"`
	// Status of the upstream's answer; 0 for none.
	Status int          `json:"status"`
	Reply  bool         `json:"reply"`
	Tokens assay.Tokens `json:"tokens"`
	Cost   float64      `json:"cost_usd"`
	Priced bool         `json:"priced"`
	// Estimated: the answer told no tokens.
	Estimated bool  `json:"estimated,omitempty"`
	MS        int64 `json:"ms"`
	// FirstMS is the time until the answer's head.
	FirstMS int64  `json:"first_ms,omitempty"`
	Bytes   int64  `json:"bytes"`
	Error   string `json:"error,omitempty"`
}

// outcome is how one exchange with the upstream ended.
type outcome struct {
	reading
	// status is what counts as the call's status: the upstream's, that of
	// an error within the answer, 0 for a connection that failed.
	status int
	fault  *assay.APIError
	// left: the client went before there was an answer; no word on the
	// upstream.
	left  bool
	bytes int64
	// estimated: the tokens are worked out from lengths.
	estimated bool
}

// perToken is about how many bytes of text make a token.
const perToken = 4

// estimate fills in tokens that the answer didn't tell: an upstream that
// leaves them out, or an answer that broke off, which is billed all the same.
// sent is the size of the request in bytes.
func (o *outcome) estimate(sent int64) {
	came := o.reply || o.text > 0 && o.status < http.StatusBadRequest
	t := &o.tokens
	if came && t.Input+t.CacheRead+t.CacheWrite == 0 {
		t.Input, o.estimated = sent/perToken, true
	}
	if said := o.text / perToken; !o.reply && came && t.Output < said || o.reply && t.Output == 0 && said > 0 {
		t.Output, o.estimated = said, true
	}
}

// account books one call and logs it, once.
func (s *session) account(c *call, out outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.booked {
		return
	}
	c.booked = true
	l := &c.line
	if c.kind == routeCall {
		out.estimate(c.sent)
	}
	l.Status, l.Reply, l.Tokens = out.status, out.reply, out.tokens
	l.Bytes, l.Estimated = out.bytes, out.estimated
	if out.model != l.Model {
		l.Served = out.model
	}
	l.Cost, l.Priced = s.price(l.Model, out)
	if out.fault != nil {
		l.Error = out.fault.Kind
	}
	s.log(c)
	if c.kind == routeCall {
		s.book(l, out)
	}
}

func (s *session) price(asked string, out outcome) (float64, bool) {
	if out.tokens.Total() == 0 {
		return 0, true
	}
	for _, name := range []string{out.model, asked} {
		if p, ok := s.prices.of(name); ok {
			return p.cost(out.tokens, out.hour), true
		}
	}
	return 0, false
}

func (s *session) book(l *logLine, out outcome) {
	m := &s.calls
	m.Calls++
	m.Tokens = m.Tokens.Add(out.tokens)
	m.CostUSD += l.Cost
	m.Priced = m.Priced && l.Priced
	m.Estimated = m.Estimated || out.estimated
	if !out.left {
		m.Last = out.status
	}
	if out.reply {
		m.Replies++
		m.Refused = out.refused
	}
	if out.fault != nil {
		m.Errors = addError(m.Errors, *out.fault)
	}
}

// Bounds of the list of errors.
const (
	maxErrors  = 50
	maxMessage = 500
)

// addError counts an error with its like.
func addError(list []assay.APIError, e assay.APIError) []assay.APIError {
	for i := range list {
		if list[i].Status == e.Status && list[i].Kind == e.Kind {
			list[i].Count += e.Count
			return list
		}
	}
	if len(list) == maxErrors {
		list[maxErrors-1].Count += e.Count
		return list
	}
	e.Message = atif.Cut(e.Message, maxMessage)
	return append(list, e)
}

// log writes one line; s.mu is held.
func (s *session) log(c *call) {
	if s.spec.Log == nil {
		return
	}
	c.line.MS = s.config.Now().Sub(c.start).Milliseconds()
	data, err := json.Marshal(c.line)
	if err == nil {
		_, err = s.spec.Log.Write(append(data, '\n'))
	}
	if err != nil && s.logErr == nil {
		s.logErr = err
	}
}
