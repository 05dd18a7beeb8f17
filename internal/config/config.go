// Package config reads run configuration files, in YAML or JSON, into a
// request. It never expands environment variables, never looks for a file on
// its own and never runs anything.
package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/schema"
)

// file is a request as a file may spell it: an agent is an object or
// "name@version".
type file struct {
	assay.Request
	Agents []agent `json:"agents,omitempty"`
	// Mine is read by LoadMining; a run has no use for it.
	Mine Mining `json:"mine,omitzero"`
}

type agent assay.AgentSpec

// UnmarshalText reads the short spelling.
func (a *agent) UnmarshalText(text []byte) error {
	spec, err := Agent(string(text))
	*a = agent(spec)
	return err
}

// Load decodes the run configuration that stands at path: JSON if its name
// ends in .json (or, with an unknown ending, if it starts with a brace), else
// YAML. All faults are told, with lines. Relative folders in it (tasks,
// variants_dir, out) are relative to the file's folder and come back joined
// to it; what the file doesn't set stays zero, see WithDefaults.
func Load(path string, data []byte) (assay.Request, assay.Problems) {
	var f file
	decode := schema.DecodeYAML
	if isJSON(path, data) {
		decode = schema.DecodeJSON
	}
	ps := decode(path, data, &f)
	for _, a := range f.Agents {
		f.Request.Agents = append(f.Request.Agents, assay.AgentSpec(a))
	}
	r := f.Request
	ps = append(ps, later(path, data, f, ps)...)
	dir := filepath.Dir(path)
	for _, p := range []*string{&r.Tasks, &r.VarDir, &r.Out} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	return r, ps.Sorted()
}

func isJSON(path string, data []byte) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json":
		return true
	case ".yml", ".yaml":
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(data, "\xef\xbb\xbf \t\r\n"), []byte("{"))
}

// later are the faults of the request's meaning, except those on lines that
// the decoder has a word on already.
func later(path string, data []byte, f file, known assay.Problems) assay.Problems {
	lines, r := schema.Index(data), f.Request
	var ps assay.Problems
	faults := append(Faults(r), f.Mine.faults()...)
	for at, n := range map[string]int{"repeats": r.Repeats, "jobs": r.Jobs} {
		if n == 0 && lines.Has(at) {
			faults = append(faults, Fault{at, at + " is 0; it must be at least 1"})
		}
	}
	for _, f := range faults {
		line := lines.At(f.At)
		if !slices.ContainsFunc(known, func(p assay.Problem) bool { return p.Line == line && line > 1 }) {
			ps.Addf(path, line, "%s", f.Text)
		}
	}
	return ps
}

// Fault is one thing wrong with a request; At is the path of the field by its
// JSON names ("agents.1.name").
type Fault struct{ At, Text string }

// Faults finds everything in r that no run can mean, wherever r came from: a
// file, flags or an event. Zero values are no faults; they stand for the
// defaults.
func Faults(r assay.Request) []Fault {
	var out []Fault
	add := func(at, format string, args ...any) { out = append(out, Fault{at, fmt.Sprintf(format, args...)}) }
	if r.Repeats < 0 {
		add("repeats", "repeats is %d; it must be at least 1", r.Repeats)
	}
	if r.Jobs < 0 {
		add("jobs", "jobs is %d; it must be at least 1", r.Jobs)
	}
	if r.Retries != nil && *r.Retries < 0 {
		add("retries", "retries is %d; it must not be negative", *r.Retries)
	}
	if r.MaxCostUSD < 0 {
		add("max_cost_usd", "max_cost_usd is negative")
	}
	if r.MaxCostMonthUSD < 0 {
		add("max_cost_usd_month", "max_cost_usd_month is negative")
	}
	if !slices.Contains(append(sandboxes(), ""), r.Sandbox) {
		add("sandbox", "the sandbox %q is unknown%s", r.Sandbox, hint(r.Sandbox, sandboxes()))
	}
	if !slices.Contains(append(preflights(), ""), string(r.Preflight)) {
		add("preflight", "the preflight %q is unknown%s", r.Preflight, hint(string(r.Preflight), preflights()))
	}
	for _, name := range schema.Negative(r.Limits) {
		add("limits."+name, "limits.%s is negative", name)
	}
	out = append(out, lists(r)...)
	return append(out, agents(r.Agents)...)
}

func preflights() []string {
	return []string{string(assay.PreflightAuto), string(assay.PreflightAlways), string(assay.PreflightNever)}
}

func sandboxes() []string { return []string{"auto", "docker", "local"} }

func hint(word string, known []string) string {
	if h := schema.Hint(word, known); h != "" {
		return h
	}
	return "; known are " + strings.Join(known, ", ")
}

// lists finds empty and repeated entries.
func lists(r assay.Request) []Fault {
	var out []Fault
	for _, l := range []struct {
		at     string
		values []string
	}{{"task", r.Task}, {"tier", r.Tier}, {"variants", r.Variants}, {"models", r.Models}, {"efforts", r.Efforts}} {
		for i, v := range l.values {
			at := l.at + "." + strconv.Itoa(i)
			switch {
			case strings.TrimSpace(v) == "":
				out = append(out, Fault{at, l.at + " holds an empty entry"})
			case slices.Contains(l.values[:i], v):
				out = append(out, Fault{at, fmt.Sprintf("%s names %q twice", l.at, v)})
			}
		}
	}
	return out
}

func agents(specs []assay.AgentSpec) []Fault {
	var out []Fault
	keys := map[string]bool{}
	for i, a := range specs {
		at := "agents." + strconv.Itoa(i)
		if why := badName(a.Name); why != "" {
			out = append(out, Fault{at + ".name", why})
			continue
		}
		if why := badVersion(a.Version); why != "" && a.Version != "" {
			out = append(out, Fault{at + ".version", why})
		}
		if a.Name == "command" && (len(a.Command) == 0 || a.Command[0] == "") {
			out = append(out, Fault{at, `the agent "command" needs a command, the program to run`})
		}
		if a.Name != "command" && len(a.Command) > 0 {
			out = append(out, Fault{at + ".command", fmt.Sprintf("the agent %q takes no command; that is for the agent \"command\"", a.Name)})
		}
		if keys[a.Key()] {
			out = append(out, Fault{at, fmt.Sprintf("two agents are called %q; give one of them a label", a.Key())})
		}
		keys[a.Key()] = true
	}
	return out
}

// Agent reads "name" or "name@version". The error is a UserError.
func Agent(s string) (assay.AgentSpec, error) {
	name, version, versioned := strings.Cut(s, "@")
	if why := badName(name); why != "" {
		return assay.AgentSpec{}, assay.Userf("%s", why)
	}
	if why := badVersion(version); versioned && why != "" {
		return assay.AgentSpec{}, assay.Userf("%s", why)
	}
	return assay.AgentSpec{Name: name, Version: version}, nil
}

func badName(name string) string {
	switch {
	case name == "":
		return "an agent has no name"
	case strings.Contains(name, "@"):
		return fmt.Sprintf("the agent's name %q holds a version; put it into the field version", name)
	case assay.SafeName(name, len(name)) != name || strings.HasPrefix(name, "-"):
		return fmt.Sprintf("%q is no name of an agent; use letters, digits, '-', '_' and '.'", name)
	}
	return ""
}

// badVersion refuses what could be more than a version to an installer.
func badVersion(version string) string {
	plain := strings.ReplaceAll(version, "+", "")
	if plain == "" || assay.SafeName(plain, len(plain)) != plain || strings.HasPrefix(plain, "-") {
		return fmt.Sprintf("%q is no version of an agent; it looks like 1.2.3", version)
	}
	return ""
}

// WithDefaults fills what r leaves open: the folders "tasks" and "variants"
// of the current folder, the variant baseline, one repeat, two jobs, two
// retries, sandbox "auto". Out is left to the caller, who knows the time.
func WithDefaults(r assay.Request) assay.Request {
	r.Schema = assay.RunSchema
	for _, s := range []struct {
		to   *string
		word string
	}{{&r.Tasks, "tasks"}, {&r.VarDir, "variants"}, {&r.Sandbox, "auto"}} {
		if *s.to == "" {
			*s.to = s.word
		}
	}
	for _, n := range []struct {
		to    *int
		count int
	}{{&r.Repeats, 1}, {&r.Jobs, 2}} {
		if *n.to == 0 {
			*n.to = n.count
		}
	}
	if r.Retries == nil {
		two := 2
		r.Retries = &two
	}
	if len(r.Variants) == 0 {
		r.Variants = []string{assay.Baseline}
	}
	return r
}
