package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

func trial(name string, change func(*assay.Trial)) assay.Trial {
	t := assay.Trial{Task: "t1", Agent: assay.AgentSpec{Name: name}}
	if change != nil {
		change(&t)
	}
	return t
}

func options() Options {
	return Options{CacheDir: "/cache", HostEnv: map[string]string{"LANG": "C.UTF-8", "ANTHROPIC_API_KEY": "real"}}
}

func TestAllAndFind(t *testing.T) {
	var names []string
	for _, a := range All(Options{}) {
		names = append(names, a.Name())
	}
	if d := cmp.Diff(Names(), names); d != "" {
		t.Error(d)
	}
	if Find(All(Options{}), "nobody") != nil || Find(All(Options{}), Nop) == nil {
		t.Error("Find")
	}
	if UsesModels(Nop) || !UsesModels(ClaudeCode) {
		t.Error("UsesModels")
	}
}

func TestCheckTellsAllFaults(t *testing.T) {
	have := run.Credentials{"anthropic": true}
	tests := []struct {
		name  string
		trial assay.Trial
		have  run.Credentials
		want  []string
	}{
		{"fine", trial(ClaudeCode, func(t *assay.Trial) { t.Model, t.Effort = "claude-sonnet-4-5", "high" }), have, nil},
		{"nothing given", trial(ClaudeCode, nil), nil, []string{"needs a model", "ANTHROPIC_API_KEY"}},
		{"effort", trial(ClaudeCode, func(t *assay.Trial) { t.Model, t.Effort = "m", "hihg" }), have, []string{`"hihg"`, `"high"`}},
		{"version", trial(ClaudeCode, func(t *assay.Trial) { t.Model, t.Agent.Version = "m", "../evil" }), have, []string{"no version"}},
		{"a flag as model", trial(ClaudeCode, func(t *assay.Trial) { t.Model = "--help" }), have, []string{"no name of a model"}},
		{"a command", trial(ClaudeCode, func(t *assay.Trial) { t.Model, t.Agent.Command = "m", []string{"x"} }), have, []string{"no command"}},
		{"codex is fine", trial(Codex, func(t *assay.Trial) { t.Model, t.Effort = "gpt-5.2", "xhigh" }), run.Credentials{"openai": true}, nil},
		{"codex has nothing", trial(Codex, func(t *assay.Trial) { t.Effort, t.Limits.MaxTurns = "hgih", 5 }), have,
			[]string{"needs a model", "OPENAI_API_KEY", `"high"`, "codex has no turn limit"}},
		{"gemini is fine", trial(Gemini, func(t *assay.Trial) {
			t.Model, t.Effort, t.Limits.MaxTurns = "gemini-3-pro-preview", "low", 5
		}), run.Credentials{"gemini": true}, nil},
		{"gemini without levels", trial(Gemini, func(t *assay.Trial) { t.Model, t.Effort = "gemini-2.5-pro", "low" }), have,
			[]string{"GEMINI_API_KEY", "no effort levels"}},
		{"opencode is fine", trial(Opencode, func(t *assay.Trial) { t.Model, t.Effort = "claude-sonnet-4-5", "max" }), have, nil},
		{"opencode and its limits", trial(Opencode, func(t *assay.Trial) {
			t.Model, t.Effort, t.Limits.MaxTurns = "anthropic/claude-sonnet-4-5", "hihg", 5
		}), have, []string{"opencode has no turn limit", `"high"`}},
		{"opencode and a strange model", trial(Opencode, func(t *assay.Trial) { t.Model = "llama" }), have, []string{"can't tell which API"}},
		{"opencode without the key", trial(Opencode, func(t *assay.Trial) { t.Model = "google/x" }), have, []string{"GEMINI_API_KEY"}},
		{"environment", trial(Command, func(t *assay.Trial) {
			t.Agent.Command, t.Agent.Env = []string{"x"}, []string{"LANG", "MISSING", "ANTHROPIC_API_KEY"}
		}), nil, []string{"MISSING is not set", "ANTHROPIC_API_KEY must not"}},
		{"no command", trial(Command, nil), nil, []string{"needs the command"}},
		{"command with a model", trial(Command, func(t *assay.Trial) { t.Model, t.Agent.Command = "m", []string{"x"} }), nil, []string{"ANTHROPIC_API_KEY"}},
		{"oracle", trial(Oracle, nil), nil, nil},
		{"nop with a model", trial(Nop, func(t *assay.Trial) { t.Model = "m" }), nil, []string{"no model"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := Find(All(options()), tt.trial.Agent.Name)
			ps := a.Check(tt.trial, tt.have)
			for _, want := range tt.want {
				if !strings.Contains(ps.Error(), want) {
					t.Errorf("%q lacks %q", ps.Error(), want)
				}
			}
			if len(tt.want) == 0 && len(ps) > 0 {
				t.Errorf("unexpected: %v", ps)
			}
		})
	}
}

func invocation(name string) run.Invocation {
	return run.Invocation{
		Trial:  trial(name, func(t *assay.Trial) { t.Model = "claude-sonnet-4-5" }),
		Task:   assay.Task{ID: "t1"},
		Prompt: "do it", Root: "/tmp/box", ModelURL: "http://127.0.0.1:8080", Token: "tok",
	}
}

func TestClaudeInvoke(t *testing.T) {
	in := invocation(ClaudeCode)
	in.Trial.Effort, in.System = "xhigh", "be brief"
	in.Limits = assay.Limits{MaxTurns: 40, MaxCostUSD: 1.5}
	l, err := claude{options()}.Invoke(in)
	if err != nil {
		t.Fatal(err)
	}
	want := "/tmp/box/kits/claude-code-2.1.197/bin/claude -p --verbose --output-format stream-json --permission-mode bypassPermissions " +
		"--model claude-sonnet-4-5 --effort xhigh --max-turns 40 --max-budget-usd 1.5 --append-system-prompt be brief"
	if d := cmp.Diff(want, strings.Join(l.Argv, " ")); d != "" {
		t.Error(d)
	}
	for name, value := range map[string]string{
		"ANTHROPIC_BASE_URL": "http://127.0.0.1:8080", "ANTHROPIC_API_KEY": "tok", "IS_SANDBOX": "1", "HOME": "/tmp/box/home/agent",
		"CLAUDE_CONFIG_DIR": "/tmp/box/home/agent/.claude", "ANTHROPIC_DEFAULT_HAIKU_MODEL": "claude-sonnet-4-5",
	} {
		if l.Env[name] != value {
			t.Errorf("%s=%q", name, l.Env[name])
		}
	}
	if l.Stdin != "do it" || l.Provider != "anthropic" || l.Kits[0].Dir != "/cache/claude-code-2.1.197" || l.Home != nil || l.NoProgram {
		t.Errorf("%+v", l)
	}
}

func TestClaudeLongTextsAndOddPrompts(t *testing.T) {
	in := invocation(ClaudeCode)
	in.System, in.Prompt = strings.Repeat("s", maxArg+1), " /init is broken, see @file"
	l, err := claude{options()}.Invoke(in)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(l.Argv, "/tmp/box/home/agent/.assay/system.md") || string(l.Home[systemFile].Data) != in.System {
		t.Errorf("%q", l.Argv)
	}
	if l.Stdin != "The task:\n\n"+in.Prompt {
		t.Errorf("%q", l.Stdin)
	}
	if _, err := (claude{}).Invoke(in); !assay.IsUser(err) {
		t.Error(err)
	}
}

func TestCommandInvoke(t *testing.T) {
	in := invocation(Command)
	in.Trial.Agent.Command, in.Trial.Agent.Env, in.System = []string{"sh", "-c", "cat"}, []string{"LANG"}, "sys"
	l, err := command{options()}.Invoke(in)
	if err != nil {
		t.Fatal(err)
	}
	if l.Env["OPENAI_BASE_URL"] != "http://127.0.0.1:8080/v1" || l.Env["ANTHROPIC_API_KEY"] != "tok" || l.Env["LANG"] != "C.UTF-8" || l.Provider != "anthropic" {
		t.Errorf("%v", l.Env)
	}
	if string(l.Home[systemFile].Data) != "sys" || l.Env["ASSAY_SYSTEM_PROMPT_FILE"] != "/tmp/box/home/agent/.assay/system.md" {
		t.Errorf("%v", l.Home)
	}
	in.Trial.Model = ""
	l, err = command{options()}.Invoke(in)
	if err != nil || l.Provider != "" || l.Env["ANTHROPIC_API_KEY"] != "" || l.Env["ANTHROPIC_BASE_URL"] != "" {
		t.Errorf("without a model: %v %+v", err, l)
	}
}

func TestReferenceAgents(t *testing.T) {
	in := invocation(Oracle)
	if _, err := (oracle{}).Invoke(in); !assay.IsUser(err) {
		t.Error(err)
	}
	in.Solution = tree.Tree{"a": tree.Text("x")}
	l, err := oracle{}.Invoke(in)
	if err != nil || !l.NoProgram || len(l.Overlay) != 1 {
		t.Errorf("%v %+v", err, l)
	}
	l, err = nop{}.Invoke(in)
	if err != nil || !l.NoProgram || len(l.Overlay) != 0 || l.Parser.Finish().Ending != "success" {
		t.Errorf("%v %+v", err, l)
	}
}

func TestTextParser(t *testing.T) {
	p := &textParser{prompt: "do it"}
	var got steps
	p.SetSink(&got)
	_, _ = p.Write([]byte("hello "))
	_, _ = p.Write([]byte("w\xffrld\n"))
	f := p.Finish()
	if f.Final != "hello w�rld" || p.Ended() || len(got) != 2 || got[1].Message != "hello w�rld\n" || f.Turns != 0 {
		t.Errorf("%+v %+v", f, got)
	}
	for _, size := range []int{1000, 40_000, 1 << 20} {
		p := &textParser{}
		var got steps
		p.SetSink(&got)
		for i := range 3 << 20 / size {
			_, _ = p.Write([]byte(strings.Repeat(string(rune('a'+i%26)), size)))
		}
		_, _ = p.Write([]byte("the end"))
		p.Finish()
		m := got[0].Message
		if len(m) > 3*textPart || !strings.HasPrefix(m, "aaa") || !strings.HasSuffix(m, "the end") || !strings.Contains(m, "left out") || cap(p.tail) > 8*textPart {
			t.Errorf("pieces of %d: %d bytes kept, %d held", size, len(m), cap(p.tail))
		}
	}
}

func TestEnsureKit(t *testing.T) {
	dir := t.TempDir()
	have := filepath.Join(dir, KitName(ClaudeCode, ""), "bin")
	if err := os.MkdirAll(have, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(have, "claude"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	kit, err := EnsureKit(t.Context(), KitRequest{CacheDir: dir, Agent: ClaudeCode})
	if err != nil || kit.Name != "claude-code-2.1.197" || kit.Dir != filepath.Join(dir, kit.Name) {
		t.Errorf("%+v %v", kit, err)
	}
	if err := EnsureKits(t.Context(), KitRequest{CacheDir: dir, Agent: ClaudeCode}, []assay.AgentSpec{{Name: Nop}, {Name: ClaudeCode}}); err != nil {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = EnsureKit(t.Context(), KitRequest{CacheDir: dir, Agent: ClaudeCode, Version: "1.0.0"})
	if !assay.IsUser(err) || !strings.Contains(err.Error(), "npm") {
		t.Error(err)
	}
	if _, err = EnsureKit(t.Context(), KitRequest{CacheDir: dir, Agent: ClaudeCode, Version: "../1"}); !assay.IsUser(err) {
		t.Error(err)
	}
}

// TestEnsureKitLaysOut runs a stand-in for npm that makes the package's
// folder as npm does.
func TestEnsureKitLaysOut(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\n[ -z \"$MY_TOKEN\" ] || exit 9\nd=\"$3/node_modules/" + claudePackage() + "\"\nmkdir -p \"$d\" && echo \"$9\" > \"$d/claude\"\n"
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	path := bin + ":" + os.Getenv("PATH")
	t.Setenv("PATH", path)
	kit, err := EnsureKit(t.Context(), KitRequest{CacheDir: dir, Agent: ClaudeCode, Version: "1.2.3", Env: []string{"PATH=" + path, "MY_TOKEN=x"}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(kit.Dir, "bin", "claude"))
	if err != nil || strings.TrimSpace(string(data)) != claudePackage()+"@1.2.3" {
		t.Errorf("%q %v", data, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".kit-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\necho no such version >&2; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = EnsureKit(t.Context(), KitRequest{CacheDir: dir, Agent: ClaudeCode, Version: "9.9.9", Env: []string{"PATH=" + path}})
	if err == nil || assay.IsUser(err) || !strings.Contains(err.Error(), "no such version") {
		t.Error(err)
	}
}

func TestNamesOfModels(t *testing.T) {
	for name, want := range map[string][2]string{
		"claude-sonnet-4-5": {"anthropic", "claude-sonnet-4-5"}, "anthropic/claude-opus-4-8": {"anthropic", "claude-opus-4-8"},
		"gpt-5.2": {"openai", "gpt-5.2"}, "o4-mini": {"openai", "o4-mini"}, "openai/x/y": {"openai", "x/y"},
		"google/gemini-2.5-pro": {"gemini", "gemini-2.5-pro"}, "gemini-3-pro-preview": {"gemini", "gemini-3-pro-preview"},
		"qwen/qwen3": {"", "qwen/qwen3"}, "opus": {"", "opus"}, "": {"", ""},
	} {
		if api, plain := apiOf(name), plainModel(name); api != want[0] || plain != want[1] {
			t.Errorf("%q: %q, %q", name, api, plain)
		}
	}
}

func TestProgramsInvoke(t *testing.T) {
	for _, tt := range []struct {
		agent, model string
		argv, api    string
		home         map[string][]string // file and what it holds
		env          map[string]string
	}{
		{Codex, "gpt-5.2", "/tmp/box/kits/codex-0.171.0/bin/codex exec --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check -C /tmp/box/workspace -m gpt-5.2 -",
			"openai", map[string][]string{".codex/config.toml": {
				`model_reasoning_effort = "high"`, `developer_instructions = "say \"hi\"\n[x]\u007f"`, `base_url = "http://127.0.0.1:8080/v1"`, `[projects."/tmp/box/workspace"]`,
			}}, map[string]string{"OPENAI_API_KEY": "tok", "CODEX_HOME": "/tmp/box/home/agent/.codex"}},
		{Gemini, "google/gemini-3-pro-preview", "/tmp/box/kits/gemini-0.61.0/bin/node /tmp/box/kits/gemini-0.61.0/node_modules/@google/gemini-cli/bundle/gemini.js --yolo -m gemini-3-pro-preview -o stream-json",
			"gemini", map[string][]string{".gemini/settings.json": {`"thinkingLevel": "HIGH"`, `"selectedType": "gemini-api-key"`}, ".gemini/GEMINI.md": {"say \"hi\"\n[x]\x7f"}},
			map[string]string{"GEMINI_API_KEY": "tok", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080"}},
		{Opencode, "gpt-5.2", "/tmp/box/kits/opencode-1.18.33/bin/opencode run --format json --auto --thinking --title assay -m openai/gpt-5.2 --dir /tmp/box/workspace --variant high",
			"openai", map[string][]string{".config/opencode/opencode.json": {`"baseURL": "http://127.0.0.1:8080/v1"`, `"apiKey": "tok"`, `"reasoningEffort": "high"`, `/tmp/box/home/agent/.assay/system.md`}, ".assay/system.md": {`say "hi"`}},
			map[string]string{"OPENCODE_CONFIG": "/tmp/box/home/agent/.config/opencode/opencode.json"}},
		{MiniSWE, "gpt-5.2", "/tmp/box/kits/mini-swe-agent-2.4.6/libs/loader --library-path /tmp/box/kits/mini-swe-agent-2.4.6/libs /tmp/box/kits/mini-swe-agent-2.4.6/bin/python3 -I -S -B /tmp/box/home/agent/.assay/run.py /tmp/box/kits/mini-swe-agent-2.4.6/site -y --exit-immediately -c mini.yaml -c /tmp/box/home/agent/.assay/mini.yaml -o /tmp/box/home/agent/.assay/run.traj.json",
			"openai", map[string][]string{".assay/run.py": {"minisweagent"}, ".assay/mini.yaml": {`"api_base": "http://127.0.0.1:8080/v1"`, `"model_name": "openai/gpt-5.2"`, `"effort": "high"`, `say \"hi\"\n[x]`}},
			map[string]string{"OPENAI_API_KEY": "tok"}},
	} {
		in := invocation(tt.agent)
		in.Trial.Model, in.Trial.Effort, in.System = tt.model, "high", "say \"hi\"\n[x]\x7f"
		l, err := Find(All(options()), tt.agent).Invoke(in)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.argv, strings.Join(l.Argv, " ")); d != "" {
			t.Error(d)
		}
		if l.Provider != tt.api || l.Stdin != "do it" || l.Kits[0].Dir != "/cache/"+l.Kits[0].Name || len(l.Home) != len(tt.home) {
			t.Errorf("%+v", l)
		}
		for file, parts := range tt.home {
			for _, part := range parts {
				if !strings.Contains(string(l.Home[file].Data), part) {
					t.Errorf("%s lacks %q: %s", file, part, l.Home[file].Data)
				}
			}
		}
		for name, value := range tt.env {
			if l.Env[name] != value {
				t.Errorf("%s=%q", name, l.Env[name])
			}
		}
		if _, err := Find(All(Options{}), tt.agent).Invoke(in); !assay.IsUser(err) {
			t.Error(err)
		}
	}
}

// TestKitsOfEveryAgent runs stand-ins for npm and Python that make the files
// of every recipe.
func TestKitsOfEveryAgent(t *testing.T) {
	for name, r := range recipes() {
		bin, dir := t.TempDir(), t.TempDir()
		script := "#!/bin/sh\n"
		for _, p := range r.parts {
			place := `"$3/node_modules/` + p.from
			if p.to == "bin" { // a folder with the program in it
				place += "/" + filepath.Base(r.program)
			}
			script += "mkdir -p " + place + `"; rmdir ` + place + `"; echo x > ` + place + "\"\n"
		}
		if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\nmkdir -p \"$3/bin\"; echo > \"$3/bin/python3\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		path := bin + ":" + os.Getenv("PATH")
		t.Setenv("PATH", path)
		kit, err := EnsureKit(t.Context(), KitRequest{CacheDir: dir, Agent: name, Env: []string{"PATH=" + path}})
		if err != nil || !r.complete(kit.Dir) || kit.Name != name+"-"+r.version {
			t.Errorf("%s: %v %+v", name, err, kit)
		}
		for _, p := range r.parts {
			if _, err := os.Stat(filepath.Join(kit.Dir, p.to)); err != nil {
				t.Error(err)
			}
		}
		t.Setenv("PATH", strings.TrimPrefix(path, bin+":"))
	}
	if _, err := EnsureKit(t.Context(), KitRequest{CacheDir: t.TempDir(), Agent: Nop}); !assay.IsUser(err) {
		t.Error(err)
	}
}
