package agent

import (
	"strconv"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// ClaudeVersion is the version of Claude Code where a spec names none: the
// one that this package was proven against.
const ClaudeVersion = "2.1.197"

// maxArg is the longest text that goes onto a command line; the kernel takes
// 128 KiB per argument.
const maxArg = 32 << 10

// claude is Claude Code in print mode: the prompt on standard input, events
// as JSON lines on standard output.
type claude struct{ o Options }

var _ run.Agent = claude{}

func (claude) Name() string { return ClaudeCode }

func efforts() []string { return []string{"low", "medium", "high", "xhigh", "max"} }

// Check tells all that would keep the program from working.
func (c claude) Check(t assay.Trial, have run.Credentials) assay.Problems {
	var ps assay.Problems
	needModel(t, have, apiAnthropic, &ps)
	checkEffort(t, efforts(), &ps)
	checkProgram(t, ClaudeVersion, &ps)
	c.o.checkEnv(t.Agent, &ps)
	return ps
}

// Invoke says how to start the program.
func (c claude) Invoke(in run.Invocation) (run.Launch, error) {
	kit, err := c.o.kit(in.Trial.Agent)
	if err != nil {
		return run.Launch{}, err
	}
	l := run.Launch{
		Argv:     c.argv(in, in.Root+run.KitDir+"/"+kit.Name+"/bin/claude"),
		Env:      c.env(in),
		Stdin:    notCommand(in.Prompt),
		Kits:     []run.Kit{kit},
		Provider: apiAnthropic, Transcripts: []string{".claude/projects"},
		Parser: newClaudeParser(in.Prompt),
		Grace:  grace,
	}
	if len(in.System) > maxArg {
		l.Home = tree.Tree{systemFile: tree.Text(in.System)}
	}
	return l, nil
}

func (c claude) argv(in run.Invocation, program string) []string {
	argv := []string{
		program, "-p", "--verbose", "--output-format", "stream-json",
		"--permission-mode", "bypassPermissions", "--model", in.Trial.Model,
	}
	if in.Trial.Effort != "" {
		argv = append(argv, "--effort", in.Trial.Effort)
	}
	if in.Limits.MaxTurns > 0 {
		argv = append(argv, "--max-turns", strconv.Itoa(in.Limits.MaxTurns))
	}
	if in.Limits.MaxCostUSD > 0 {
		argv = append(argv, "--max-budget-usd", strconv.FormatFloat(in.Limits.MaxCostUSD, 'f', -1, 64))
	}
	switch {
	case len(in.System) > maxArg:
		argv = append(argv, "--append-system-prompt-file", home(in.Root, systemFile))
	case in.System != "":
		argv = append(argv, "--append-system-prompt", in.System)
	}
	return argv
}

func (c claude) env(in run.Invocation) map[string]string {
	env := c.o.hostEnv(in.Trial.Agent)
	for name, value := range map[string]string{
		"HOME":               home(in.Root),
		"CLAUDE_CONFIG_DIR":  home(in.Root, ".claude"),
		"ANTHROPIC_BASE_URL": in.ModelURL,
		"ANTHROPIC_API_KEY":  in.Token,
		// Every side call goes to the model that the trial is about.
		"ANTHROPIC_DEFAULT_OPUS_MODEL":   in.Trial.Model,
		"ANTHROPIC_DEFAULT_SONNET_MODEL": in.Trial.Model,
		"ANTHROPIC_DEFAULT_HAIKU_MODEL":  in.Trial.Model,
		"CLAUDE_CODE_SUBAGENT_MODEL":     in.Trial.Model,
		// Root without this is refused, and the box is a sandbox.
		"IS_SANDBOX":          "1",
		"DISABLE_AUTOUPDATER": "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		// The run repeats attempts itself; ten repeats here take minutes.
		"CLAUDE_CODE_MAX_RETRIES": "2",
		// A first call without the tools of a server is no fair trial.
		"MCP_CONNECTION_NONBLOCKING": "false",
	} {
		env[name] = value
	}
	return env
}
