package build

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testlog"
	"github.com/assaybot/assay/internal/tree"
)

// Own is an environment that a person wrote: a Dockerfile's text, the command
// that runs tests ({tests} stands for the test files) and the format
// of the report that it writes to {report}.
type Own struct {
	Dockerfile string
	Test       []string
	Format     string
}

// Given makes a recipe of a person's own environment. Its build context is
// the repository's manifests, so that images are shared.
func Given(in Input, own Own) (Recipe, error) {
	if len(own.Test) == 0 {
		return Recipe{}, errors.New("a Dockerfile of your own needs the command that runs the tests; pass it with --test")
	}
	if !slices.Contains(testlog.Formats(), own.Format) {
		return Recipe{}, fmt.Errorf("there is no report format %q (there are %s)", own.Format, strings.Join(testlog.Formats(), ", "))
	}
	r, err := scoped(in, func(in Input) (Recipe, error) { return given(in, own), nil })
	return r.named(), err
}

func given(in Input, own Own) Recipe {
	r := Recipe{
		Language: in.Language, Dockerfile: own.Dockerfile, Context: tree.Tree{},
		Report: assay.Report{Format: own.Format}, Units: in.Tests, Why: []string{"the Dockerfile that was passed"},
	}
	if r.Language == "" {
		r.Language = "own"
	}
	for _, p := range in.under("*.txt", "*.toml", "*.cfg", "*.json", "*.lock", "*.mod", "*.sum", "*.xml", "*.gradle", "Gemfile*", "requirements/*") {
		if !strings.Contains(p, "/") || strings.HasPrefix(p, "requirements/") {
			r.Context[p] = in.Files[p]
		}
	}
	for _, w := range own.Test {
		if w == "{tests}" {
			r.Test = append(r.Test, in.Tests...)
			continue
		}
		r.Test = append(r.Test, strings.ReplaceAll(w, "{tests}", shellWords(in.Tests)))
	}
	return r
}
