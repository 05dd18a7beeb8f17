package agent

import (
	"path"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// MiniVersion is the version of mini-swe-agent where a spec names none: the
// one that this package was proven against.
const MiniVersion = "2.4.6"

// mini is mini-swe-agent's command "mini": the task on standard input, its
// trajectory's messages as JSON lines on standard output. The kit brings its
// own Python, so any image will do. A variant's text goes behind the system
// prompt.
type mini struct{ o Options }

var _ run.Agent = mini{}

func (mini) Name() string { return MiniSWE }

// miniEfforts are the values of reasoning_effort that arrive at an API.
func miniEfforts(model string) []string {
	switch apiOf(model) {
	case apiOpenAI:
		return []string{"minimal", "low", "medium", "high", "xhigh"}
	case apiAnthropic, apiGemini:
		return []string{"low", "medium", "high"}
	}
	return nil
}

// Check tells all that would keep the program from working.
func (m mini) Check(t assay.Trial, have run.Credentials) assay.Problems {
	var ps assay.Problems
	needKnownModel(t, have, miniEfforts(t.Model), &ps)
	checkProgram(t, MiniVersion, &ps)
	m.o.checkEnv(t.Agent, &ps)
	return ps
}

// Invoke says how to start the program.
func (m mini) Invoke(in run.Invocation) (run.Launch, error) {
	kit, err := m.o.kit(in.Trial.Agent)
	if err != nil {
		return run.Launch{}, err
	}
	at := in.Root + run.KitDir + "/" + kit.Name
	return run.Launch{
		Argv: []string{
			at + "/libs/loader", "--library-path", at + "/libs", at + "/bin/python3", "-I", "-S", "-B", home(in.Root, miniScript), at + "/site",
			"-y", "--exit-immediately", "-c", "mini.yaml", "-c", home(in.Root, miniConfigFile), "-o", home(in.Root, miniTrajectory),
		},
		Env: m.env(in), Stdin: in.Prompt, Kits: []run.Kit{kit}, Provider: apiOf(in.Trial.Model), Transcripts: []string{path.Dir(miniTrajectory)}, Grace: grace,
		Home:   tree.Tree{miniScript: tree.Text(miniRun), miniConfigFile: tree.Text(miniConfig(in))},
		Parser: newMiniParser(in, versionOf(in.Trial.Agent)),
	}, nil
}

const (
	miniScript     = ".assay/run.py" // of this version, whatever kit there is
	miniConfigFile = ".assay/mini.yaml"
	miniTrajectory = ".assay/run.traj.json"
)

func (m mini) env(in run.Invocation) map[string]string {
	env := m.o.hostEnv(in.Trial.Agent)
	for name, value := range map[string]string{
		"HOME":                    home(in.Root),
		"MSWEA_CONFIGURED":        "true",
		"MSWEA_SILENT_STARTUP":    "1",
		"MSWEA_GLOBAL_CONFIG_DIR": home(in.Root, ".config/mini-swe-agent"),
		"MSWEA_COST_TRACKING":     "ignore_errors", // of a model that its table lacks
		// The run repeats attempts itself.
		"MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
		"LITELLM_LOCAL_MODEL_COST_MAP":         "True", // no look at the network
		"LITELLM_LOG":                          "ERROR",
		"NO_COLOR":                             "1",
		miniKeys()[apiOf(in.Trial.Model)]:      in.Token,
	} {
		env[name] = value
	}
	return env
}

func miniKeys() map[string]string {
	return map[string]string{apiAnthropic: "ANTHROPIC_API_KEY", apiOpenAI: "OPENAI_API_KEY", apiGemini: "GEMINI_API_KEY"}
}

// miniSystem is the program's own system prompt.
const miniSystem = "You are a helpful assistant that can interact with a computer.\n"

// miniConfig is laid over the program's own configuration. YAML reads JSON.
func miniConfig(in run.Invocation) string {
	api, base := apiOf(in.Trial.Model), strings.TrimSuffix(in.ModelURL, "/")
	prefix := api + "/"
	switch api {
	case apiOpenAI:
		base += "/v1"
	case apiGemini:
		base += "/v1beta"
	}
	args := map[string]any{"api_base": base, "max_retries": 0, "timeout": 3600}
	model := map[string]any{"model_name": prefix + plainModel(in.Trial.Model), "model_kwargs": args}
	if e := in.Trial.Effort; e != "" && api == apiOpenAI {
		model["model_class"] = "litellm_response"
		args["reasoning"] = map[string]any{"effort": e}
	} else if e != "" {
		// Mapped by the program's table of models. A model that the table lacks
		// fails there; passing the word on as it is would fail at the API.
		args["reasoning_effort"] = e
	}
	agent := map[string]any{"step_limit": in.Limits.MaxTurns, "cost_limit": in.Limits.MaxCostUSD}
	if in.System != "" {
		agent["system_template"] = miniSystem + "\n" + untemplated(in.System)
	}
	return jsonText(map[string]any{"agent": agent, "model": model})
}

// untemplated keeps a text from being taken for a template.
func untemplated(s string) string { return strings.ReplaceAll(s, "{", "{{'{'}}") }
