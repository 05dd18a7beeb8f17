package model_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testkit/model"
)

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

const ask = `{"model":"m","stream":%STREAM%,"system":[{"type":"text","text":"sys"}],"tools":[{"name":"Bash"}],"messages":[%MESSAGES%]}`

func body(stream string, turns int) string {
	msgs := `{"role":"user","content":"hello"}`
	for range turns {
		msgs += `,{"role":"assistant","content":"x"},{"role":"user","content":[{"type":"tool_result","content":"out"}]}`
	}
	return strings.NewReplacer("%STREAM%", stream, "%MESSAGES%", msgs).Replace(ask)
}

func TestRepliesGoByTurnOfTheConversation(t *testing.T) {
	s := model.New(t, model.Replies(model.Bash("ls"), model.Text("fine")))
	for range 2 { // a repeated call gets the same reply
		_, got := post(t, s.URL+"/v1/messages?beta=true", body("false", 0))
		if !strings.Contains(got, `"command":"ls"`) || !strings.Contains(got, `"stop_reason":"tool_use"`) {
			t.Errorf("first turn: %s", got)
		}
	}
	if _, got := post(t, s.URL+"/v1/messages", body("false", 1)); !strings.Contains(got, `"text":"fine"`) {
		t.Errorf("second turn: %s", got)
	}
	if _, got := post(t, s.URL+"/v1/messages", body("false", 2)); !strings.Contains(got, "Done.") {
		t.Errorf("third turn: %s", got)
	}
	served := s.Served()
	want := assay.Tokens{Input: 400, CacheWrite: 80, CacheRead: 120, Output: 200}
	if served.Calls != 4 || served.Replies != 4 || served.Tokens != want {
		t.Errorf("served %+v", served)
	}
	last := s.Requests()[3]
	if last.System != "sys" || last.First != "hello" || last.Last != "out" || !last.HasTool("Bash") || last.Model != "m" {
		t.Errorf("request %+v", last)
	}
}

func TestStreamIsServerSentEvents(t *testing.T) {
	s := model.New(t, model.Replies(model.Text("wörds").And(model.Tool("Read", map[string]any{"file_path": "a"}))))
	_, got := post(t, s.URL+"/v1/messages", body("true", 0))
	var text, input string
	var kinds []string
	for _, part := range strings.Split(strings.TrimSpace(got), "\n\n") {
		_, data, _ := strings.Cut(part, "\ndata: ")
		var e struct {
			Type  string `json:"type"`
			Delta struct {
				Text    string `json:"text"`
				Partial string `json:"partial_json"`
			} `json:"delta"`
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || !strings.HasPrefix(part, "event: "+e.Type+"\n") {
			t.Fatalf("%v: %q", err, part)
		}
		kinds = append(kinds, e.Type)
		text += e.Delta.Text
		input += e.Delta.Partial
	}
	if text != "wörds" || input != `{"file_path":"a"}` {
		t.Errorf("text %q, input %q", text, input)
	}
	if kinds[0] != "message_start" || kinds[len(kinds)-1] != "message_stop" {
		t.Errorf("events %v", kinds)
	}
}

func TestModes(t *testing.T) {
	want := map[string]int{"ok": 200, "tool": 200, "400": 400, "401": 401, "429": 429, "500": 500, "529": 529}
	for _, mode := range model.Modes() {
		if mode == "hang" {
			continue
		}
		s := model.New(t, model.Mode(mode))
		if code, got := post(t, s.URL+"/v1/messages", body("false", 0)); code != want[mode] {
			t.Errorf("%s: %d %s", mode, code, got)
		}
	}
	if model.Mode("nonsense") != nil {
		t.Error("an unknown mode has a script")
	}
}

func TestHangEndsWithTheServer(t *testing.T) {
	asked := make(chan struct{})
	s := model.New(nil, func(model.Request, int) model.Reply {
		close(asked)
		return model.Hang()
	})
	ended := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.URL+"/v1/messages", strings.NewReader(body("true", 0)))
		if err == nil {
			var resp *http.Response
			if resp, err = http.DefaultClient.Do(req); err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
		}
		ended <- err
	}()
	<-asked
	s.Close()
	<-ended
}

func TestOtherPathsAndBadBodies(t *testing.T) {
	s := model.New(t, model.Failing(1, model.Status(503), model.Mode("ok")))
	if code, _ := post(t, s.URL+"/v1/other", "{}"); code != 404 {
		t.Error(code)
	}
	if code, _ := post(t, s.URL+"/v1/messages", "{"); code != 400 {
		t.Error(code)
	}
	if _, got := post(t, s.URL+"/v1/messages/count_tokens", "{}"); !strings.Contains(got, "input_tokens") {
		t.Error(got)
	}
	if code, _ := post(t, s.URL+"/v1/messages", body("false", 0)); code != 503 {
		t.Error(code)
	}
	if code, _ := post(t, s.URL+"/v1/messages", body("false", 0)); code != 200 {
		t.Error(code)
	}
}
