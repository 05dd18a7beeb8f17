package model

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/assaybot/assay/internal/assay"
)

// Request is one call as the server saw it.
type Request struct {
	// Seq counts calls of the server from 1.
	Seq    int
	Path   string
	Query  string
	Header http.Header
	Model  string
	Stream bool
	// System and First are the text of the system prompt and of the first
	// user message: what tells conversations apart.
	System string
	First  string
	// Last is the text of the last message, tool results included.
	Last  string
	Tools []string
	Raw   []byte
}

// HasTool tells whether the request offers a tool.
func (r Request) HasTool(name string) bool {
	for _, t := range r.Tools {
		if t == name {
			return true
		}
	}
	return false
}

// Script decides what a request is answered with. n counts the model's turns
// of the conversation so far, from 0; a call that a client repeats after an
// error has the same n again.
type Script func(req Request, n int) Reply

// Reply is one answer. The zero value is an empty message.
type Reply struct {
	// Status other than 0 and 200 answers with an error of that kind.
	Status  int
	Kind    string // "rate_limit_error"; "" for the usual one of Status
	Message string
	Header  map[string]string

	Blocks []Block
	// Stop is why the reply ends, in the words of its API; "" for an end or a
	// call of tools, as Blocks say.
	Stop string
	// Usage that is told and counted; zero for DefaultUsage.
	Usage assay.Tokens

	// NoUsage leaves the figures out, where an API allows that.
	NoUsage bool

	// Silent never answers, until the client goes or the server closes.
	Silent bool
	// CutAfter ends the connection after that many events of a stream; 0
	// doesn't.
	CutAfter int
	// ErrorAfter sends an error event of Kind in place of the stream's
	// event with that number; 0 doesn't.
	ErrorAfter int
}

// Block is one content block: text, thinking, or a tool call.
type Block struct {
	Type  string // "text", "thinking", "tool_use"
	Text  string
	Tool  string
	Input any
}

// DefaultUsage is what a reply costs whose script doesn't say.
func DefaultUsage() assay.Tokens {
	return assay.Tokens{Input: 100, CacheWrite: 20, CacheRead: 30, Output: 50}
}

// Text is a reply of words that ends the turn.
func Text(s string) Reply { return Reply{Blocks: []Block{{Type: "text", Text: s}}} }

// Tool is a reply that calls one tool.
func Tool(name string, input any) Reply {
	return Reply{Blocks: []Block{{Type: "tool_use", Tool: name, Input: input}}}
}

const shellTool = "Bash"

// Bash is a reply that runs a shell command, with whichever tool the program
// offers for that.
func Bash(command string) Reply {
	return Tool(shellTool, map[string]any{"command": command, "description": "run a command"})
}

// And puts the content of another reply behind that of r: text and several
// tool calls in one message.
func (r Reply) And(o Reply) Reply {
	r.Blocks = append(append([]Block(nil), r.Blocks...), o.Blocks...)
	return r
}

// Status is an error answer.
func Status(code int) Reply {
	return Reply{Status: code, Message: fmt.Sprintf("scripted %s", kindOf(code))}
}

// Hang is no answer at all.
func Hang() Reply { return Reply{Silent: true} }

// Replies gives one reply per turn; when they are used up, the last text
// again, or "Done.". A request that offers no tools (a program's side call,
// such as a title) gets a word and uses up nothing.
func Replies(list ...Reply) Script {
	return func(req Request, n int) Reply {
		switch {
		case n < len(list) && isError(list[n]):
			return list[n]
		case len(req.Tools) == 0 && n == 0 && len(list) > 0 && calls(list[0]):
			return Text("ok")
		case n < len(list):
			return list[n]
		}
		return Text("Done.")
	}
}

func isError(r Reply) bool { return r.Silent || (r.Status != 0 && r.Status != http.StatusOK) }

func calls(r Reply) bool {
	for _, b := range r.Blocks {
		if b.Type == "tool_use" {
			return true
		}
	}
	return false
}

// Failing answers the first count calls of the server with bad, and the rest
// as then says.
func Failing(count int, bad Reply, then Script) Script {
	var seen atomic.Int64
	return func(req Request, n int) Reply {
		if seen.Add(1) <= int64(count) {
			return bad
		}
		return then(req, n)
	}
}

// Modes lists the names that Mode knows.
func Modes() []string {
	return []string{"ok", "tool", "400", "401", "429", "500", "529", "hang"}
}

// Mode is a script by name: "ok" answers at once, "tool" first runs a
// command that writes made.txt, a number answers with that status, "hang"
// never answers. It is nil for an unknown name.
func Mode(name string) Script {
	switch name {
	case "ok":
		return Replies(Text("Working."))
	case "tool":
		return Replies(
			Text("Working.").And(Bash("echo hi > made.txt")).And(Bash("echo second")),
			Text("Working."))
	case "400", "401", "429", "500", "529":
		var code int
		_, _ = fmt.Sscan(name, &code)
		return func(Request, int) Reply { return Status(code) }
	case "hang":
		return func(Request, int) Reply { return Hang() }
	}
	return nil
}

func kindOf(code int) string {
	kinds := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
		404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
		529: "overloaded_error",
	}
	if k, ok := kinds[code]; ok {
		return k
	}
	return "api_error"
}
