package grade

import (
	"errors"
	"fmt"

	"github.com/assaybot/assay/internal/testlog"
	"github.com/assaybot/assay/internal/tree"
)

// Read is the report of a tests step without a verdict: what validation
// observes. Absolute paths are taken off the ids as Judge does, so that an id
// which validation recorded is found again when grading. The error says why
// there is no report.
func Read(s Step, exit ExitFacts, reports tree.Tree) (testlog.Log, error) {
	files, why := s.files(reports)
	if why != "" {
		return testlog.Log{}, errors.New(why)
	}
	if len(files) == 0 {
		return testlog.Log{}, fmt.Errorf("the command wrote no report (exit status %d%s)", exit.Code, meaning(exit.Code))
	}
	log, err := testlog.ParseAll(s.Check.Report.Format, files)
	if err != nil {
		return log, err
	}
	return newIndex(log, exit).log, nil
}
