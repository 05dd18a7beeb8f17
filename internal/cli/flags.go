package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaybot/assay/internal/flow"
)

// nearestFlag adds the nearest flag's name to an error about an unknown one.
func nearestFlag(c *cobra.Command, err error) error {
	const unknown = "unknown flag: --"
	word, ok := strings.CutPrefix(err.Error(), unknown)
	if !ok {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := flow.Nearest(word, names); near != "" {
		return fmt.Errorf("there is no flag --%s; did you mean --%s?", word, near)
	}
	return fmt.Errorf("there is no flag --%s", word)
}

// words splits comma-separated values and drops blanks, so that
// "--agents a, b" given as one quoted value works.
func words(in []string) []string {
	var out []string
	for _, s := range in {
		for _, w := range strings.Split(s, ",") {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}
