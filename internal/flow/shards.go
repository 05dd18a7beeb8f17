package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/ledger"
	"github.com/assaybot/assay/internal/plan"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/suite"
)

// ShardsFile is what a planned results folder holds besides run.json and
// plan.json: the parts of the plan, by trial.
const ShardsFile = "shards.json"

// maxShardsFile bounds what is read of it.
const maxShardsFile = 64 << 20

// PlanRequest asks for a plan in parts. Results are folders of earlier runs:
// what has an answer there isn't run again (unless All), and how long it took
// and what it cost is expected of the rest. Minutes is the time of one part,
// Most the most parts (0: as many as GitHub can take). Out, if it isn't empty,
// becomes a results folder that holds the plan and no attempts.
//
// History, if it isn't nil, is a branch of results that teaches the same, and
// what the month has cost so far. Only an answer there that is younger than
// MaxAge isn't asked for again: it is out of the plan, since its attempts are
// not at hand.
type PlanRequest struct {
	Request assay.Request
	History *HistoryPlace
	MaxAge  time.Duration
	Results []string
	All     bool
	Minutes float64
	Most    int
	Out     string
}

// Shards is a plan in parts. Trials are all of the plan, Done those that have
// an answer already, Unpriced those whose cost nobody knows.
type Shards struct {
	Schema    int     `json:"schema"`
	Count     int     `json:"count"`
	Trials    int     `json:"trials"`
	Done      int     `json:"done"`
	Todo      int     `json:"todo"`
	NotRun    int     `json:"not_run"`
	Seconds   float64 `json:"expected_seconds"`
	USD       float64 `json:"expected_usd"`
	Unpriced  int     `json:"unpriced_trials"`
	BudgetUSD float64 `json:"budget_usd,omitempty"`
	// MonthUSD is what the history says was spent this month, MonthBudget the
	// month's budget, 0 for none; Spent is true when nothing is left of it and
	// so nothing is planned.
	MonthUSD    float64     `json:"month_usd,omitempty"`
	MonthBudget float64     `json:"month_budget_usd,omitempty"`
	Spent       bool        `json:"month_budget_spent,omitempty"`
	Notes       []string    `json:"notes,omitempty"`
	Suite       string      `json:"suite_digest"`
	Shards      []plan.Part `json:"shards"`
}

// Plan plans a run in parts and runs nothing. It needs no key of a model: the
// machine that plans may be one that holds no secret.
func (f *Flow) Plan(ctx context.Context, r PlanRequest) (Shards, error) {
	if r.Minutes < 0 {
		return Shards{}, assay.Userf("--minutes is %v; it must be above 0", r.Minutes)
	}
	entries, whole, req, err := f.planned(ctx, r.Request)
	if err != nil {
		return Shards{}, err
	}
	known, err := earlier(r.Results)
	if err != nil {
		return Shards{}, err
	}
	past, err := f.past(ctx, r, req)
	if err != nil {
		return Shards{}, err
	}
	whole = past.without(whole, r.All)
	todo := lacking(whole, known, r.All)
	s := Shards{
		Schema: assay.RunSchema, Trials: len(whole.Trials) + past.answered, Done: len(whole.Trials) - len(todo) + past.answered, Todo: len(todo),
		NotRun: len(whole.NotRun), Suite: suite.DigestOf(entries), MonthUSD: past.spent, MonthBudget: req.MaxCostMonthUSD, Notes: past.notes,
	}
	if todo, req.MaxCostUSD = past.afford(todo, req); past.broke(req) {
		s.Spent = true
	}
	s.BudgetUSD = req.MaxCostUSD
	memory := plan.Learn(append(known, past.results...))
	if s.Shards, err = plan.Split(todo, memory.Of, plan.Cut{Seconds: r.Minutes * 60, Most: r.Most, BudgetUSD: req.MaxCostUSD}); err != nil {
		return Shards{}, err
	}
	s.Count = len(s.Shards)
	f.expect(&s, todo, memory)
	return s, f.saveShards(r.Out, s, prepared{req: req, plan: whole, entries: entries})
}

// expect sums up what trials are likely to take.
func (f *Flow) expect(s *Shards, todo []assay.Trial, memory plan.Memory) {
	for _, t := range todo {
		e := memory.Of(t)
		s.Seconds += e.Seconds
		s.USD += e.USD
		if !e.Priced && f.UsesModels != nil && f.UsesModels(t.Agent.Name) {
			s.Unpriced++
		}
	}
}

// planned is prepare without a sandbox (unless its name must be found out) and
// without keys.
func (f *Flow) planned(ctx context.Context, req assay.Request) ([]suite.Entry, assay.Plan, assay.Request, error) {
	s, err := f.openSuite(req.Tasks)
	if err != nil {
		return nil, assay.Plan{}, req, err
	}
	entries, problems := s.Select(req.Task, req.Tier)
	all, _ := f.openVariants(req.VarDir)
	variants, vp := suite.SelectVariants(all, req.Variants)
	if err := append(problems, vp...).Err(); err != nil {
		return nil, assay.Plan{}, req, err
	}
	if req.Sandbox == "auto" || req.Sandbox == "" {
		box, err := f.Sandbox(ctx, req.Sandbox, runID(req))
		if err != nil {
			return nil, assay.Plan{}, req, err
		}
		req.Sandbox = box.Name()
		if err := box.Close(context.WithoutCancel(ctx)); err != nil {
			return nil, assay.Plan{}, req, err
		}
	}
	entries = fit(entries, io.Discard)
	in := f.planInput(entries, variants, req)
	agents := f.agents()
	in.Check = func(t assay.Trial) assay.Problems {
		if a, ok := agents[t.Agent.Name]; ok {
			return a.Check(t, allKeys())
		}
		return nil
	}
	whole, err := plan.Make(in)
	return entries, whole, req, err
}

// allKeys is a gateway that could reach every provider: whether it can is for
// the machines that run.
func allKeys() run.Credentials {
	return run.Credentials{"anthropic": true, "openai": true, "gemini": true, "google": true}
}

// earlier are the results of folders. One that is missing or was never run is
// no mistake: the first run has no history.
func earlier(dirs []string) ([]assay.Result, error) {
	var out []assay.Result
	for _, dir := range dirs {
		if !isDir(dir) {
			continue
		}
		l, err := ledger.OpenRead(dir)
		if err != nil {
			return nil, err
		}
		results, _ := l.Results()
		out = append(out, results...)
	}
	return out, nil
}

// lacking are the trials without a final outcome.
func lacking(p assay.Plan, known []assay.Result, all bool) []assay.Trial {
	done := map[string]bool{}
	for _, r := range known {
		done[r.Trial.ID] = done[r.Trial.ID] || (r.Outcome.Final() && !all)
	}
	var out []assay.Trial
	for _, t := range p.Trials {
		if !done[t.ID] {
			out = append(out, t)
		}
	}
	return out
}

// saveShards writes the whole plan as a results folder, so that a report over
// all parts misses what never ran.
func (f *Flow) saveShards(dir string, s Shards, ready prepared) (err error) {
	if dir == "" {
		return nil
	}
	l, err := ledger.Open(dir, f.Owner)
	if err != nil {
		return err
	}
	defer func() {
		if e := l.Close(); err == nil {
			err = e
		}
	}()
	if err := f.savePlan(l, &ready); err != nil {
		return err
	}
	return disk.WriteJSON(filepath.Join(dir, ShardsFile), s)
}

// Matrix is the plan as the matrix of a workflow's job: one entry per part.
// With no parts it is the empty list, which a workflow must not expand.
func (s Shards) Matrix() (string, error) {
	type entry struct {
		Shard  string `json:"shard"`
		Name   string `json:"name"`
		Budget string `json:"budget"`
	}
	include := []entry{}
	for _, p := range s.Shards {
		// 0 is no limit, as for the flag that takes it.
		include = append(include, entry{
			Shard: p.Name(), Name: fmt.Sprintf("shard-%03d-of-%03d", p.Index, p.Of),
			Budget: strconv.FormatFloat(p.BudgetUSD, 'f', -1, 64),
		})
	}
	data, err := json.Marshal(map[string]any{"include": include})
	return string(data), err
}

// Shard is one machine's part of a plan; the zero value is the whole.
type Shard struct {
	Index, Count int
	// Trials are those that the plan gave to the part; nil: every Count-th.
	Trials []string
}

// Of narrows a plan to the part.
func (s Shard) Of(p assay.Plan) (assay.Plan, error) {
	switch {
	case s.Count == 0:
		return p, nil
	case s.Trials != nil:
		return plan.Only(p, s.Trials)
	}
	return plan.Shard(p, s.Index-1, s.Count)
}

var shardName = regexp.MustCompile(`^(\d{1,4})/(\d{1,4})$`)

// ParseShard reads "2/7", and which trials that is from a planned folder if
// one is named.
func ParseShard(name, dir string) (Shard, error) {
	if name == "" && dir == "" {
		return Shard{}, nil
	}
	m := shardName.FindStringSubmatch(name)
	if m == nil {
		return Shard{}, assay.Userf("%q is no shard; write 2/7 for the second of seven", name)
	}
	i, _ := strconv.Atoi(m[1])
	n, _ := strconv.Atoi(m[2])
	if i < 1 || i > n {
		return Shard{}, assay.Userf("there is no shard %s; they go from 1/%d to %d/%d", name, n, n, n)
	}
	s := Shard{Index: i, Count: n}
	if dir == "" {
		return s, nil
	}
	planned, err := readShards(dir)
	if err != nil {
		return s, err
	}
	if planned.Count != n || len(planned.Shards) != n {
		return s, assay.Userf("the plan in %s has %d shards; %s is none of them", dir, planned.Count, name)
	}
	s.Trials = append([]string{}, planned.Shards[i-1].Trials...)
	return s, nil
}

// Planned is the request that a planned folder was made of, with what flags
// set over it. The results go elsewhere.
func Planned(dir string, flags assay.Request) (assay.Request, error) {
	if dir == "" {
		return flags, nil
	}
	l, err := ledger.OpenRead(dir)
	if err != nil {
		return flags, err
	}
	r, err := l.Run()
	if errors.Is(err, fs.ErrNotExist) {
		return flags, assay.Userf("there is no plan at %s; 'assay plan --out' writes one", dir)
	}
	if err != nil {
		return flags, err
	}
	r.Request.Out = flags.Out
	return override(r.Request, flags), nil
}

func readShards(dir string) (s Shards, err error) {
	name := filepath.Join(dir, ShardsFile)
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, assay.Userf("there is no plan at %s; 'assay plan --out' writes one", name)
	case err != nil:
		return s, err
	case !info.Mode().IsRegular() || info.Size() > maxShardsFile:
		return s, assay.Userf("%s is no plan of ours", name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, assay.Userf("%s is no plan of ours: %v", name, err)
	}
	return s, nil
}

// WriteShards prints a plan in parts for a person, with what it is likely to
// cost before anything is spent.
func WriteShards(w io.Writer, s Shards) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d trials: %d have an answer, %d to run in %d shards; %d can't be run.\n", s.Trials, s.Done, s.Todo, s.Count, s.NotRun)
	switch {
	case s.Spent:
		fmt.Fprintf(&b, "Nothing is started: the month's budget of $%.2f is spent ($%.2f so far).\n", s.MonthBudget, s.MonthUSD)
	case s.Count == 0:
		b.WriteString("Nothing to do.\n")
	default:
		fmt.Fprintf(&b, "Expected: %s in all, $%.2f%s.\n", minutes(s.Seconds), s.USD, unpriced(s.Unpriced))
	}
	if s.BudgetUSD > 0 {
		fmt.Fprintf(&b, "Budget: $%.2f, shared among the shards.\n", s.BudgetUSD)
		if s.USD > s.BudgetUSD {
			b.WriteString("That is less than what is expected: trials will be left out once it is spent.\n")
		}
	}
	if s.MonthBudget > 0 && !s.Spent {
		fmt.Fprintf(&b, "This month: $%.2f of $%.2f spent.\n", s.MonthUSD, s.MonthBudget)
	}
	for _, n := range s.Notes {
		b.WriteString(n + "\n")
	}
	for _, p := range s.Shards {
		fmt.Fprintf(&b, "%8s  %4d trials  %8s  $%.2f", p.Name(), len(p.Trials), minutes(p.Seconds), p.USD)
		if p.BudgetUSD > 0 {
			fmt.Fprintf(&b, " of at most $%.2f", p.BudgetUSD)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func minutes(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.0f s", seconds)
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}

func unpriced(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and what %d trials cost that nobody has seen the like of", n)
}
