package mine

import (
	"regexp"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// NoiseInput is what of a merged change tells noise from work. Author is a
// login or a commit's "Name <mail>"; Bot is the server's word on the account.
// Head and Base are names of branches; SameRepo is true when the head is known
// to be no fork's.
type NoiseInput struct {
	Title    string
	Body     string
	Author   string
	Bot      bool
	Head     string
	Base     string
	SameRepo bool
}

// Noise tells changes that are nobody's work on a problem: a robot's, a
// revert, a release, or the merge of a long-lived branch. detail is the
// evidence; the reason is "" for everything else.
func Noise(c NoiseInput) (reason assay.Reason, detail string) {
	for _, rule := range []struct {
		reason assay.Reason
		find   func(NoiseInput) string
	}{
		{assay.ReasonBot, robot}, {assay.ReasonRevert, revert},
		{assay.ReasonRelease, release}, {assay.ReasonBranchMerge, branchMerge},
	} {
		if detail := rule.find(c); detail != "" {
			return rule.reason, detail
		}
	}
	return "", ""
}

// The titles of noise. They are anchored: "Fix revert button" is work.
var (
	bumpTitle = regexp.MustCompile(`(?i)^(?:(?:chore|build|fix|ci|deps|security)(?:\([^)]*\))?!?: *)?(?:\[[^\]]+\] *)?(?:` +
		`bump \S+(?: .*)? from \S+ to \S+|bump the \S+ group|update (?:dependency|module|rust crate|github action|helm release) \S+ to |` +
		`update (?:all )?(?:non-major )?dependencies\b|upgrade \S+ from \S+ to \S+|lock file maintenance|pin dependenc)|^\[pre-commit\.ci\]`)
	revertTitle  = regexp.MustCompile(`(?i)^(?:revert(?:\([^)]*\))?!?: |(?:revert|reapply) ["“'` + "`" + `])|^(?:revert|reverts) (?:#\d+|[0-9a-f]{7,40})\b`)
	revertBody   = regexp.MustCompile(`(?mi)^(?:this reverts commit [0-9a-f]{7,40}|reverts (?:[\w-]+/[\w.-]+)?#\d+)`)
	releaseTitle = regexp.MustCompile(`(?i)^(?:(?:chore|build|ci)(?:\([^)]*\))?!?: *)?(?:(?:cut |prepare |preparing )?(?:the )?(?:for )?release(?: of)?:? (?:\S+ )?v?\d+(?:\.\d+)+\S*|` +
		`(?:cut|prepare|designate|tag|make)(?: the)? v?\d+(?:\.\d+)+\S* release|` +
		`(?:bump|set|update|increment) (?:the )?(?:package |release )?versions?(?: number)?(?: (?:to|from) .*)?|version (?:bump|packages)|(?:bump|release) (?:to )?v?\d+(?:\.\d+)+\S*|` +
		`v?\d+\.\d+(?:\.\d+)?(?:[-.]?(?:rc|alpha|beta)\S*)?|release(?: main| master)?)\W*$|^chore\(release\)`)
	mergeTitle = regexp.MustCompile(`(?i)^(?:merge remote-tracking branch |merge (?:branch )?['"]?(?:upstream|origin)/|` +
		`merge branch ['"]?` + longLivedName + `['"]?(?: of .*| into .*)?$|` +
		`(?:merge|sync|forward[- ]?port) (?:branch )?['"]?` + longLivedName + `['"]? (?:in)?to )`)
	longLived    = regexp.MustCompile(`(?i)^` + longLivedName + `$`)
	revertBranch = regexp.MustCompile(`^revert-\d+-`)
)

// longLivedName matches the names of branches that gather other changes.
const longLivedName = `(?:main|master|develop|development|dev|staging|production|prod|next|trunk|(?:release|stable|maintenance)[/-][^\s'"]+|v?\d+(?:\.(?:\d+|x))+)`

func robot(c NoiseInput) string {
	login, _, _ := strings.Cut(strings.ToLower(c.Author), " <")
	bare := strings.TrimSuffix(login, "[bot]")
	head := strings.ToLower(c.Head)
	switch {
	case bumpTitle.MatchString(c.Title):
		return "title: " + c.Title
	case codingAgent(bare):
		return "" // a program wrote it, but it is work on a problem
	case c.Bot, bare != login, knownRobot(bare):
		return "author: " + c.Author
	case c.SameRepo && (strings.HasPrefix(head, "dependabot/") || strings.HasPrefix(head, "renovate/")):
		return "branch: " + c.Head
	}
	return ""
}

// codingAgent tells accounts of programs that fix issues.
func codingAgent(login string) bool {
	return slices.Contains([]string{"copilot", "copilot-swe-agent", "devin-ai-integration", "claude", "google-labs-jules",
		"sweep-ai", "cursor", "openhands-agent", "codex", "chatgpt-codex-connector"}, login)
}

func knownRobot(login string) bool {
	return slices.Contains([]string{"dependabot", "dependabot-preview", "renovate", "renovate-bot", "greenkeeper", "pyup-bot",
		"snyk-bot", "github-actions", "pre-commit-ci", "allcontributors", "imgbot", "mergify", "weblate", "crowdin-bot",
		"transifex-integration", "scala-steward", "dotnet-maestro", "dotnet-bot", "k8s-ci-robot", "k8s-infra-cherrypick-robot",
		"web-flow", "depfu", "deepsource-autofix", "restyled-io", "codeflash-ai", "release-please", "semantic-release-bot"}, login)
}

func revert(c NoiseInput) string {
	switch {
	case revertTitle.MatchString(strings.TrimSpace(c.Title)):
		return "title: " + c.Title
	case c.SameRepo && revertBranch.MatchString(c.Head):
		return "branch: " + c.Head
	}
	if m := revertBody.FindString(Prose(c.Body)); m != "" {
		return "body: " + m
	}
	return ""
}

func release(c NoiseInput) string {
	head := strings.ToLower(c.Head)
	switch {
	case releaseTitle.MatchString(strings.TrimSpace(c.Title)):
		return "title: " + c.Title
	case c.SameRepo && (strings.HasPrefix(head, "release-please--") || strings.HasPrefix(head, "changeset-release/")):
		return "branch: " + c.Head
	}
	return ""
}

// branchMerge looks at branches of the same repository only: contributors
// often work on their fork's main.
func branchMerge(c NoiseInput) string {
	switch {
	case mergeTitle.MatchString(strings.TrimSpace(c.Title)):
		return "title: " + c.Title
	case c.SameRepo && c.Head != c.Base && longLived.MatchString(c.Head):
		return "branch: " + c.Head + " into " + c.Base
	}
	return ""
}
