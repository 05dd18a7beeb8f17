package agent

import (
	"encoding/json"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// OpencodeVersion is the version of opencode where a spec names none: the one
// that this package was proven against.
const OpencodeVersion = "1.18.33"

// opencode is "opencode run": the prompt on standard input, events as JSON
// lines on standard output. It speaks every provider's API; which one is told
// by the model's name, "provider/model" or a plain name that is known. A
// variant's text is an instruction file of its configuration.
type opencode struct{ o Options }

var _ run.Agent = opencode{}

func (opencode) Name() string { return Opencode }

// opencodeEfforts are the variants that are sure to exist for a model: the
// program ignores one that it doesn't know.
func opencodeEfforts(model string) []string {
	switch api := apiOf(model); {
	case api == apiOpenAI:
		return []string{"minimal", "low", "medium", "high", "xhigh"}
	case api == apiGemini && strings.HasPrefix(plainModel(model), "gemini-3"):
		return []string{"low", "medium", "high"}
	case api == apiAnthropic, api == apiGemini:
		return []string{"high", "max"}
	}
	return nil
}

// Check tells all that would keep the program from working.
func (c opencode) Check(t assay.Trial, have run.Credentials) assay.Problems {
	var ps assay.Problems
	needKnownModel(t, have, opencodeEfforts(t.Model), &ps)
	checkProgram(t, OpencodeVersion, &ps)
	noTurnLimit(t, &ps)
	c.o.checkEnv(t.Agent, &ps)
	return ps
}

// Invoke says how to start the program.
func (c opencode) Invoke(in run.Invocation) (run.Launch, error) {
	kit, err := c.o.kit(in.Trial.Agent)
	if err != nil {
		return run.Launch{}, err
	}
	api := apiOf(in.Trial.Model)
	argv := []string{
		in.Root + run.KitDir + "/" + kit.Name + "/bin/opencode", "run", "--format", "json", "--auto", "--thinking",
		"--title", "assay", "-m", opencodeProvider(api) + "/" + plainModel(in.Trial.Model), "--dir", in.Root + run.WorkDir,
	}
	if in.Trial.Effort != "" {
		argv = append(argv, "--variant", in.Trial.Effort)
	}
	l := run.Launch{
		Argv: argv, Env: c.env(in), Stdin: in.Prompt, Kits: []run.Kit{kit}, Provider: api, Transcripts: []string{".local/share/opencode"}, Grace: grace,
		Home:   tree.Tree{opencodeConfigFile: tree.Text(opencodeConfig(in, api))},
		Parser: newOpencodeParser(in, versionOf(in.Trial.Agent)),
	}
	if in.System != "" {
		l.Home[systemFile] = tree.Text(in.System)
	}
	return l, nil
}

const opencodeConfigFile = ".config/opencode/opencode.json"

func (c opencode) env(in run.Invocation) map[string]string {
	env := c.o.hostEnv(in.Trial.Agent)
	for name, value := range map[string]string{
		"HOME":                             home(in.Root),
		"XDG_CONFIG_HOME":                  home(in.Root, ".config"),
		"XDG_DATA_HOME":                    home(in.Root, ".local/share"),
		"XDG_STATE_HOME":                   home(in.Root, ".local/state"),
		"XDG_CACHE_HOME":                   home(in.Root, ".cache"),
		"OPENCODE_CONFIG":                  home(in.Root, opencodeConfigFile),
		"OPENCODE_DISABLE_MODELS_FETCH":    "1",
		"OPENCODE_DISABLE_AUTOUPDATE":      "1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD":    "1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
		"OPENCODE_DISABLE_SHARE":           "1",
	} {
		env[name] = value
	}
	return env
}

// opencodeProvider is the program's name for an API.
func opencodeProvider(api string) string {
	if api == apiGemini {
		return "google"
	}
	return api
}

// opencodeConfig is the program's configuration file. The call for a title is
// switched off: it is none of the task's.
func opencodeConfig(in run.Invocation, api string) string {
	base := strings.TrimSuffix(in.ModelURL, "/") + "/v1"
	if api == apiGemini {
		base += "beta"
	}
	id, model := opencodeProvider(api), plainModel(in.Trial.Model)
	about := map[string]any{}
	if options := opencodeVariant(api, model, in.Trial.Effort); options != nil {
		about["variants"] = map[string]any{in.Trial.Effort: options}
	}
	config := map[string]any{
		"autoupdate": false, "share": "disabled", "snapshot": false, "permission": "allow",
		"model": id + "/" + model, "small_model": id + "/" + model,
		"enabled_providers": []string{id},
		"agent":             map[string]any{"title": map[string]any{"disable": true}},
		"provider": map[string]any{id: map[string]any{
			"options": map[string]any{"baseURL": base, "apiKey": in.Token},
			"models":  map[string]any{model: about},
		}},
	}
	if in.System != "" {
		config["instructions"] = []string{home(in.Root, systemFile)}
	}
	return jsonText(config)
}

// opencodeVariant are the options of an effort where the program's own table
// of models may lack it.
func opencodeVariant(api, model, effort string) map[string]any {
	switch {
	case effort == "":
		return nil
	case api == apiOpenAI:
		return map[string]any{"reasoningEffort": effort, "reasoningSummary": "auto", "include": []string{"reasoning.encrypted_content"}}
	case api == apiGemini && strings.HasPrefix(model, "gemini-3"):
		return map[string]any{"thinkingConfig": map[string]any{"includeThoughts": true, "thinkingLevel": effort}}
	}
	return nil
}

func jsonText(v any) string {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // maps of texts can be marshalled
		return "{}"
	}
	return string(data) + "\n"
}
