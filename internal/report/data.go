package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// writeJSON writes the Report itself.
func writeJSON(out *bytes.Buffer, r Report) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("writing the report as JSON: %w", err)
	}
	return nil
}

// csvColumns are the columns of the CSV, one line per trial, and how each is
// filled. Text columns pass guard.
func csvColumns() []struct {
	name string
	cell func(Trial) string
} {
	type col = struct {
		name string
		cell func(Trial) string
	}
	text := func(name string, of func(Trial) string) col {
		return col{name, func(t Trial) string { return guard(of(t)) }}
	}
	number := func(name string, of func(Trial) int64) col {
		return col{name, func(t Trial) string { return strconv.FormatInt(of(t), 10) }}
	}
	float := func(name string, of func(Trial) float64) col {
		return col{name, func(t Trial) string { return strconv.FormatFloat(of(t), 'f', -1, 64) }}
	}
	return []col{
		text("trial", func(t Trial) string { return t.ID }),
		text("task", func(t Trial) string { return t.Task }),
		text("agent", func(t Trial) string { return t.Agent }),
		text("agent_version", func(t Trial) string { return t.Version }),
		text("model", func(t Trial) string { return t.Model }),
		text("effort", func(t Trial) string { return t.Effort }),
		text("variant", func(t Trial) string { return t.Variant }),
		number("repeat", func(t Trial) int64 { return int64(t.Repeat) }),
		text("outcome", func(t Trial) string { return string(t.Outcome) }),
		{"resolved", func(t Trial) string { return strconv.FormatBool(t.Resolved) }},
		float("score", func(t Trial) float64 { return t.Score }),
		text("limit", func(t Trial) string { return string(t.Limit) }),
		text("infra", func(t Trial) string { return string(t.Infra) }),
		text("detail", func(t Trial) string { return firstLine(t.Detail) }),
		text("modes", func(t Trial) string { return assay.ModeWords(t.Modes) }),
		number("attempt", func(t Trial) int64 { return int64(t.Attempt) }),
		number("attempts", func(t Trial) int64 { return int64(t.Attempts) }),
		number("turns", func(t Trial) int64 { return int64(t.Turns) }),
		number("tokens_input", func(t Trial) int64 { return t.Tokens.Input }),
		number("tokens_cache_read", func(t Trial) int64 { return t.Tokens.CacheRead }),
		number("tokens_cache_write", func(t Trial) int64 { return t.Tokens.CacheWrite }),
		number("tokens_output", func(t Trial) int64 { return t.Tokens.Output }),
		number("program_tokens", func(t Trial) int64 { return t.Program.Total() }),
		float("cost_usd", func(t Trial) float64 { return t.Cost.USD }),
		{"cost_known", func(t Trial) string { return strconv.FormatBool(t.Cost.Unknown == 0) }},
		float("seconds", func(t Trial) float64 { return t.Seconds }),
		number("lost_attempts", func(t Trial) int64 { return int64(t.Lost.Attempts) }),
		number("lost_tokens", func(t Trial) int64 { return t.Lost.Tokens.Total() }),
		float("lost_cost_usd", func(t Trial) float64 { return t.Lost.Cost.USD }),
		float("lost_seconds", func(t Trial) float64 { return t.Lost.Seconds }),
	}
}

func writeCSV(out *bytes.Buffer, r Report) error {
	cols := csvColumns()
	line := make([]string, len(cols))
	for i, c := range cols {
		line[i] = c.name
	}
	w := csv.NewWriter(out)
	err := w.Write(line)
	for _, t := range r.Trials {
		for i, c := range cols {
			line[i] = c.cell(t)
		}
		if err == nil {
			err = w.Write(line)
		}
	}
	w.Flush()
	if err != nil {
		return fmt.Errorf("writing the report as CSV: %w", err)
	}
	return nil
}

// guard keeps a spreadsheet from taking a text for a formula: one that begins
// with = + - @ (or their wide forms) gets an apostrophe before it.
func guard(s string) string {
	s = clean(s)
	if s != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(s)[0]) {
		return "'" + s
	}
	return s
}
