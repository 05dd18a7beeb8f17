package modes

import (
	"regexp"
	"strings"
)

// The words by which commands and messages are told apart. They are few and
// plain, since a mode is read as a fact: what isn't sure is not said.
var (
	testCommand = regexp.MustCompile(`\b(pytest|unittest|py\.test|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest)\b` +
		`|\b(go|cargo|npm|yarn|pnpm|bun|deno|dotnet|mix|swift|gradle|gradlew|mvn|bazel|make|rake)\b[^|;&\n]*\b(test|tests|check|nextest)\b` +
		`|\b(python3?|node|ruby|bash|sh)\s+\S*test\S*`)
	searchCommand = regexp.MustCompile(`\bgit\b[^|;&\n]*\b(log|rev-list|show-branch)\b[^|;&\n]*--(all|remotes|reflog)\b` +
		`|\bgit\b[^|;&\n]*\b(reflog|fsck|fetch|clone|pull|ls-remote)\b|\bgit\b[^|;&\n]*--batch-all-objects` +
		`|\b(curl|wget)\b[^|;&\n]*\b(https?://)?([\w-]+\.)+(com|org|net|io|dev|edu)\b` +
		`|\bpip3?\s+download\b|\bnpm\s+(view|pack)\b|(^|[;&|('"]\s*)gh\s+(api|pr|issue|repo|search|browse)\b`)
	writeCommand = regexp.MustCompile(`(^|[^0-9&>])>{1,2}\s*[\w./"'$-]|\bsed\s+(-\w+\s+)*-i|\btee\b|\bgit\s+apply\b|\bpatch\s+-p`)
	surrender    = regexp.MustCompile(`(?i)\b(i (was |am )?(unable|not able) to|i (could ?n[o']t|can ?n[o']t|couldn't|can't) (complete|finish|solve|fix|resolve|implement|find|reproduce)|i give up|giving up|i was unsuccessful)\b`)
	claim        = regexp.MustCompile(`(?i)\b(done|fixed|implemented|completed?|resolved|solved|works? (now|as)|all tests pass|finished|added|updated)\b`)
)

// maxMatched bounds how much of a command is looked at: what follows is the
// text of a file.
const maxMatched = 2048

func head(s string) string { return s[:min(len(s), maxMatched)] }

func runsTests(command string) bool { return testCommand.MatchString(head(command)) }

func searches(command string) bool {
	command = head(command)
	return searchCommand.MatchString(command) && !strings.Contains(command, "localhost") && !strings.Contains(command, "127.0.0.1")
}

func writes(command string) bool { return writeCommand.MatchString(head(command)) }

// web tells tools that read the network.
func web(tool string) bool {
	switch strings.ToLower(strings.ReplaceAll(tool, "_", "")) {
	case "webfetch", "websearch", "googlewebsearch", "fetch", "browser":
		return true
	}
	return false
}

func gaveUp(message string) bool { return surrender.MatchString(head(message)) }

func claims(message string) bool { return claim.MatchString(head(message)) }
