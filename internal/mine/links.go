package mine

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// The kinds of evidence that a change closes an issue, from strong to weak.
// Branch and mention alone don't make a link to work with: see Closes.
const (
	EvidenceReference = "closing_reference"
	EvidenceBody      = "keyword_body"
	EvidenceCommit    = "keyword_commit"
	EvidenceTitle     = "keyword_title"
	EvidenceTrailer   = "trailer"
	EvidenceBranch    = "branch"
	EvidenceMention   = "mention"
)

// LinkInput is what links are read from. Repo is "owner/name"; Closing are the
// issues of GitHub's closingIssuesReferences, which are empty for a change
// whose base isn't the default branch, so that the texts count too.
type LinkInput struct {
	Repo    string
	Title   string
	Body    string
	Branch  string
	Commits []string
	Closing []IssueRef
}

// IssueRef names an issue; Repo is "" for the change's own repository.
type IssueRef struct {
	Repo   string
	Number int
}

// Links lists every issue that the change names, once per kind of evidence:
// by repository (its own first), number, and strength of evidence. Issues of
// other repositories have their Repo set.
func Links(in LinkInput) []assay.Link {
	s := linkSet{own: in.Repo, seen: map[assay.Link]string{}}
	for _, c := range in.Closing {
		s.add(c.Repo, c.Number, EvidenceReference, "")
	}
	s.keywords(in.Title, EvidenceTitle)
	s.keywords(in.Body, EvidenceBody)
	s.trailers(in.Body)
	for _, c := range in.Commits {
		s.keywords(c, EvidenceCommit)
		s.trailers(c)
	}
	s.branch(in.Branch)
	for _, text := range append([]string{in.Title, in.Body}, in.Commits...) {
		s.mentions(text)
	}
	return s.sorted()
}

// Closes are the numbers of the issues in the change's own repository that it
// closes by more than a mention or the name of a branch.
func Closes(links []assay.Link) []int {
	var out []int
	for _, l := range links {
		if l.Repo == "" && l.Evidence != EvidenceBranch && l.Evidence != EvidenceMention && !slices.Contains(out, l.Issue) {
			out = append(out, l.Issue)
		}
	}
	slices.Sort(out)
	return out
}

// linkSet gathers links; seen maps a link without its text to the text.
type linkSet struct {
	own  string
	seen map[assay.Link]string
}

func (s *linkSet) add(repo string, number int, evidence, text string) {
	if number <= 0 {
		return
	}
	if strings.EqualFold(repo, s.own) {
		repo = ""
	}
	l := assay.Link{Issue: number, Repo: repo, Evidence: evidence}
	if _, ok := s.seen[l]; !ok {
		s.seen[l] = text
	}
}

func (s *linkSet) has(repo string, number int) bool {
	if strings.EqualFold(repo, s.own) {
		repo = ""
	}
	for l := range s.seen {
		if l.Repo == repo && l.Issue == number && l.Evidence != EvidenceMention {
			return true
		}
	}
	return false
}

func (s *linkSet) sorted() []assay.Link {
	order := []string{EvidenceReference, EvidenceBody, EvidenceCommit, EvidenceTitle, EvidenceTrailer, EvidenceBranch, EvidenceMention}
	out := make([]assay.Link, 0, len(s.seen))
	for l, text := range s.seen {
		l.Text = text
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b assay.Link) int {
		return cmp.Or(cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Issue, b.Issue),
			cmp.Compare(slices.Index(order, a.Evidence), slices.Index(order, b.Evidence)))
	})
	return out
}

// reference is an issue as GitHub writes it: #1, GH-1, owner/repo#1, or the
// address of an issue. Groups: repo and number of the address, repo and number
// of the short form, number after GH-.
const reference = `(?:https?://[\w.-]+/([\w.-]+/[\w.-]+)/issues/(\d{1,9})(?:[?#][^\s)]*)?|([\w-]+/[\w.-]+)?#(\d{1,9})|GH-(\d{1,9}))`

// The patterns of links. Keywords are those that GitHub documents, in any
// case, with a colon if one likes.
var (
	keyword    = regexp.MustCompile(`(?i)(?:^|[^\w-])((?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?::[ \t]*|[ \t]+)` + reference + `)(?:\W|$)`)
	anyRef     = regexp.MustCompile(`(?i)(?:^|[^\w/#-])(` + reference + `)(?:\W|$)`)
	trailer    = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*): +(\S.*)$`)
	branchName = regexp.MustCompile(`(?i)(?:^|/)(?:(?:issue|issues|bug|fix|gh|ticket)[-_/]?#?(\d{1,7})|(\d{1,7})[-_][a-z])`)
)

// findAll is re's matches in text, also those that share the character
// between them.
func findAll(re *regexp.Regexp, text string) [][]string {
	var out [][]string
	for {
		m := re.FindStringSubmatchIndex(text)
		if m == nil {
			return out
		}
		groups := make([]string, len(m)/2)
		for i := range groups {
			if m[2*i] >= 0 {
				groups[i] = text[m[2*i]:m[2*i+1]]
			}
		}
		out = append(out, groups)
		text = text[m[3]:] // group 1 ends before the shared character
	}
}

// refOf reads the groups of reference that begin at g.
func refOf(m []string, g int) (repo string, number int) {
	repo = cmp.Or(m[g], m[g+2])
	number, _ = strconv.Atoi(cmp.Or(m[g+1], m[g+3], m[g+4]))
	return repo, number
}

func (s *linkSet) keywords(text, evidence string) {
	for _, m := range findAll(keyword, Prose(text)) {
		repo, n := refOf(m, 2)
		s.add(repo, n, evidence, strings.TrimSpace(m[1]))
	}
}

func (s *linkSet) mentions(text string) {
	for _, m := range findAll(anyRef, Prose(text)) {
		if repo, n := refOf(m, 2); !s.has(repo, n) {
			s.add(repo, n, EvidenceMention, m[1])
		}
	}
}

func (s *linkSet) branch(name string) {
	if m := branchName.FindStringSubmatch(name); m != nil {
		n, _ := strconv.Atoi(cmp.Or(m[1], m[2]))
		s.add("", n, EvidenceBranch, name)
	}
}

// trailers reads the last paragraph of text if all of it is "Key: value"
// lines, as git does. Every issue of a closing key's value counts.
func (s *linkSet) trailers(text string) {
	text = strings.TrimSpace(Prose(text))
	last := strings.Split(text[strings.LastIndex(text, "\n\n")+1:], "\n")
	for _, line := range last {
		if line = strings.TrimSpace(line); line != "" && trailer.FindStringSubmatch(line) == nil {
			return
		}
	}
	for _, line := range last {
		m := trailer.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || !closingTrailer(m[1]) {
			continue
		}
		for _, ref := range findAll(anyRef, m[2]) {
			repo, n := refOf(ref, 2)
			s.add(repo, n, EvidenceTrailer, line)
		}
	}
}

func closingTrailer(key string) bool {
	switch strings.ToLower(key) {
	case "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
		"issue", "bug", "bug-url", "issue-url", "github-issue", "closes-issue", "fixes-issue":
		return true
	}
	return false
}
