package modes_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/modes"
)

// bash and its neighbours are steps with one call, as the agents' parsers
// write them; steps number them.
func bash(command string) assay.Step { return call("Bash", map[string]any{"command": command}) }

func edits(file string) assay.Step {
	return call("Edit", map[string]any{"file_path": file, "new_string": file})
}

func call(tool string, args map[string]any) assay.Step {
	return assay.Step{Source: "agent", ToolCalls: []assay.ToolCall{{ID: "x", Name: tool, Arguments: args}}}
}

func says(text string) assay.Step { return assay.Step{Source: "agent", Message: text} }

func steps(list ...assay.Step) []assay.Step {
	out := append([]assay.Step{{Source: "user", Message: "git log --all is done"}}, list...)
	for i := range out {
		out[i].ID = i + 1
	}
	return out
}

func failed(checks ...assay.CheckResult) assay.Result {
	return assay.Result{Outcome: assay.Failed, Checks: checks, Patch: assay.Patch{Bytes: 1, Files: []assay.FileChange{{Path: "src/a.py", Kind: "modified"}, {Path: "tests/test_a.py", Kind: "modified"}}}}
}

func check(kind assay.CheckKind, status assay.CheckStatus, clause, detail string, misses ...assay.TestResult) assay.CheckResult {
	return assay.CheckResult{Name: "c", Kind: kind, Status: status, Clause: clause, Detail: detail, Misses: misses}
}

func TestOf(t *testing.T) {
	hidden := check(assay.CheckTests, assay.CheckFailed, "it works", "",
		assay.TestResult{ID: "t.new", Status: assay.TestFailed, Clause: "dates before 1970"},
		assay.TestResult{ID: "t.new2", Status: assay.TestMissing, Clause: "dates before 1970"},
		assay.TestResult{ID: "t.other", Status: assay.TestSkipped},
		assay.TestResult{ID: "t.gone", Status: assay.TestMissing, Kept: true},
		assay.TestResult{ID: "t.old", Status: assay.TestFailed, Kept: true})
	tests := []struct {
		name  string
		r     assay.Result
		steps []assay.Step
		want  []string
	}{
		{"nothing to say", assay.Result{Outcome: assay.Passed}, steps(bash("ls"), says("done")), nil},
		{"infrastructure", assay.Result{Outcome: assay.InfraFail, Checks: []assay.CheckResult{hidden}}, steps(bash("git log --all")), nil},
		{"requirements and a regression", failed(hidden), nil,
			[]string{"regression t.old", "missed_requirement dates before 1970", "missed_requirement it works"}},
		{"tests without a report are no regression", failed(check(assay.CheckTests, assay.CheckFailed, "", "",
			assay.TestResult{ID: "a", Status: assay.TestMissing, Kept: true})), nil, nil},
		{"tampered", failed(check(assay.CheckTestsUnmodified, assay.CheckIntegrity, "", "visible tests were changed: tests/test_a.py modified")),
			steps(edits("/workspace/src/a.py"), edits("/workspace/tests/test_a.py"), edits("/workspace/tests/test_a.py")),
			[]string{"tests_tampered (step 3) visible tests were changed: tests/test_a.py modified"}},
		{"wrong file and scope", failed(check(assay.CheckNoNewFiles, assay.CheckFailed, "", "new files: n.md, o.md"),
			check(assay.CheckFileUnchanged, assay.CheckFailed, "", "files that must stay were changed: src/a.py modified")),
			steps(call("write_file", map[string]any{"path": "o.md"}), call("file_change", map[string]any{"changes": []any{map[string]any{"path": "src/a.py"}}})),
			[]string{"wrong_file (step 3) files that must stay were changed: src/a.py modified", "scope_creep (step 2) new files: n.md, o.md"}},
		{"nothing done", assay.Result{Outcome: assay.Failed}, nil, []string{"nothing_done"}},
		{"claims without a test", failed(), steps(edits("src/a.py"), says("Fixed it."), bash("ls")), []string{"claimed_untested (step 3) Fixed it."}},
		{"tests before the last edit", failed(), steps(bash("pytest -q"), edits("src/a.py"), says("All done")), []string{"claimed_untested (step 4) All done"}},
		{"tests after it", failed(), steps(edits("src/a.py"), bash("cd x && python3 -m pytest"), says("All done")), nil},
		{"no claim", failed(), steps(edits("src/a.py"), says("Here is what I saw.")), nil},
		{"gave up", failed(), steps(edits("src/a.py"), says("I was unable to finish; nothing is fixed.")),
			[]string{"gave_up (step 3) I was unable to finish; nothing is fixed."}},
		{"looped", failed(), steps(bash("make x"), bash("make x"), bash("ls"), bash("make x"), bash("make x"), bash("make x")), []string{"looped (step 6) Bash make x"}},
		{"the same edit", failed(), steps(edits("q"), bash("go test"), edits("q"), bash("go test"), edits("q"), bash("go test"), edits("q"), bash("go test")),
			[]string{"looped (step 8) Edit q"}},
		{"tests after each of four edits", failed(), steps(edits("a"), bash("pytest"), edits("b"), bash("pytest"), edits("c"), bash("pytest"), edits("d"), bash("pytest")), nil},
		{"out of turns", assay.Result{Outcome: assay.LimitHit, Limit: assay.LimitTurns, Patch: failed().Patch}, steps(bash("ls")), []string{"ran_out (step 2) turns"}},
		{"refused", assay.Result{Outcome: assay.Refused, Agent: assay.AgentFacts{Final: "\nI can't help with that.\nmore"}}, steps(says("I can't help with that.")),
			[]string{"refused (step 2) I can't help with that.", "nothing_done"}},
		{"searched, and passed", assay.Result{Outcome: assay.Passed}, steps(bash("git status"), bash("cd . && git log --oneline --all -S name"), bash("git fsck")),
			[]string{"searched_for_answer (step 3) cd . && git log --oneline --all -S name"}},
		{"searched by a tool", assay.Result{Outcome: assay.Passed}, steps(call("WebFetch", map[string]any{"url": "https://example.org/fix"})),
			[]string{"searched_for_answer (step 2) WebFetch https://example.org/fix"}},
		{"a local server", assay.Result{Outcome: assay.Passed}, steps(bash("curl -s http://localhost:8000/x.com"), bash("git log -3"), bash("pip install -e ."), bash("curl --version")), nil},
		{"arguments of no object", failed(), []assay.Step{{ID: 1, Source: "agent", ToolCalls: []assay.ToolCall{{Name: "Bash", Arguments: "x"}, {Name: "x"}}}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, m := range modes.Of(tt.r, tt.steps) {
				word := assay.Mode{Name: m.Name, Step: m.Step}
				if m.Name == assay.ModeRanOut {
					word.Detail = ""
				}
				got = append(got, strings.TrimSpace(strings.Replace(word.String(), ":", "", 1)+" "+m.Detail))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestSearches(t *testing.T) {
	for command, want := range map[string]bool{
		"git log --all -p": true, "git -C x reflog": true, "git cat-file --batch-all-objects --batch-check": true,
		"wget https://github.com/o/r/pull/3.patch": true, "pip download pkg==2.0": true, "gh pr view 3": true, "git fetch origin": true,
		"git clone https://x.org/a": true, "git log -p -- a.py": false, "git diff": false, "grep gh api.py": false, "echo curl": false,
		"git commit -m 'read all'": false, "wget -h": false,
	} {
		got := modes.Of(assay.Result{Outcome: assay.Passed}, steps(bash(command)))
		if (len(got) > 0) != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// TestBounds: a trajectory of any length leaves little, and one line of each.
func TestBounds(t *testing.T) {
	w := modes.New(failed())
	for i := range 800 {
		s := bash(strings.Repeat("x", i%500) + "\nmore")
		s.ID = i + 1
		w.Step(s)
	}
	for _, m := range w.Modes() {
		if n := len([]rune(m.Detail)); n > 120 || strings.Contains(m.Detail, "\n") {
			t.Errorf("a detail of %d: %q", n, m.Detail)
		}
	}
}

// TestRefusedDestinations: a refused destination is a search where a command
// names it, and where the program shows no call at all; else it may be the
// program's own.
func TestRefusedDestinations(t *testing.T) {
	r := assay.Result{Outcome: assay.Passed, Refused: []assay.Refusal{{Destination: "files.example.org:443", Count: 1}}}
	for name, c := range map[string]struct {
		steps []assay.Step
		want  string
	}{
		"named":   {steps(bash("ls"), bash("python get.py FILES.example.org")), "searched_for_answer (step 3)"},
		"own":     {steps(bash("ls")), ""},
		"no step": {nil, "searched_for_answer"},
	} {
		if got := assay.ModeWords(modes.Of(r, c.steps)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
