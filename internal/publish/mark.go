package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// Mark is the hidden line at the end of a comment by which it is found again.
// Kind and Key name what the comment is for; SHA is the commit that it is
// about.
type Mark struct {
	Kind, Key, SHA string
	// State is final, running (a placeholder) or old (another one stands in
	// its place).
	State string
}

// The states of a mark.
const (
	Final   = "final"
	Running = "running"
	Old     = "old"
)

// KindScore is the kind of a score's comment.
const KindScore = "score"

var markLine = regexp.MustCompile(`^<!-- assay:v1 kind=([a-z]{1,20}) key=([0-9a-z]{1,64}) sha=([0-9a-f]{0,64}) state=(final|running|old) -->$`)

func (m Mark) String() string {
	return fmt.Sprintf("<!-- assay:v1 kind=%s key=%s sha=%s state=%s -->", m.Kind, m.Key, m.SHA, m.State)
}

// ParseMark reads the mark of a comment: its last line, alone. Text before it
// is never taken for one.
func ParseMark(body string) (Mark, bool) {
	body = strings.TrimRight(body, " \r\n")
	line := body[strings.LastIndex(body, "\n")+1:]
	m := markLine.FindStringSubmatch(line)
	if m == nil {
		return Mark{}, false
	}
	return Mark{Kind: m[1], Key: m[2], SHA: m[3], State: m[4]}, true
}

// marked is body with m as its mark.
func marked(body string, m Mark) string {
	return strings.TrimRight(body, "\n") + "\n\n" + m.String() + "\n"
}

// remark is body with another state.
func remark(body string, m Mark, state string) string {
	body = strings.TrimRight(body, " \r\n")
	m.State = state
	return marked(strings.TrimRight(body[:strings.LastIndex(body, "\n")+1], "\r\n"), m)
}

// key is a short digest of what tells scores apart.
func key(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

func (c Context) mark(state string) Mark {
	sha := strings.ToLower(c.SHA)
	if strings.Trim(sha, "0123456789abcdef") != "" || len(sha) > 64 {
		sha = ""
	}
	return Mark{Kind: KindScore, Key: key(c.Key), SHA: sha, State: state}
}
