package agent

import (
	"encoding/json"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// CodexVersion is the version of Codex where a spec names none: the one that
// this package was proven against.
const CodexVersion = "0.171.0"

// codex is "codex exec": the prompt on standard input, events as JSON lines
// on standard output. A variant's text goes in as developer instructions.
type codex struct{ o Options }

var _ run.Agent = codex{}

func (codex) Name() string { return Codex }

func codexEfforts() []string { return []string{"none", "minimal", "low", "medium", "high", "xhigh"} }

// Check tells all that would keep the program from working.
func (c codex) Check(t assay.Trial, have run.Credentials) assay.Problems {
	var ps assay.Problems
	needModel(t, have, apiOpenAI, &ps)
	checkEffort(t, codexEfforts(), &ps)
	checkProgram(t, CodexVersion, &ps)
	noTurnLimit(t, &ps)
	c.o.checkEnv(t.Agent, &ps)
	return ps
}

// Invoke says how to start the program.
func (c codex) Invoke(in run.Invocation) (run.Launch, error) {
	kit, err := c.o.kit(in.Trial.Agent)
	if err != nil {
		return run.Launch{}, err
	}
	env := c.o.hostEnv(in.Trial.Agent)
	env["HOME"], env["CODEX_HOME"], env["OPENAI_API_KEY"] = home(in.Root), home(in.Root, ".codex"), in.Token
	return run.Launch{
		Argv: []string{
			in.Root + run.KitDir + "/" + kit.Name + "/bin/codex", "exec", "--json", "--dangerously-bypass-approvals-and-sandbox",
			"--skip-git-repo-check", "-C", in.Root + run.WorkDir, "-m", in.Trial.Model, "-",
		},
		Env: env, Stdin: in.Prompt, Kits: []run.Kit{kit}, Provider: apiOpenAI, Transcripts: []string{".codex/sessions"}, Grace: grace,
		Home:   tree.Tree{".codex/config.toml": tree.Text(codexConfig(in))},
		Parser: newCodexParser(in, versionOf(in.Trial.Agent)),
	}, nil
}

// codexConfig is the program's configuration file. Repeats are few, since the
// run repeats attempts itself.
func codexConfig(in run.Invocation) string {
	var b strings.Builder
	set := func(key, value string) { b.WriteString(key + " = " + value + "\n") }
	set("model_provider", `"assay"`)
	set("approval_policy", `"never"`)
	set("sandbox_mode", `"danger-full-access"`)
	set("web_search", `"disabled"`)
	set("check_for_update_on_startup", "false")
	if in.Trial.Effort != "" {
		set("model_reasoning_effort", quoted(in.Trial.Effort))
	}
	if in.System != "" {
		set("developer_instructions", quoted(in.System))
	}
	b.WriteString("\n[analytics]\nenabled = false\n\n[model_providers.assay]\nname = \"assay\"\n")
	set("base_url", quoted(strings.TrimSuffix(in.ModelURL, "/")+"/v1"))
	set("env_key", `"OPENAI_API_KEY"`)
	set("wire_api", `"responses"`)
	set("request_max_retries", "2")
	set("stream_max_retries", "2")
	b.WriteString("\n[projects." + quoted(in.Root+run.WorkDir) + "]\ntrust_level = \"trusted\"\n")
	return b.String()
}

// quoted is a basic string of TOML, which is JSON's but for DEL.
func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil { // a text can be marshalled
		return `""`
	}
	return strings.ReplaceAll(string(data), "\x7f", `\u007f`)
}
