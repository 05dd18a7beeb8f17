package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/gateway"
	"github.com/assaybot/assay/internal/run"
)

// BenchmarkOverhead compares calls through the gateway with the same calls
// straight to the upstream: a short one for the time that is added to each
// (p50-µs), and a long stream for the throughput.
func BenchmarkOverhead(b *testing.B) {
	for _, size := range []struct {
		name   string
		events int
	}{{"short", 3}, {"stream", 20_000}} {
		up := httptest.NewServer(streaming(size.events))
		defer up.Close()
		g, err := gateway.New(gateway.Config{Upstreams: map[string]gateway.Upstream{"anthropic": {BaseURL: up.URL, Key: realKey}}})
		if err != nil {
			b.Fatal(err)
		}
		s, err := g.Session(run.SessionSpec{Provider: "anthropic", Log: io.Discard})
		if err != nil {
			b.Fatal(err)
		}
		through := httptest.NewServer(s)
		defer through.Close()
		b.Run(size.name+"/direct", func(b *testing.B) { measure(b, up.URL, "x") })
		b.Run(size.name+"/gateway", func(b *testing.B) { measure(b, through.URL, s.Token()) })
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// streaming answers with a message of that many deltas, each a piece of its
// own.
func streaming(events int) http.HandlerFunc {
	delta := `event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + strings.Repeat("word ", 12) + `"}}` + "\n\n"
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		_, _ = fmt.Fprint(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":7}}}\n\n")
		for range events {
			_, _ = io.WriteString(w, delta)
			_ = flush.Flush()
		}
		_, _ = fmt.Fprint(w, "data: {\"type\":\"message_stop\"}\n\n")
	}
}

func measure(b *testing.B, url, token string) {
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		resp, err := http.DefaultClient.Do(request(b.Context(), url, token, true))
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status, err)
		}
		b.SetBytes(n)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}
