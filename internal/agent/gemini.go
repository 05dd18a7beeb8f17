package agent

import (
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// GeminiVersion is the version of Gemini CLI where a spec names none: the one
// that this package was proven against.
const GeminiVersion = "0.61.0"

// gemini is Gemini CLI without a terminal: the prompt on standard input,
// events as JSON lines on standard output. It has no way to append to its
// system prompt, so a variant's text is the user's own GEMINI.md.
type gemini struct{ o Options }

var _ run.Agent = gemini{}

func (gemini) Name() string { return Gemini }

// geminiEfforts are the thinking levels of a model; those before Gemini 3
// have a budget of tokens in their place, for which there are no levels.
func geminiEfforts(model string) []string {
	if strings.HasPrefix(plainModel(model), "gemini-3") {
		return []string{"low", "medium", "high"}
	}
	return nil
}

// Check tells all that would keep the program from working.
func (g gemini) Check(t assay.Trial, have run.Credentials) assay.Problems {
	var ps assay.Problems
	needModel(t, have, apiGemini, &ps)
	checkEffort(t, geminiEfforts(t.Model), &ps)
	checkProgram(t, GeminiVersion, &ps)
	g.o.checkEnv(t.Agent, &ps)
	return ps
}

// Invoke says how to start the program.
func (g gemini) Invoke(in run.Invocation) (run.Launch, error) {
	kit, err := g.o.kit(in.Trial.Agent)
	if err != nil {
		return run.Launch{}, err
	}
	at := in.Root + run.KitDir + "/" + kit.Name
	l := run.Launch{
		Argv:  []string{at + "/bin/node", at + geminiScript, "--yolo", "-m", plainModel(in.Trial.Model), "-o", "stream-json"},
		Env:   g.env(in),
		Stdin: notCommand(in.Prompt), Kits: []run.Kit{kit}, Provider: apiGemini, Transcripts: []string{".gemini/tmp"}, Grace: grace,
		Home:   tree.Tree{".gemini/settings.json": tree.Text(geminiSettings(in))},
		Parser: newGeminiParser(in, versionOf(in.Trial.Agent)),
	}
	if in.System != "" {
		l.Home[".gemini/GEMINI.md"] = tree.Text(in.System)
	}
	return l, nil
}

const geminiScript = "/node_modules/@google/gemini-cli/bundle/gemini.js"

func (g gemini) env(in run.Invocation) map[string]string {
	env := g.o.hostEnv(in.Trial.Agent)
	for name, value := range map[string]string{
		"HOME":                       home(in.Root),
		"GEMINI_API_KEY":             in.Token,
		"GOOGLE_GEMINI_BASE_URL":     strings.TrimSuffix(in.ModelURL, "/"),
		"GEMINI_CLI_TRUST_WORKSPACE": "true",
		"GEMINI_CLI_NO_RELAUNCH":     "true", // one process, not two
		"GEMINI_TELEMETRY_ENABLED":   "false",
		"NO_COLOR":                   "1",
	} {
		env[name] = value
	}
	return env
}

// geminiSettings is the program's settings file. Attempts are few, since the
// run repeats attempts itself.
func geminiSettings(in run.Invocation) string {
	off := map[string]any{"enabled": false}
	model := map[string]any{"name": plainModel(in.Trial.Model)}
	if in.Limits.MaxTurns > 0 {
		model["maxSessionTurns"] = in.Limits.MaxTurns
	}
	settings := map[string]any{
		"security":  map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}, "folderTrust": off},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": off,
		"general":   map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 2},
		"ide":       off,
		"tools":     map[string]any{"shell": map[string]any{"enableInteractiveShell": false}},
		"model":     model,
	}
	if in.Trial.Effort != "" {
		// Every model of a conversation is made from this alias.
		thinking := map[string]any{"thinkingLevel": strings.ToUpper(in.Trial.Effort)}
		settings["modelConfigs"] = map[string]any{"customOverrides": []any{map[string]any{
			"match":       map[string]any{"model": "chat-base"},
			"modelConfig": map[string]any{"generateContentConfig": map[string]any{"thinkingConfig": thinking}},
		}}}
	}
	return jsonText(settings)
}
