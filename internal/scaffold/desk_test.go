package scaffold

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// mayWrite tells whether a job has a reason to write in a scope: scores are
// posted; issues are answered by 'assay issue'; and only the pushing of the
// history and of new tasks writes contents, with the reason beside it.
func mayWrite(w workflow, j map[string]any, scope string) bool {
	uses, _ := j["uses"].(string)
	steps := fmt.Sprint(j["steps"])
	calls := func(names ...string) bool {
		for _, n := range names {
			if strings.Contains(uses, "/"+n+".yml") {
				return true
			}
		}
		return false
	}
	switch scope {
	case "checks", "pull-requests":
		return true
	case "issues":
		return calls("nightly", "label") || strings.Contains(steps, "assay issue ")
	case "contents":
		reason := regexp.MustCompile(`(?m)^ +contents: write # \S`).MatchString(w.text)
		pushes := strings.Contains(steps, "assay history push") || strings.Contains(steps, "assay propose")
		return reason && (calls("record", "nightly", "mine") || pushes)
	}
	return false
}

// A job that may push runs no code of the repository's and no agent, and keeps
// no key of a model; git gets its token by the environment, and no checkout
// leaves one behind.
func TestJobsThatPush(t *testing.T) {
	found := 0
	for path, data := range shipped(t) {
		w, err := parseWorkflow(path, data)
		if err != nil {
			t.Fatal(err)
		}
		for name, j := range w.jobs {
			perms, _ := j["permissions"].(map[string]any)
			if _, called := j["uses"]; called || perms["contents"] != "write" {
				continue
			}
			found++
			text := fmt.Sprint(j["steps"])
			for _, bad := range []string{"_API_KEY", "assay run", "assay build", "assay validate", "assay mine", "assay grade"} {
				if strings.Contains(text, bad) {
					t.Errorf("%s: job %s may push and has %s", path, name, bad)
				}
			}
			for _, one := range (workflow{jobs: map[string]map[string]any{name: j}}).steps() {
				with, _ := one["with"].(map[string]any)
				if uses, _ := one["uses"].(string); strings.HasPrefix(uses, "actions/checkout@") && with["repository"] == nil {
					t.Errorf("%s: job %s checks out the repository's own files", path, name)
				}
			}
		}
	}
	if found != 2 {
		t.Errorf("%d jobs push; the history's and the tasks' do", found)
	}
}

// Row 21: of several labels that are set in one click the workflow reacts to
// its own, and the same issue is worked on by one run at a time, so that the
// second finds it answered.
func TestRow21OneRunPerIssue(t *testing.T) {
	w := shippedOne(t, "label.yml")
	group := fmt.Sprint(w.doc["concurrency"])
	for _, part := range []string{"github.event.issue.number", "github.event.label.name == inputs.label", "cancel-in-progress:false"} {
		if !strings.Contains(group, part) {
			t.Errorf("concurrency lacks %s: %s", part, group)
		}
	}
	for name, j := range w.jobs {
		cond := fmt.Sprint(j["if"])
		if !strings.Contains(cond, "github.event.label.name == inputs.label") {
			t.Errorf("job %s runs for every label: %s", name, cond)
		}
		if name != "gate" && !strings.Contains(cond, "needs.gate.outputs.go == 'true'") {
			t.Errorf("job %s asks nobody who set the label: %s", name, cond)
		}
	}
}

// Row 45: what is worked on is the commit of the event, never what a branch
// holds by then; who set the label is asked for at GitHub before anything that
// costs money.
func TestRow45WorkIsBoundToACommit(t *testing.T) {
	w := shippedOne(t, "label.yml")
	gate := fmt.Sprint(w.jobs["gate"]["steps"])
	for _, part := range []string{"ACTOR:${{ github.event.sender.login }}", "SHA:${{ github.event.pull_request.head.sha || github.sha }}", "assay issue"} {
		if !strings.Contains(gate, part) {
			t.Errorf("the gate lacks %s: %s", part, gate)
		}
	}
	for _, s := range w.steps() {
		with, _ := s["with"].(map[string]any)
		if ref := fmt.Sprint(with["ref"]); with["ref"] != nil && ref != "${{ github.sha }}" && ref != "${{ inputs.assay-ref || github.sha }}" && ref != "${{ github.event.pull_request.merge_commit_sha }}" {
			t.Errorf("%s is checked out", ref)
		}
	}
	if strings.Contains(gate, "author_association") {
		t.Error("an association is no permission")
	}
	for path, data := range generated(t) {
		g, err := parseWorkflow(path, data)
		if err != nil {
			t.Fatal(err)
		}
		on, _ := g.doc["on"].(map[string]any)
		for _, event := range []string{"issue_comment", "pull_request_target"} {
			if _, ok := on[event]; ok {
				t.Errorf("%s listens to %s, whose text can be edited after it was read", path, event)
			}
		}
	}
}

// Row 51: the nightly workflow shows the age of its series whatever became of
// the night.
func TestRow51NightlyShowsItsAge(t *testing.T) {
	w := shippedOne(t, "nightly.yml")
	if cond := fmt.Sprint(w.jobs["record"]["if"]); cond != "${{ !cancelled() }}" {
		t.Errorf("the record is kept if %s", cond)
	}
	record := shippedOne(t, "record.yml")
	if text := fmt.Sprint(record.jobs["history"]["steps"]); !strings.Contains(text, "assay history show") {
		t.Error("no trend is shown")
	}
}

// Row 41: one job of a run pushes, after all shards; shards push nothing.
func TestRow41OneJobPushes(t *testing.T) {
	if strings.Contains(shippedOne(t, "shards.yml").text, "history push") {
		t.Error("shards push")
	}
	if needs := fmt.Sprint(shippedOne(t, "nightly.yml").jobs["record"]["needs"]); needs != "evaluate" {
		t.Errorf("the record waits for %s", needs)
	}
	if _, ok := shippedOne(t, "record.yml").jobs["history"]["strategy"]; ok {
		t.Error("the record is a matrix")
	}
}

// Row 43: mining comments on nothing, whatever it looks at.
func TestRow43MiningCommentsOnNothing(t *testing.T) {
	for _, word := range []string{"assay issue", "assay publish", "issues: write"} {
		if strings.Contains(shippedOne(t, "mine.yml").text, word) {
			t.Errorf("the mining workflow has %q", word)
		}
	}
}

// Row 36: no workflow names a default branch.
func TestRow36NoBranchIsAssumed(t *testing.T) {
	named := regexp.MustCompile(`(?m)(refs/heads/|ref: *|branch(es)?: *\[?"?)(main|master|trunk)\b`)
	for _, set := range []map[string][]byte{shipped(t), generated(t)} {
		for path, data := range set {
			if strings.HasSuffix(path, "/ci.yml") {
				continue // this repository's own
			}
			if m := named.Find(data); m != nil {
				t.Errorf("%s: %s", path, m)
			}
		}
	}
}

// Row 53: a label that a workflow's own token sets starts nothing, which no
// workflow can see; the guide and the generated file say what a bot needs.
func TestRow53ABotThatLabelsIsTold(t *testing.T) {
	guide, err := os.ReadFile("../../docs/github.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"docs/github.md": string(guide), "assay-label.yml": string(generated(t)[".github/workflows/assay-label.yml"])} {
		if !strings.Contains(text, "GITHUB_TOKEN") || !strings.Contains(text, "App's token") {
			t.Errorf("%s doesn't say that a bot needs an App's token", path)
		}
	}
}
