package agent

import (
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// command is any program: it gets the prompt on standard input, works in the
// workspace, and what it prints is its transcript. Where the trial names a
// model, the usual variables lead its tools to the gateway; ASSAY_MODEL,
// ASSAY_EFFORT and ASSAY_SYSTEM_PROMPT_FILE say the rest.
type command struct{ o Options }

var _ run.Agent = command{}

func (command) Name() string { return Command }

func (c command) Check(t assay.Trial, have run.Credentials) assay.Problems {
	var ps assay.Problems
	if len(t.Agent.Command) == 0 || t.Agent.Command[0] == "" {
		ps.Addf("", 0, "agent %s needs the command to run", t.Agent.Key())
	}
	if t.Model != "" {
		needModel(t, have, commandAPI(t.Model), &ps)
	}
	c.o.checkEnv(t.Agent, &ps)
	return ps
}

func (c command) Invoke(in run.Invocation) (run.Launch, error) {
	spec := in.Trial.Agent
	if len(spec.Command) == 0 {
		return run.Launch{}, assay.Userf("agent %s needs the command to run", spec.Key())
	}
	l := run.Launch{
		Argv:   append([]string(nil), spec.Command...),
		Env:    c.o.hostEnv(spec),
		Stdin:  in.Prompt,
		Parser: &textParser{prompt: in.Prompt},
		Grace:  grace,
	}
	l.Env["HOME"] = home(in.Root)
	if in.System != "" {
		l.Home = tree.Tree{systemFile: tree.Text(in.System)}
		l.Env["ASSAY_SYSTEM_PROMPT_FILE"] = home(in.Root, systemFile)
	}
	if in.Trial.Model != "" {
		l.Provider = commandAPI(in.Trial.Model)
		modelEnv(l.Env, in)
	}
	return l, nil
}

// commandAPI is the API that a model's name belongs to; the first of ours
// where it doesn't tell.
func commandAPI(model string) string {
	if api := apiOf(model); api != "" {
		return api
	}
	return apiAnthropic
}

// systemFile is where a variant's text lies below the home directory.
const systemFile = ".assay/system.md"

func modelEnv(env map[string]string, in run.Invocation) {
	env["ANTHROPIC_BASE_URL"] = in.ModelURL
	env["ANTHROPIC_API_KEY"] = in.Token
	env["ANTHROPIC_MODEL"] = in.Trial.Model
	env["OPENAI_BASE_URL"] = strings.TrimSuffix(in.ModelURL, "/") + "/v1"
	env["OPENAI_API_KEY"] = in.Token
	env["GOOGLE_GEMINI_BASE_URL"] = in.ModelURL
	env["GEMINI_API_KEY"] = in.Token
	env["ASSAY_MODEL"] = in.Trial.Model
	env["ASSAY_EFFORT"] = in.Trial.Effort
}

// textParser reads plain text: its beginning and end become one step.
type textParser struct {
	prompt string
	ending string
	sink   run.StepSink
	head   []byte
	tail   []byte
	total  int64
}

var (
	_ run.Parser    = (*textParser)(nil)
	_ run.NeedsSink = (*textParser)(nil)
)

const textPart = atif.MaxField / 2

func (p *textParser) SetSink(s run.StepSink) { p.sink = s }

func (p *textParser) Write(b []byte) (int, error) {
	n := len(b)
	p.total += int64(n)
	if room := textPart - len(p.head); room > 0 {
		take := min(room, len(b))
		p.head = append(p.head, b[:take]...)
		b = b[take:]
	}
	if over := len(b) - textPart; over > 0 {
		p.tail, b = p.tail[:0], b[over:]
	}
	p.tail = append(p.tail, b...)
	if len(p.tail) > 2*textPart {
		p.tail = append(p.tail[:0], p.tail[len(p.tail)-textPart:]...)
	}
	return n, nil
}

// Ended is never true: a plain program ends when it exits.
func (p *textParser) Ended() bool { return false }

func (p *textParser) Finish() assay.AgentFacts {
	text := p.text()
	if p.sink != nil {
		if p.prompt != "" {
			p.sink.Step(assay.Step{Source: "user", Message: p.prompt})
		}
		if p.total > 0 {
			p.sink.Step(assay.Step{Source: "agent", Message: text})
		}
	}
	return assay.AgentFacts{Ending: p.ending, Final: atif.Cut(strings.TrimSpace(text), maxFinal)}
}

func (p *textParser) text() string {
	tail := p.tail[max(0, len(p.tail)-textPart):]
	text := string(p.head)
	if int64(len(p.head)+len(tail)) < p.total {
		text += "\n[... the middle is left out ...]\n"
	}
	return strings.ToValidUTF8(text+string(tail), "�")
}
