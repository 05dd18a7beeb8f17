package assay

import (
	"strconv"
	"strings"
)

// ModeName names a way in which an attempt went wrong.
type ModeName string

// The failure modes, in the order of reports.
const (
	ModeTampered    ModeName = "tests_tampered"
	ModeSearched    ModeName = "searched_for_answer"
	ModeRefused     ModeName = "refused"
	ModeRanOut      ModeName = "ran_out"
	ModeNothing     ModeName = "nothing_done"
	ModeGaveUp      ModeName = "gave_up"
	ModeLooped      ModeName = "looped"
	ModeUntested    ModeName = "claimed_untested"
	ModeRegression  ModeName = "regression"
	ModeWrongFile   ModeName = "wrong_file"
	ModeScope       ModeName = "scope_creep"
	ModeRequirement ModeName = "missed_requirement"
)

// Mode is one failure mode of an attempt. Step is the step of the trajectory
// that shows it, 0 where none does; Detail is one line: the clause, the
// command, the file, or, of ran_out, what there was no more of.
type Mode struct {
	Name   ModeName `json:"mode"`
	Step   int      `json:"step,omitempty"`
	Detail string   `json:"detail,omitempty"`
}

// String is the mode in a list of words: "looped (step 12)", "ran_out:time".
func (m Mode) String() string {
	s := string(m.Name)
	if m.Name == ModeRanOut {
		s += ":" + m.Detail
	}
	if m.Step > 0 {
		s += " (step " + strconv.Itoa(m.Step) + ")"
	}
	return s
}

// ModeWords lists modes, each word once.
func ModeWords(modes []Mode) string {
	words := make([]string, 0, len(modes))
	seen := map[string]bool{}
	for _, m := range modes {
		if w := m.String(); !seen[w] {
			seen[w] = true
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}
