package agent

import (
	"regexp"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/schema"
)

// Names of the model APIs, as the gateway knows them.
const (
	apiAnthropic = "anthropic"
	apiOpenAI    = "openai"
	apiGemini    = "gemini"
)

var openaiName = regexp.MustCompile(`^(gpt-|chatgpt|codex|o\d)`)

// apiOf is the API that a model's name belongs to, "" for one that doesn't
// tell.
func apiOf(model string) string {
	maker, name, named := strings.Cut(model, "/")
	switch {
	case named && maker == "google":
		return apiGemini
	case named && slices.Contains([]string{apiAnthropic, apiOpenAI, apiGemini}, maker):
		return maker
	case named:
		return ""
	case strings.HasPrefix(maker+name, "claude"):
		return apiAnthropic
	case strings.HasPrefix(maker, "gemini"):
		return apiGemini
	case openaiName.MatchString(maker):
		return apiOpenAI
	}
	return ""
}

// plainModel is a model's name without the API before it.
func plainModel(model string) string {
	if maker, name, ok := strings.Cut(model, "/"); ok && slices.Contains([]string{"google", apiAnthropic, apiOpenAI, apiGemini}, maker) {
		return name
	}
	return model
}

// needModel checks what every agent with a model needs; api is the one that
// it speaks.
func needModel(t assay.Trial, have run.Credentials, api string, ps *assay.Problems) {
	key := t.Agent.Key()
	switch {
	case t.Model == "":
		ps.Addf("", 0, "agent %s needs a model: name one with --models", key)
	case strings.HasPrefix(t.Model, "-") || strings.ContainsAny(t.Model, " \t\r\n\x00"):
		ps.Addf("", 0, "agent %s: %q is no name of a model", key, t.Model)
	}
	if api == "" || have[api] {
		return
	}
	names := map[string][2]string{
		apiAnthropic: {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
		apiOpenAI:    {"OPENAI_API_KEY", "OPENAI_BASE_URL"},
		apiGemini:    {"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
	}[api]
	ps.Addf("", 0, "agent %s needs access to a model: set %s (and %s for an endpoint of your own)", key, names[0], names[1])
}

// needKnownModel is needModel for a program that speaks every API: the name
// of the model must tell which one. efforts are those that it knows for it.
func needKnownModel(t assay.Trial, have run.Credentials, efforts []string, ps *assay.Problems) {
	api := apiOf(t.Model)
	if t.Model != "" && api == "" {
		ps.Addf("", 0, "agent %s can't tell which API the model %q belongs to: write anthropic/..., openai/... or google/... before it", t.Agent.Key(), t.Model)
		return
	}
	needModel(t, have, api, ps)
	checkEffort(t, efforts, ps)
}

// checkEffort refuses an effort that the program doesn't know; without any it
// has no efforts for the model.
func checkEffort(t assay.Trial, known []string, ps *assay.Problems) {
	switch {
	case t.Effort == "" || slices.Contains(known, t.Effort):
	case len(known) == 0:
		ps.Addf("", 0, "agent %s has no effort levels for the model %q: leave the effort out", t.Agent.Key(), t.Model)
	default:
		ps.Addf("", 0, "agent %s knows no effort %q for this model, only %s%s",
			t.Agent.Key(), t.Effort, strings.Join(known, ", "), schema.Hint(t.Effort, known))
	}
}

var versionShape = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// checkProgram checks what a spec says of a program of ours.
func checkProgram(t assay.Trial, proven string, ps *assay.Problems) {
	if v := t.Agent.Version; v != "" && !versionShape.MatchString(v) {
		ps.Addf("", 0, "agent %s: %q is no version such as %s", t.Agent.Key(), v, proven)
	}
	if len(t.Agent.Command) > 0 {
		ps.Addf("", 0, "agent %s takes no command of its own; use the agent \"command\" for that", t.Agent.Key())
	}
}

// noTurnLimit refuses a limit that the program would not keep.
func noTurnLimit(t assay.Trial, ps *assay.Problems) {
	if t.Limits.MaxTurns > 0 {
		ps.Addf("", 0, "agent %s has no turn limit: leave max_turns out, and limit its time or its cost", t.Agent.Key())
	}
}

// versionOf is the version of a spec's program.
func versionOf(spec assay.AgentSpec) string {
	if spec.Version != "" {
		return spec.Version
	}
	return recipes()[spec.Name].version
}

// notCommand keeps a statement that begins like a command ("/init ...") from
// being taken for one. Every other byte goes in untouched, "@" included: a
// path after it is read into the conversation, as it would be for a person.
func notCommand(s string) string {
	if strings.HasPrefix(strings.TrimSpace(s), "/") {
		return "The task:\n\n" + s
	}
	return s
}
