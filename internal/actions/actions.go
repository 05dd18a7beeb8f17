// Package actions speaks the runner's side of a GitHub workflow's step: it
// sets outputs, extends the job's summary, and writes to the log so that text
// from outside can't become a command of the runner. It reads no environment
// variable (the files come from the door), makes no call to GitHub's API, and
// never panics where it isn't run by a workflow: that is an error with words.
package actions

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxOutput bounds one output in bytes: all outputs of a job together may have
// 1 MB, counted in UTF-16.
const MaxOutput = 256 << 10

// ErrNoStep means that this program isn't a step of a workflow, or that its
// runner has no file for what was to be set.
var ErrNoStep = errors.New("this is no step of a GitHub workflow: the runner named no file for outputs")

// Step is a step of a workflow. Output is the file that the runner reads the
// step's outputs from ("" outside of a workflow).
type Step struct{ Output string }

// outputName is what an output's name looks like.
var outputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,99}$`)

// Set sets an output. A value of several lines is bracketed by a delimiter
// that nobody can guess, so that no value can set another output.
func (s Step) Set(name, value string) error {
	switch {
	case s.Output == "":
		return ErrNoStep
	case !outputName.MatchString(name):
		return fmt.Errorf("setting an output: %q is no name of one", name)
	case len(value) > MaxOutput:
		return fmt.Errorf("setting the output %s: %d bytes are more than %d; put it into an artifact", name, len(value), MaxOutput)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return fmt.Errorf("setting the output %s: the value isn't text", name)
	}
	block, err := heredoc(name, value)
	if err != nil {
		return fmt.Errorf("setting the output %s: %w", name, err)
	}
	return appendTo(s.Output, block)
}

func heredoc(name, value string) (string, error) {
	word, err := random()
	if err != nil {
		return "", err
	}
	if strings.Contains(value, word) || strings.Contains(name, word) {
		return "", errors.New("the value holds the delimiter")
	}
	return name + "<<" + word + "\n" + value + "\n" + word + "\n", nil
}

func random() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("making a delimiter: %w", err)
	}
	return "assay_" + hex.EncodeToString(b[:]), nil
}

func appendTo(name, text string) (err error) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing to the runner's file: %w", err)
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	_, err = f.WriteString(text)
	return err
}

// Quiet keeps what show writes to the log from being taken for commands of the
// runner (::set-output::, ::add-mask::, ##[error]): everything between stands
// under a word that nobody can guess.
func Quiet(w io.Writer, show func(io.Writer) error) error {
	word, err := random()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "::stop-commands::%s\n", word); err != nil {
		return err
	}
	failed := show(w)
	// On a line of its own, whatever the text ended with.
	_, err = fmt.Fprintf(w, "\n::%s::\n", word)
	return errors.Join(failed, err)
}
