package agent

import (
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// Names of the agents.
const (
	Oracle     = "oracle"
	Nop        = "nop"
	Command    = "command"
	ClaudeCode = "claude-code"
	Codex      = "codex"
	Gemini     = "gemini"
	Opencode   = "opencode"
	MiniSWE    = "mini-swe-agent"
)

// Options are what agents need of the machine.
type Options struct {
	// CacheDir holds kits that EnsureKit made, one folder per kit.
	CacheDir string
	// KitDirs are folders of kits by the kit's name; they win over CacheDir.
	KitDirs map[string]string
	// HostEnv are the variables of the host that an agent's Env may name.
	HostEnv map[string]string
}

// All lists the agents in the order of the documentation.
func All(o Options) []run.Agent {
	return []run.Agent{oracle{}, nop{}, command{o}, claude{o}, codex{o}, gemini{o}, opencode{o}, mini{o}}
}

// Find is the agent of that name among all, nil for none.
func Find(all []run.Agent, name string) run.Agent {
	for _, a := range all {
		if a.Name() == name {
			return a
		}
	}
	return nil
}

// Names are the names of all agents.
func Names() []string {
	return []string{Oracle, Nop, Command, ClaudeCode, Codex, Gemini, Opencode, MiniSWE}
}

// UsesModels tells whether an agent is multiplied by models and efforts; the
// reference agents and command are not.
func UsesModels(name string) bool {
	_, ours := recipes()[name]
	return ours
}

func (o Options) kitDir(name string) string {
	if dir := o.KitDirs[name]; dir != "" {
		return dir
	}
	if o.CacheDir == "" {
		return ""
	}
	return filepath.Join(o.CacheDir, name)
}

// grace is how long a program may live after its last word.
const grace = 10 * time.Second

// hostEnv are the variables that a spec hands over from the host.
func (o Options) hostEnv(spec assay.AgentSpec) map[string]string {
	env := map[string]string{}
	for _, name := range spec.Env {
		if v, ok := o.HostEnv[name]; ok {
			env[name] = v
		}
	}
	return env
}

// checkEnv refuses variables that hold a key, since the box can read them,
// and those that the host doesn't have.
func (o Options) checkEnv(spec assay.AgentSpec, ps *assay.Problems) {
	for _, name := range spec.Env {
		switch _, ok := o.HostEnv[name]; {
		case isKey(name):
			ps.Addf("", 0, "agent %s: %s must not be handed to the program: the gateway holds the keys", spec.Key(), name)
		case !ok:
			ps.Addf("", 0, "agent %s: the environment variable %s is not set", spec.Key(), name)
		}
	}
}

func isKey(name string) bool {
	return slices.Contains([]string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY",
		"GEMINI_API_KEY", "GOOGLE_API_KEY", "GITHUB_TOKEN", "GH_TOKEN",
	}, name)
}

// home is a path below the box's home directory.
func home(root string, parts ...string) string {
	return root + path.Join(append([]string{run.HomeDir}, parts...)...)
}

// noModel is told to those who name a model for an agent without one.
func noModel(t assay.Trial, ps *assay.Problems) {
	if t.Model != "" || t.Effort != "" {
		ps.Addf("", 0, "agent %s has no model and no effort", t.Agent.Key())
	}
}
