package model

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// api is one wire form of the same conversation.
type api interface {
	// parse reads a request and counts the model's turns in it.
	parse(r *http.Request, body []byte) (Request, int, error)
	// whole is a reply as one object, events the same as a stream, and
	// frame one event's bytes.
	whole(m message) map[string]any
	events(m message) []map[string]any
	frame(e map[string]any) string
	// fault is the body of an error answer, faultEvent an error within a
	// stream.
	fault(r Reply) map[string]any
	faultEvent(r Reply) map[string]any
}

// apiOf is the API that a path belongs to, nil for none. Clients put the
// version into their base URL or not.
func apiOf(path string) api {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return messages{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "GenerateContent"), strings.HasSuffix(path, ":generateContent"):
		return gemini{}
	}
	return nil
}

// counts tells whether a path asks for a number of tokens.
func counts(path string) bool {
	return strings.HasSuffix(path, "/count_tokens") || strings.HasSuffix(path, ":countTokens") || strings.HasSuffix(path, "/input_tokens")
}

func named(e map[string]any) string {
	return fmt.Sprintf("event: %s\ndata: %s\n\n", e["type"], encode(e))
}

func unnamed(e map[string]any) string { return "data: " + string(encode(e)) + "\n\n" }

// messages is the Anthropic Messages API.
type messages struct{}

func (messages) parse(_ *http.Request, body []byte) (Request, int, error) { return parse(body) }
func (messages) whole(m message) map[string]any                           { return m.whole() }
func (messages) events(m message) []map[string]any                        { return m.events() }
func (messages) frame(e map[string]any) string                            { return named(e) }
func (messages) fault(r Reply) map[string]any                             { return errorEvent(r) }
func (messages) faultEvent(r Reply) map[string]any                        { return errorEvent(r) }

// speak turns a reply's shell commands into calls of the tool that the
// program at the other end offers, and its figures into those that the API
// can tell.
func speak(a api, req Request, r Reply) Reply {
	r.Blocks = slices.Clone(r.Blocks)
	for i, b := range r.Blocks {
		args, ok := b.Input.(map[string]any)
		if b.Tool != shellTool || !ok || req.HasTool(shellTool) {
			continue
		}
		r.Blocks[i].Tool, r.Blocks[i].Input = shellOf(req, args)
	}
	if r.Usage == (assay.Tokens{}) {
		r.Usage = DefaultUsage()
		switch a.(type) {
		case gemini:
			r.Usage.CacheWrite, r.Usage.Reasoning = 0, 5
		case responses, chat:
			r.Usage.CacheWrite, r.Usage.Reasoning = 0, 5
		}
	}
	return r
}

// shellOf is the name and the arguments of a program's tool for commands.
func shellOf(req Request, args map[string]any) (string, any) {
	command := args["command"]
	switch {
	case req.HasTool("exec_command"):
		return "exec_command", map[string]any{"cmd": command}
	case req.HasTool("shell_command"):
		return "shell_command", map[string]any{"command": command}
	case req.HasTool("shell"):
		return "shell", map[string]any{"command": []any{"bash", "-lc", command}}
	case req.HasTool("run_shell_command"):
		return "run_shell_command", map[string]any{"command": command}
	case req.HasTool("bash"):
		return "bash", args
	}
	return shellTool, args
}
