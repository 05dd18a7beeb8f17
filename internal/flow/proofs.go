package flow

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// WriteProofs prints what validation found: as JSON, or as a table by status
// and reason for a person.
func (f *Flow) WriteProofs(s ValidateSummary, format string, w io.Writer) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(s.Tasks)
	}
	if format != "terminal" {
		return assay.Userf("there is no format %q (there are terminal and json)", format)
	}
	counts := map[string]int{}
	var tests, wall float64
	for _, p := range s.Tasks {
		counts[p.word()]++
		if !p.Known {
			tests += p.Validation.TestSec
			wall += p.Validation.WallSec
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d tasks\n", len(s.Tasks))
	words := make([]string, 0, len(counts))
	for word := range counts {
		words = append(words, word)
	}
	sort.Slice(words, func(i, j int) bool {
		if counts[words[i]] != counts[words[j]] {
			return counts[words[i]] > counts[words[j]]
		}
		return words[i] < words[j]
	})
	for _, word := range words {
		fmt.Fprintf(&b, "%4d  %5.1f%%  %s\n", counts[word], 100*float64(counts[word])/float64(len(s.Tasks)), word)
	}
	writeUnshifted(&b, s)
	if tests > 0 {
		fmt.Fprintf(&b, "test commands took %.1f s, all together %.1f s (%.2f times)\n", tests, wall, wall/tests)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeUnshifted says of how many tasks nobody knows whether their tests
// depend on the date, and why.
func writeUnshifted(b *strings.Builder, s ValidateSummary) {
	counts := map[string]int{}
	for _, p := range s.Tasks {
		if word, ok := p.Validation.Probes["clock"]; ok && word != clockMade {
			counts[word]++
		}
	}
	words := slices.Sorted(maps.Keys(counts))
	for _, word := range words {
		fmt.Fprintf(b, "clock probe of %d %s\n", counts[word], word)
	}
}

// word is what a row counts a task as.
func (p Proved) word() string {
	if p.Err != nil || len(p.Problems) > 0 {
		return "not proven"
	}
	if p.Validation.Reason != "" {
		return p.Validation.Status + ": " + p.Validation.Reason
	}
	return p.Validation.Status
}
