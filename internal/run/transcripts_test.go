package run

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
)

// TestTranscriptsAreKept: a program's own transcripts are kept, and nothing
// else that lies beside them.
func TestTranscriptsAreKept(t *testing.T) {
	s := newStage(t, func(_ context.Context, b *fakeBox, _ Command) (Exit, error) {
		for _, name := range []string{"a/main.jsonl", "a/subagents/x.jsonl", "state.json", "notes.txt", "odd name.jsonl"} {
			b.write(HomeDir+"/.agent/"+name, name)
		}
		b.write(HomeDir+"/other.jsonl", "no")
		return Exit{}, nil
	})
	s.Agents["fake"] = fakeAgent{launch: func(Invocation) Launch {
		return Launch{Argv: []string{"agent"}, Parser: &lineParser{}, Transcripts: []string{".agent", ".missing"}}
	}}
	j := job("a")
	s.Attempt(t.Context(), j)
	rec := s.ledger.last(j.Trial.ID)
	for _, name := range []string{"a/main.jsonl", "a/subagents/x.jsonl", "state.json"} {
		if got := rec.text(AgentFolder + "/.agent/" + name); got != name {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name := range rec.files {
		if strings.HasSuffix(name, ".txt") || strings.Contains(name, "odd") || strings.Contains(name, "other") {
			t.Errorf("%s is kept", name)
		}
	}
}

// TestProgramThatCantStart: a kit's program that the image can't run is no
// failure of the agent, and no other attempt will mend it.
func TestProgramThatCantStart(t *testing.T) {
	s := newStage(t, func(_ context.Context, _ *fakeBox, c Command) (Exit, error) {
		_, err := io.WriteString(c.Stderr, "/kits/x/bin/x: no such file or directory\n")
		return Exit{Code: 127}, err
	})
	launch := Launch{Argv: []string{"agent"}, Parser: &lineParser{}, Kits: []Kit{{Name: "x"}}}
	s.Agents["fake"] = fakeAgent{launch: func(Invocation) Launch { return launch }}
	res := s.Attempt(t.Context(), job("a"))
	if res.Outcome != assay.InfraFail || res.Infra != assay.InfraSandbox || !res.Permanent || !strings.Contains(res.Detail, "GNU C library") || !strings.Contains(res.Detail, "no such file") {
		t.Errorf("%s %s %v %s", res.Outcome, res.Infra, res.Permanent, res.Detail)
	}
	launch.Kits = nil // a command of the user's own is theirs to mend
	if res := s.Attempt(t.Context(), job("b")); res.Outcome != assay.AgentError {
		t.Errorf("%s %s", res.Outcome, res.Detail)
	}
}
