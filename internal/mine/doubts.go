package mine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/assaybot/assay/internal/assay"
)

// The kinds of doubt. None rejects a candidate by itself.
const (
	DoubtNoStatement  = "no_statement"
	DoubtTooShort     = "too_short"
	DoubtOnlyLink     = "only_link"
	DoubtOnlyImage    = "only_image"
	DoubtHasImage     = "has_image"
	DoubtContainsDiff = "contains_diff"
	DoubtContainsSHA  = "contains_sha"
	DoubtSolution     = "names_solution"
	DoubtGold         = "contains_gold"
	DoubtTaste        = "asks_api_taste"
	DoubtOutside      = "depends_on_outside"
	DoubtMultiIssue   = "multi_issue"
	DoubtNonEnglish   = "non_english"
	DoubtFromPull     = "from_pull"
	DoubtAfterWork    = "issue_after_work"
	DoubtLateEdit     = "edited_after_work"
)

// fewWords is the number of words below which a body says too little.
const fewWords = 15

// The patterns of doubts.
var (
	anyURL    = regexp.MustCompile(`https?://[^\s)\]>"']+`)
	anyImage  = regexp.MustCompile(`(?i)!\[[^\]]*\]\([^)]*\)|<img\b[^>]*>|https?://(?:user-images\.githubusercontent\.com|github\.com/user-attachments/assets)/\S+`)
	diffText  = regexp.MustCompile("(?m)^(?:diff --git |@@ -\\d+(?:,\\d+)? \\+\\d+(?:,\\d+)? @@)|^[ ]{0,3}```(?:diff|patch)\\b")
	sha       = regexp.MustCompile(`\b[0-9a-f]{7,40}\b`)
	mdLink    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	solution  = regexp.MustCompile(`(?i)\b(?:the (?:fix|solution|patch) (?:is|would be|should be|could be)|(?:possible|proposed|suggested|potential) (?:fix|solution|patch)|(?:can|could|should|would) be fixed by|(?:i )?fixed (?:it|this) by|to fix (?:this|it),? (?:we|you|just|simply|change|replace|add)|root cause (?:is|was) (?:in|that|the)|(?:should be|needs to be|must be) (?:changed|replaced) (?:to|with|by)|this (?:pr|pull request|patch|change|commit) (?:fixes|adds|changes|replaces|makes|removes|implements|introduces)|here(?:'s| is) (?:a|the|my) (?:fix|patch))\b`)
	taste     = regexp.MustCompile(`(?i)\b(?:what do you (?:all )?think|any thoughts|thoughts\?|opinions? (?:on|about|welcome)|should we (?:rather|instead|call|name|use|support)|which (?:name|api|approach) (?:do|would|is)|bike-?shed\w*|better name|naming (?:of|is)|rfc\b|open to (?:suggestions|discussion|ideas)|up for discussion|would it (?:make sense|be better))`)
	outside   = regexp.MustCompile(`(?i)https?://(?:[\w-]+\.)*(?:gist\.github\.com|pastebin\.com|jsfiddle\.net|codepen\.io|codesandbox\.io|stackblitz\.com|replit\.com|drive\.google\.com|docs\.google\.com|dropbox\.com|figma\.com|slack\.com|discord\.(?:com|gg)|notion\.so|jsbin\.com|plnkr\.co|play\.golang\.org|go\.dev/play|play\.rust-lang\.org|groups\.google\.com)\b[^\s)]*|https?://github\.com/(?:[^\s)]+/)?(?:files|user-attachments/files)/[^\s)]+|\b(?:as|like) (?:we )?discussed (?:in|on|at|offline|with)\b|\bsee (?:the )?attach(?:ed|ment)\b`)
	codeBlock = regexp.MustCompile("(?ms)^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)[ \t]*$|\\z)")
)

// doubts finds what speaks against a statement, in a fixed order, each kind
// at most once and with its evidence.
func doubts(s assay.Statement, in StatementInput) []assay.Confounder {
	var out []assay.Confounder
	add := func(kind, evidence string) {
		if evidence != "" {
			out = append(out, assay.Confounder{Kind: kind, Evidence: shorten(evidence)})
		}
	}
	add(origin(s, in))
	add(substance(s))
	text := s.Title + "\n" + s.Body
	for _, rule := range []struct {
		kind string
		re   *regexp.Regexp
		in   string
	}{
		{DoubtHasImage, anyImage, s.Body}, {DoubtContainsDiff, diffText, s.Body}, {DoubtSolution, solution, Prose(text)},
		{DoubtTaste, taste, Prose(text)}, {DoubtOutside, outside, s.Body},
	} {
		add(rule.kind, rule.re.FindString(rule.in))
	}
	add(DoubtContainsSHA, findSHA(text))
	add(DoubtGold, goldIn(text, in))
	add(DoubtMultiIssue, several(in.Issues))
	add(DoubtNonEnglish, foreign(s.Title+"\n"+codeBlock.ReplaceAllString(s.Body, "")))
	if !s.Clean {
		add(DoubtLateEdit, "edited "+s.Edited.UTC().Format("2006-01-02 15:04:05")+", history unknown")
	}
	return out
}

// origin doubts a pull's own text, and an issue that was opened after the fix
// had begun.
func origin(s assay.Statement, in StatementInput) (kind, evidence string) {
	switch {
	case s.Origin == "pull":
		return DoubtFromPull, "the text of the change itself, written with the fix at hand"
	case !in.FirstWork.IsZero() && s.Created.After(in.FirstWork):
		return DoubtAfterWork, "opened " + s.Created.UTC().Format("2006-01-02 15:04:05") +
			", first work " + in.FirstWork.UTC().Format("2006-01-02 15:04:05")
	}
	return "", ""
}

// substance tells texts that say nothing by themselves.
func substance(s assay.Statement) (kind, evidence string) {
	noImages := anyImage.ReplaceAllString(s.Body, "")
	rest := anyURL.ReplaceAllString(mdLink.ReplaceAllString(noImages, "$1"), "")
	n := len(strings.FieldsFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }))
	switch {
	case s.Body == "":
		return DoubtNoStatement, "the body is empty; title: " + s.Title
	case n == 0 && noImages != s.Body && strings.TrimSpace(noImages) == "":
		return DoubtOnlyImage, s.Body
	case n == 0 || mdLink.ReplaceAllString(s.Body, "") == "":
		return DoubtOnlyLink, s.Body
	case n < fewWords:
		return DoubtTooShort, fmt.Sprintf("%d words", n)
	}
	return "", ""
}

// findSHA is the first word that looks like a commit: hex with both digits
// and letters, outside of addresses.
func findSHA(text string) string {
	for _, m := range sha.FindAllString(text, -1) {
		if strings.ContainsAny(m, "0123456789") && strings.ContainsAny(m, "abcdef") {
			return m
		}
	}
	return ""
}

// goldIn is the first line of the reference that the text holds word for
// word, or a file of the reference named together with a line of it.
func goldIn(text string, in StatementInput) string {
	flat := squeeze(text)
	for _, line := range in.Gold {
		if l := squeeze(line); len(l) >= 25 && strings.Contains(flat, l) {
			return l
		}
	}
	for _, p := range in.Paths {
		if re, err := regexp.Compile(`\b` + regexp.QuoteMeta(p) + `(?:#L|:)\d+`); err == nil {
			if m := re.FindString(text); m != "" {
				return m
			}
		}
	}
	return ""
}

// WithGold is doubts with one more where a statement holds a line that the
// reference adds: mining sees only the names of files, building their content.
func WithGold(doubts []assay.Confounder, s assay.Statement, added []string) []assay.Confounder {
	if slices.ContainsFunc(doubts, func(d assay.Confounder) bool { return d.Kind == DoubtGold }) {
		return doubts
	}
	line := goldIn(s.Title+"\n"+s.Body, StatementInput{Gold: added})
	if line == "" {
		return doubts
	}
	return append(slices.Clone(doubts), assay.Confounder{Kind: DoubtGold, Evidence: shorten(line)})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func several(issues []Issue) string {
	names := make([]string, 0, len(issues))
	for _, i := range issues {
		names = append(names, fmt.Sprintf("%s#%d", i.Repo, i.Number))
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 1 {
		return strings.Join(names, ", ")
	}
	return ""
}

// foreign says why text isn't English: letters of another script, or many
// words with hardly a common English one among them.
func foreign(text string) string {
	text = anyURL.ReplaceAllString(codeSpan.ReplaceAllString(text, " "), " ")
	letters, other := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if !unicode.Is(unicode.Latin, r) {
				other++
			}
		}
	}
	if letters > 0 && other*10 > letters*3 {
		return fmt.Sprintf("%d of %d letters aren't Latin", other, letters)
	}
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	common := 0
	for _, w := range all {
		if english(w) {
			common++
		}
	}
	if len(all) >= 20 && common*20 < len(all) {
		return fmt.Sprintf("%d common English words of %d", common, len(all))
	}
	return ""
}

func english(word string) bool {
	switch word {
	case "the", "a", "an", "is", "are", "was", "to", "of", "and", "in", "it", "that", "this", "for", "on", "with", "when",
		"not", "be", "as", "if", "but", "should", "have", "has", "from", "by", "or", "at", "can", "i", "we", "does", "doesn't":
		return true
	}
	return false
}

// shorten cuts evidence to 160 runes of one line.
func shorten(s string) string {
	s = squeeze(strings.ToValidUTF8(s, "\uFFFD"))
	if r := []rune(s); len(r) > 160 {
		return string(r[:159]) + "…"
	}
	return s
}
