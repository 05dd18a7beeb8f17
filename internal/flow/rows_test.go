package flow

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// The tests of this file are known ways in which environments mislead, each
// named after its row in the survey of mining.

func failing(kind assay.InfraKind, permanent bool) error {
	return &assay.InfraError{Kind: kind, Doing: "building", Err: errors.New("it broke"), Permanent: permanent}
}

// Of an image that can't be built any more the verdict is drift, and what its
// last build resolved stays on record.
func TestMining17RebuildFailureIsDriftAndKeepsTheLock(t *testing.T) {
	log := []byte("Collecting pyyaml==5.4\nERROR: No matching distribution found for pyyaml==5.4\n")
	reason, detail := buildReason("docker", failing(assay.InfraSandbox, true), log)
	if reason != assay.ReasonBuildDrift || !strings.HasPrefix(detail, "ERROR: No matching distribution") || status(reason) != "quarantined" {
		t.Errorf("%s, %s: %s", reason, status(reason), detail)
	}
	if reason, _ := buildReason("docker", failing(assay.InfraSandbox, true), []byte("pythn: not found")); reason != assay.ReasonBuildFailed {
		t.Errorf("a mistake in the recipe is %s", reason)
	}
	valid := &assay.Validation{Status: "valid", Digest: "d", When: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	for digest, want := range map[string]assay.Reason{"d": assay.ReasonBuildDrift, "other": assay.ReasonBuildFailed} {
		p := proven{proof: proof{Reason: assay.ReasonBuildFailed}, validation: assay.Validation{Status: "rejected", Reason: string(assay.ReasonBuildFailed), Detail: "it broke"}}
		p.drifted(valid, digest)
		task := assay.Task{Environment: assay.Environment{Lock: "l", ImageDigest: "i", Undated: []string{"x"}}}
		p.into(&task)
		if v := task.Validation; p.Reason != want || v.Reason != string(want) || v.Status != status(want) {
			t.Errorf("%s: %s, %+v", digest, p.Reason, v)
		}
		if e := task.Environment; e.Lock != "l" || e.ImageDigest != "i" || len(e.Undated) != 1 {
			t.Errorf("the record of the last good build is lost: %+v", e)
		}
	}
}

func TestMining20PlatformAndForeignInstructions(t *testing.T) {
	task := assay.Task{Environment: assay.Environment{Platform: "linux/amd64"}}
	for host, want := range map[string]assay.Reason{"linux/amd64": "", "linux/arm64": assay.ReasonPlatform, "": ""} {
		if got := misfit(task, Host{Platform: host}); got.Kind != want || want != "" && !strings.Contains(got.Reason, "this machine is linux/arm64") {
			t.Errorf("on %q: %+v", host, got)
		}
	}
	if got := misfit(assay.Task{}, Host{Platform: "linux/arm64"}); got.Kind != "" {
		t.Errorf("a task for any platform: %+v", got)
	}
	for name, c := range map[string]struct {
		exit run.Exit
		want bool
	}{
		"by itself": {run.Exit{Signal: int(syscall.SIGILL)}, true}, "told by a shell": {run.Exit{Code: 132}, true},
		"killed": {run.Exit{Signal: 9}, false}, "failed": {run.Exit{Code: 1}, false}, "passed": {run.Exit{}, false},
	} {
		if got := isIllegal(c.exit); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	var infra *assay.InfraError
	if err := foreignProcessor("after"); !errors.As(err, &infra) || infra.Kind != assay.InfraSandbox {
		t.Errorf("%v", err)
	}
}

// A registry's limit, or a network that is away, is no verdict on a task.
func TestMining22ARegistrysLimitIsNoVerdict(t *testing.T) {
	log := []byte("ERROR: HTTP error 429 while getting x\nERROR: No matching distribution found for x\n")
	for _, err := range []error{failing(assay.InfraNetwork, false), failing(assay.InfraNetwork, true), failing(assay.InfraSandbox, false)} {
		if reason, detail := buildReason("docker", err, log); reason != "" {
			t.Errorf("%v: %s, %s", err, reason, detail)
		}
	}
}

func TestMining26ASmallerMachineIsRefused(t *testing.T) {
	task := assay.Task{Validation: &assay.Validation{Needs: &assay.Envelope{MemoryMB: 4096, CPUs: 2}}}
	for name, c := range map[string]struct {
		host Host
		says string
	}{
		"as large": {Host{CPUs: 2, MemoryMB: 4096}, ""}, "unknown": {Host{}, ""},
		"less memory":     {Host{CPUs: 8, MemoryMB: 2048}, "needed 4096 MB of memory, this machine has 2048"},
		"less processors": {Host{CPUs: 1, MemoryMB: 8192}, "2 processors, this machine has 1"},
	} {
		got := misfit(task, c.host)
		if (got.Kind == assay.ReasonTooSmall) != (c.says != "") || !strings.Contains(got.Reason, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What was measured belongs to a trial of just these inputs.
func TestMining40TheKeyHoldsEveryInput(t *testing.T) {
	base := assay.Trial{Task: "a", TaskDigest: "1", Variant: "v", VariantDigest: "1", Agent: assay.AgentSpec{Name: "command", Command: []string{"x"}}, Repeat: 1}
	seen := map[string]string{assay.TrialID(base): "base"}
	for name, change := range map[string]func(*assay.Trial){
		"task": func(x *assay.Trial) { x.TaskDigest = "2" }, "variant": func(x *assay.Trial) { x.VariantDigest = "2" },
		"agent": func(x *assay.Trial) { x.Agent.Command = []string{"y"} }, "repeat": func(x *assay.Trial) { x.Repeat = 2 },
		"model": func(x *assay.Trial) { x.Model = "m" }, "effort": func(x *assay.Trial) { x.Effort = "high" },
		"limits": func(x *assay.Trial) { x.Limits.TimeoutSec = 1 }, "sandbox": func(x *assay.Trial) { x.Sandbox = "docker" },
	} {
		x := base
		change(&x)
		if other, taken := seen[assay.TrialID(x)]; taken {
			t.Errorf("another %s has the key of %s", name, other)
		}
		seen[assay.TrialID(x)] = name
	}
}

// The project's own newer release in the image is an answer to copy from.
func TestMining44ImageIsSearchedForTheChange(t *testing.T) {
	long := strings.Repeat("x = 1\n", 20)
	base := tree.Tree{"a.py": tree.Text("old"), "same.py": tree.Text(long)}
	after := tree.Over(base, tree.Tree{"p/a[1].py": tree.Text(long + "new"), "__init__.py": tree.Text("")})
	want := changed(base, after)
	if len(want) != 1 {
		t.Fatalf("%v", want)
	}
	for sum, p := range want {
		if p != "p/a[1].py" {
			t.Errorf("%s", p)
		}
		for text, leak := range map[string]bool{
			sum + "  /usr/lib/python3/site-packages/p/a[1].py\n": true, `\` + sum + "  /odd\\nname\n": true,
			"0000  /usr/lib/a.py\n" + sum[1:] + "  /x\n": false, "": false,
		} {
			if got := found(text, want); (got != "") != leak {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
	if got := strings.Join(auditCommand(want, after), " "); !strings.Contains(got, `( -name a\[1].py -size 123c ) -exec sha256sum {} +`) {
		t.Errorf("%s", got)
	}
}
