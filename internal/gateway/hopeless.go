package gateway

import "fmt"

// maxMisses is how many model calls of a session may fail before its first
// reply. Programs repeat a call up to ten times over four minutes; where the
// model never said a word nothing is lost by ending that, and the run tries
// the whole attempt again later.
const maxMisses = 3

// hopeless tells why a session may make no further call, "" when it may.
func (s *session) hopeless(c *call) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls.Replies > 0 {
		return ""
	}
	misses := 0
	for _, e := range s.calls.Errors {
		misses += e.Count
	}
	if misses < maxMisses {
		return ""
	}
	c.line.Status, c.line.Error = statusBudget, "hopeless"
	s.log(c)
	return fmt.Sprintf("assay: the model API failed %d times and never answered; the last status was %d", misses, s.calls.Last)
}
