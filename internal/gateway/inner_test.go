package gateway

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

func TestPrices(t *testing.T) {
	tests := []struct {
		model string
		t     assay.Tokens
		hour  int64
		want  float64
	}{
		{"claude-sonnet-4-5", assay.Tokens{Input: 100, CacheRead: 30, CacheWrite: 20, Output: 50}, 0, 0.001134},
		{"claude-sonnet-4-5-20250929", assay.Tokens{Output: 1e6}, 0, 15},
		{"claude-sonnet-4-5[1m]", assay.Tokens{Input: 200_001}, 0, 200_001 * 6e-6},
		{"anthropic/claude-opus-4-8", assay.Tokens{Input: 1e6, Output: 1e6}, 0, 30},
		{"claude-haiku-4-5", assay.Tokens{CacheWrite: 1e6}, 1e6, 2},
		{"claude-haiku-4-5", assay.Tokens{CacheWrite: 1e6}, 9e6, 2},
	}
	for _, tt := range tests {
		p, ok := pricing{}.of(tt.model)
		if got := p.cost(tt.t, tt.hour); !ok || got-tt.want > 1e-9 || tt.want-got > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", tt.model, got, ok, tt.want)
		}
	}
	if _, ok := (pricing{}).of("claude-unheard-of"); ok {
		t.Error("a price for an unknown model")
	}
}

func TestPauseIsSharedAndBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &pause{}
	h := http.Header{"Retry-After": {"3600"}}
	p.told(500, h, now)
	p.told(429, http.Header{}, now)
	if !p.until.IsZero() {
		t.Error("a pause without reason")
	}
	p.told(429, h, now)
	if got := p.until.Sub(now); got != maxPause {
		t.Errorf("pause of %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.wait(ctx, now) // returns at once: ctx is over
	p.wait(t.Context(), now.Add(maxPause))
}

func TestLanesShrinkAndGrow(t *testing.T) {
	l := &lanes{}
	var rounds []int
	for range 8 {
		round, ok := l.enter(t.Context())
		if !ok {
			t.Fatal("no place without a bound")
		}
		rounds = append(rounds, round)
	}
	for i, round := range rounds {
		l.leave(round, 429)
		if l.bound != 4 || l.active != 7-i {
			t.Fatalf("after complaint %d: bound %d, %d active", i+1, l.bound, l.active)
		}
	}
	for range 4 {
		if _, ok := l.enter(t.Context()); !ok {
			t.Fatal("no place below the bound")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := l.enter(ctx); ok {
		t.Fatal("a place above the bound")
	}
	entered := make(chan bool)
	go func() {
		_, ok := l.enter(t.Context())
		entered <- ok
	}()
	l.leave(l.round, 200)
	if !<-entered {
		t.Fatal("a freed place was not taken")
	}
	for range 3 {
		l.leave(l.round, 200)
	}
	if l.bound != 5 {
		t.Fatalf("bound %d after a round that went well", l.bound)
	}
	l.leave(l.round, 529)
	if l.bound != 1 || l.active != 0 {
		t.Fatalf("bound %d, %d active", l.bound, l.active)
	}
	for range maxLanes * maxLanes {
		round, _ := l.enter(t.Context())
		l.leave(round, 200)
	}
	if l.bound != 0 {
		t.Errorf("bound %d after all went well", l.bound)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	var list []assay.APIError
	for i := range 200 {
		list = addError(list, assay.APIError{Status: i, Count: 1, Message: strings.Repeat("m", 5000)})
	}
	total := 0
	for _, e := range list {
		total += e.Count
		if len(e.Message) > 2*maxMessage {
			t.Errorf("a message of %d bytes", len(e.Message))
		}
	}
	if len(list) != maxErrors || total != 200 {
		t.Errorf("%d errors, %d in all", len(list), total)
	}
}

func TestMeterSkipsEndlessLines(t *testing.T) {
	s := anthropic{}.meter(true).(*anthropicStream)
	piece := []byte(strings.Repeat("x", 1<<20))
	for range 10 {
		_, _ = s.Write(piece)
	}
	if cap(s.lines.part) > 2*maxLine {
		t.Errorf("%d bytes kept", cap(s.lines.part))
	}
	_, _ = s.Write([]byte("\ndata: {\"type\":\"message_stop\"}\n"))
	if !s.result().reply {
		t.Error("the line after the endless one was lost")
	}
}

func FuzzMeter(f *testing.F) {
	f.Add([]byte("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n"), 5)
	f.Add([]byte(`{"type":"message","usage":{"output_tokens":-3}}`), 1)
	f.Add([]byte("data: {\"type\":\"error\",\"error\":{}}\r\n\r\n"), 2)
	f.Add([]byte("data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":-1,\"output_tokens\":2}}}\n\n"), 3)
	f.Add([]byte("data: {\"choices\":[{\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5,\"prompt_tokens_details\":{\"cached_tokens\":9}}}\n\ndata: [DONE]\n"), 4)
	f.Add([]byte("data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":-4}}\n\n"), 5)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		size = max(1, min(size, 1<<16))
		for i := range 2 * len(providers()) {
			p, stream := providers()[i/2], i%2 == 0
			whole, pieces := p.meter(stream), p.meter(stream)
			_, _ = whole.Write(data)
			for rest := data; len(rest) > 0; {
				n := min(size, len(rest))
				_, _ = pieces.Write(rest[:n])
				rest = rest[n:]
			}
			a, b := whole.result(), pieces.result()
			if a.tokens != b.tokens || a.reply != b.reply || (a.fault == nil) != (b.fault == nil) {
				t.Fatalf("%+v in pieces, %+v whole", b, a)
			}
			if a.tokens.Input < 0 || a.tokens.Output < 0 {
				t.Fatalf("negative tokens %+v", a.tokens)
			}
		}
	})
}
