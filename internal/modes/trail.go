package modes

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"path"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// loopAt is how often the same call is a loop; the others bound what is kept
// of a trajectory of any length.
const (
	loopAt   = 4
	maxCalls = 4096
	maxEdits = 1024
)

// edit is a file that a step edited.
type edit struct {
	file string
	step int
}

// trail is what is kept of the steps.
type trail struct {
	last, said int    // the last step, and the agent's last with a message
	message    string // of that step
	edited     bool
	tested     bool // a test ran after the last edit
	edits      []edit
	calls      map[uint64]int // how often each call was made since the last other edit
	loop       assay.Mode
	search     assay.Mode
	changed    []assay.FileChange
	refused    []assay.Refusal
	acted      bool // a call of a tool was seen
}

func newTrail(r assay.Result) trail {
	return trail{calls: map[uint64]int{}, changed: r.Patch.Files, refused: r.Refused}
}

func (t *trail) step(s assay.Step) {
	t.last = s.ID
	if s.Source != "agent" {
		return
	}
	t.acted = t.acted || len(s.ToolCalls) > 0
	if strings.TrimSpace(s.Message) != "" {
		t.said, t.message = s.ID, s.Message
	}
	for _, c := range s.ToolCalls {
		t.call(s.ID, c)
	}
}

func (t *trail) call(step int, c assay.ToolCall) {
	args, _ := c.Arguments.(map[string]any)
	command, file := commandOf(args), editOf(c.Name, args)
	switch {
	case file != "":
		t.edit(step, file)
	case command != "":
		t.tested = t.tested || runsTests(command)
		if t.search.Step == 0 && searches(command) {
			t.search = assay.Mode{Name: assay.ModeSearched, Step: step, Detail: line(command)}
		}
		if writes(command) {
			t.edited = true
		}
	case web(c.Name) && t.search.Step == 0:
		t.search = assay.Mode{Name: assay.ModeSearched, Step: step, Detail: line(c.Name + " " + first(args, "url", "query"))}
	}
	if t.search.Step == 0 && file == "" {
		t.search = t.asked(step, command)
	}
	t.repeat(step, c, file != "", line(c.Name+" "+command+file))
}

func (t *trail) edit(step int, file string) {
	t.edited, t.tested = true, false
	for _, ch := range t.changed { // as the patch names it
		if file == ch.Path || strings.HasSuffix(file, "/"+ch.Path) {
			file = ch.Path
		}
	}
	if len(t.edits) < maxEdits {
		t.edits = append(t.edits, edit{file: file, step: step})
	}
}

// repeat counts equal calls. An edit begins the count of other calls anew: to
// run the tests after each of four changes is no loop.
func (t *trail) repeat(step int, c assay.ToolCall, edits bool, what string) {
	args, err := json.Marshal(c.Arguments)
	if err != nil {
		return
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\x00%s", c.Name, args) // a hash never fails
	key := h.Sum64()
	n := t.calls[key] + 1
	if edits && n == 1 || len(t.calls) >= maxCalls {
		clear(t.calls)
	}
	t.calls[key] = n
	if n == loopAt && t.loop.Step == 0 {
		t.loop = assay.Mode{Name: assay.ModeLooped, Step: step, Detail: what}
	}
}

// asked is the search that a command names a refused destination for.
func (t *trail) asked(step int, command string) assay.Mode {
	for _, r := range t.refused {
		host, _, _ := strings.Cut(r.Destination, ":")
		if len(host) > 3 && strings.Contains(strings.ToLower(command), host) {
			return assay.Mode{Name: assay.ModeSearched, Step: step, Detail: line("refused: " + r.Destination + ": " + command)}
		}
	}
	return assay.Mode{}
}

// unseen is the search of a program that shows no call of a tool: all that its box asked
// for is the agent's. Of one that shows them, what no step names may be the
// program's own (its telemetry, its list of models).
func (t *trail) unseen() []assay.Mode {
	if t.acted || len(t.refused) == 0 {
		return nil
	}
	return []assay.Mode{{Name: assay.ModeSearched, Detail: line("refused: " + t.refused[0].Destination)}}
}

// found are the modes that the steps show by themselves.
func (t *trail) found() []assay.Mode {
	out := t.unseen()
	for _, m := range []assay.Mode{t.search, t.loop} {
		if m.Step > 0 {
			out = append(out, m)
		}
	}
	return out
}

// commandOf is the command line among a tool's arguments, "" for none.
func commandOf(args map[string]any) string {
	for _, key := range []string{"command", "cmd", "script"} {
		switch v := args[key].(type) {
		case string:
			return v
		case []any:
			words := make([]string, len(v))
			for i, w := range v {
				words[i] = fmt.Sprint(w)
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

// editOf is the file that a call edits, "" for a call that edits none.
func editOf(tool string, args map[string]any) string {
	name := strings.ToLower(path.Base(tool))
	does := false
	for _, word := range []string{"edit", "write", "patch", "replace", "file_change", "create_file"} {
		does = does || strings.Contains(name, word)
	}
	if !does || strings.Contains(name, "todo") {
		return ""
	}
	if file := first(args, "file_path", "filePath", "path", "notebook_path", "file"); file != "" {
		return path.Clean(file)
	}
	if changes, ok := args["changes"].([]any); ok && len(changes) > 0 {
		if one, ok := changes[0].(map[string]any); ok {
			return first(one, "path")
		}
	}
	return ""
}

func first(args map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := args[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}
