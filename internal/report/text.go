package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/plain"
	"github.com/assaybot/assay/internal/stat"
)

// nothing stands where there is nothing to show, or nothing proven.
const nothing = "~"

// maxCell is the length in runes at which foreign text is cut in a cell.
const maxCell = 300

// clean makes foreign text safe for one line.
func clean(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(plain.Text(s), "\n", " "))
}

// label names a key in one cell, without the parts that are empty.
func (k Key) label() string {
	var parts []string
	for _, p := range []string{k.Task, k.Agent, k.Model, k.Effort, k.Variant} {
		if p != "" {
			parts = append(parts, clean(p))
		}
	}
	if len(parts) == 0 {
		return "(none)"
	}
	return strings.Join(parts, " / ")
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + "%" }

func points(x float64) string {
	s := strconv.FormatFloat(100*x, 'f', 1, 64)
	if s == "-0.0" {
		s = "0.0"
	}
	if x > 0 {
		s = "+" + s
	}
	return s
}

// span shows an interval's limits with the mark of its method.
func span(i stat.Interval) string {
	if i.N == 0 {
		return nothing
	}
	mark := map[stat.Method]string{stat.MethodWilson: "W", stat.MethodClustered: "T", stat.MethodWilsonTasks: "TW"}[i.Method]
	if i.Few {
		mark += "!"
	}
	return fmt.Sprintf("%.1f–%.1f %s", 100*i.Lo, 100*i.Hi, mark)
}

func rate(i stat.Interval) string {
	if i.N == 0 {
		return nothing
	}
	return percent(i.Mean)
}

// mean shows the mean of n figures.
func mean(x float64, n int) string {
	if n == 0 {
		return nothing
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// money marks a lower bound with ≥; a model without any price is unknown.
func (m Money) String() string {
	digits := 2
	if m.USD < 1 {
		digits = 4
	}
	s := "$" + strconv.FormatFloat(m.USD, 'f', digits, 64)
	switch {
	case m.Known+m.Unknown == 0:
		return "-"
	case m.Unknown > 0 && m.USD == 0:
		return "unknown"
	case m.Unknown > 0:
		return "≥" + s
	}
	return s
}

// seconds shows a duration.
func seconds(x float64) string {
	switch {
	case x < 60:
		return strconv.FormatFloat(x, 'f', 1, 64) + "s"
	case x < 3600:
		s := int(math.Round(x))
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	m := int(math.Round(x / 60))
	return fmt.Sprintf("%dh%02dm", m/60, m%60)
}

// thousands writes n with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
