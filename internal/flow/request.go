package flow

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/config"
)

// Request joins a run configuration file ("" for none) with what the flags
// say, which wins field by field, and checks the whole. The default results
// folder is made of the request, so that the same command goes on with the
// same results.
func (f *Flow) Request(file string, flags assay.Request, agents []string) (assay.Request, error) {
	var problems assay.Problems
	req := assay.Request{}
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return req, assay.Userf("reading the run configuration: %v", err)
		}
		r, ps := config.Load(file, data)
		req, problems = r, append(problems, ps...)
	}
	for _, name := range agents {
		spec, err := config.Agent(name)
		if err != nil {
			problems.Addf("", 0, "%v", err)
			continue
		}
		flags.Agents = append(flags.Agents, spec)
	}
	req = override(req, flags)
	for _, fault := range config.Faults(flags) {
		problems.Addf("", 0, "%s", fault.Text)
	}
	problems = append(problems, f.knownAgents(req.Agents)...)
	if err := problems.Err(); err != nil {
		return req, err
	}
	variants := req.VarDir
	req = f.folders(config.WithDefaults(req))
	if variants != "" {
		// A folder that was named and isn't there holds no variants; only
		// the default gives way to the built-in ones.
		req.VarDir = variants
	}
	if req.Out == "" {
		req.Out = filepath.Join("results", "run-"+requestDigest(req))
	}
	return req, nil
}

func (f *Flow) knownAgents(specs []assay.AgentSpec) assay.Problems {
	var ps assay.Problems
	if len(specs) == 0 {
		ps.Addf("", 0, "no agent is named; use --agents, for example --agents oracle,nop")
	}
	names := f.agentNames()
	known := f.agents()
	for _, s := range specs {
		if _, ok := known[s.Name]; ok {
			continue
		}
		hint := ""
		if near := Nearest(s.Name, names); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		ps.Addf("", 0, "there is no agent %q%s (there are %v)", s.Name, hint, names)
	}
	return ps
}

// override takes every field that flags set.
func override(r, flags assay.Request) assay.Request {
	texts := []struct{ to, from *string }{
		{&r.Tasks, &flags.Tasks}, {&r.VarDir, &flags.VarDir}, {&r.Out, &flags.Out}, {&r.Sandbox, &flags.Sandbox},
	}
	for _, p := range texts {
		if *p.from != "" {
			*p.to = *p.from
		}
	}
	lists := []struct{ to, from *[]string }{
		{&r.Task, &flags.Task}, {&r.Tier, &flags.Tier}, {&r.Variants, &flags.Variants},
		{&r.Models, &flags.Models}, {&r.Efforts, &flags.Efforts},
	}
	for _, p := range lists {
		if len(*p.from) > 0 {
			*p.to = *p.from
		}
	}
	if len(flags.Agents) > 0 {
		r.Agents = flags.Agents
	}
	if flags.Retries != nil {
		r.Retries = flags.Retries
	}
	if flags.MaxCostUSD != 0 {
		r.MaxCostUSD = flags.MaxCostUSD
	}
	if flags.MaxCostMonthUSD != 0 {
		r.MaxCostMonthUSD = flags.MaxCostMonthUSD
	}
	r.Repeats = or(flags.Repeats, r.Repeats)
	r.Jobs = or(flags.Jobs, r.Jobs)
	r.Limits = flags.Limits.Or(r.Limits)
	r.Preflight = cmp.Or(flags.Preflight, r.Preflight)
	r.KeepWorkspace = r.KeepWorkspace || flags.KeepWorkspace
	return r
}

func or(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

// folders takes the built-in suite and variants (an empty name) where the
// default folders don't exist here.
func (f *Flow) folders(r assay.Request) assay.Request {
	if r.Tasks == "tasks" && !isDir(r.Tasks) {
		r.Tasks = ""
	}
	if r.VarDir == "variants" && !isDir(r.VarDir) {
		r.VarDir = ""
	}
	return r
}

func isDir(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}

// requestDigest names a results folder: what is run, not how fast or for how
// much.
func requestDigest(r assay.Request) string {
	r.Out, r.Jobs, r.Retries, r.MaxCostUSD, r.MaxCostMonthUSD = "", 0, nil, 0, 0
	data, err := json.Marshal(r)
	if err != nil { // a Request holds nothing that can't be encoded
		data = []byte(err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:4])
}

// Mining reads what a configuration file ("" for none) says about mining and
// building.
func Mining(file string) (config.Mining, error) {
	if file == "" {
		return config.Mining{}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return config.Mining{}, assay.Userf("reading the configuration: %v", err)
	}
	m, ps := config.LoadMining(file, data)
	return m, ps.Err()
}
