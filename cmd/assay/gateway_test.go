package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testkit/model"
)

// TestGatewayAlone: each client has a token of its own and never the key, a
// budget ends one client only, every call is in the log under its client's
// name, and the end brings a summary.
func TestGatewayAlone(t *testing.T) {
	up := model.New(t, model.Replies(model.Reply{
		Blocks: []model.Block{{Type: "text", Text: "hello"}}, Usage: assay.Tokens{Input: 1_000_000, Output: 1000},
	}))
	p := newPerson(t, "ANTHROPIC_API_KEY=sk-ant-real-key-of-this-machine")
	cmd := p.command("gateway", "--client", "ann,bob", "--max-cost", "1", "--log", "calls.jsonl", "--upstream", "anthropic="+up.URL)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	base, tokens := "", []string{}
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "# serving") {
		if v, ok := strings.CutPrefix(lines.Text(), "export ANTHROPIC_BASE_URL="); ok {
			base = v
		}
		if v, ok := strings.CutPrefix(lines.Text(), "export ANTHROPIC_API_KEY="); ok {
			tokens = append(tokens, v)
		}
	}
	if len(tokens) != 2 || base == "" {
		t.Fatalf("printed: %q %q", base, tokens)
	}
	for _, c := range []struct {
		token string
		want  int
	}{{tokens[0], 200}, {tokens[0], 403}, {tokens[1], 200}, {"sk-ant-real-key-of-this-machine", 401}, {"", 401}} {
		if got := callModel(t, base, c.token); got != c.want {
			t.Errorf("a call with %q: %d, want %d", c.token, got, c.want)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest := ""
	for lines.Scan() {
		rest += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{"ann  anthropic  1 calls, 1 replies, 1000000 tokens in, 1000 out, $", "its budget is spent", "bob  anthropic  1 calls"} {
		if !strings.Contains(rest, want) {
			t.Errorf("the summary lacks %q:\n%s", want, rest)
		}
	}
	log := read(t, p.path("calls.jsonl"))
	if strings.Count(log, `{"client":"ann","api":"anthropic","time":`) != 2 || strings.Count(log, `{"client":"bob"`) != 1 || strings.Contains(log, "real-key") {
		t.Errorf("the log:\n%s", log)
	}
}

// TestGatewayAloneTellsMistakes: faults are the user's, with what to do.
func TestGatewayAloneTellsMistakes(t *testing.T) {
	p := newPerson(t)
	for want, args := range map[string][]string{
		"ANTHROPIC_API_KEY":          {"gateway"},
		"loopback only":              {"gateway", "--listen", "0.0.0.0:0"},
		"knows no model API called":  {"gateway", "--upstream", "nobody=http://127.0.0.1:1"},
		"must begin with http:// or": {"gateway", "--upstream", "openai=127.0.0.1"},
	} {
		if s := p.types(args...); s.code != 2 || !strings.Contains(s.err, want) {
			t.Errorf("%v: status %d, %s", args, s.code, s.err)
		}
	}
}

func callModel(t *testing.T, base, token string) int {
	t.Helper()
	body := `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}
