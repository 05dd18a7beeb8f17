package report

import (
	"bytes"
	"io"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// Formats lists the formats that Render knows.
func Formats() []string { return []string{"terminal", "markdown", "json", "csv", "junit"} }

// Style says how to render. Width is the columns of a terminal, 0 for no
// limit; Color adds ANSI colours. Both are for the terminal only.
type Style struct {
	Format string
	Width  int
	Color  bool
}

// Render writes r in a format: without colours and at any width.
func Render(r Report, format string, w io.Writer) error {
	return Style{Format: format}.Render(r, w)
}

// Render writes r in the style's format. An unknown format is a user's error.
func (s Style) Render(r Report, w io.Writer) error {
	var out bytes.Buffer
	var err error
	switch s.Format {
	case "terminal", "":
		terminal(&out, r, s)
	case "markdown":
		markdown(&out, r)
	case "json":
		err = writeJSON(&out, r)
	case "csv":
		err = writeCSV(&out, r)
	case "junit":
		err = writeJUnit(&out, r)
	default:
		return assay.Userf("unknown report format %q; known are %s", s.Format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}
