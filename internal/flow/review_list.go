package flow

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
)

// What Filter.Status and Filter.Decision can be besides a status or decision.
const (
	FilterAll = "all"
	// FilterOpen is every status but rejected and quarantined.
	FilterOpen = "open"
	// FilterUndecided is what no decision stands for, or one on an older
	// state of the candidate.
	FilterUndecided = "undecided"
)

// Filter selects candidates. Empty fields select all, but for Status, where
// it means FilterOpen, and Decision, where it means FilterUndecided. Text must
// occur in the title, body, number or paths, whatever the case; several words
// must all occur.
type Filter struct {
	Status, Decision, Label, Confounder, Language, Text string
}

// Entry is a candidate with the decision that stands. Stale: the candidate
// was mined again after it.
type Entry struct {
	Candidate assay.Candidate
	Review    *assay.Review
	Stale     bool
}

// Tally counts the candidates of a filter by what stands, whatever its
// Decision.
type Tally struct{ Total, Accepted, Rejected, Skipped int }

// Decided is how many were accepted or rejected.
func (p Tally) Decided() int { return p.Accepted + p.Rejected }

// Left is how many have no decision at all.
func (p Tally) Left() int { return p.Total - p.Decided() - p.Skipped }

// Facet is one value that candidates have, and how many have it.
type Facet struct {
	Name  string
	Count int
}

// Facets are the values by which can be filtered, the most frequent first.
type Facets struct{ Statuses, Labels, Confounders, Languages []Facet }

// Listing is what a filter selects, in the file's order. Warning tells that
// the files on disk can't be read now.
type Listing struct {
	Entries  []Entry
	Progress Tally
	Facets   Facets
	Warning  string
}

// List tells what a filter selects, and how far the review of it is.
func (d *Desk) List(f Filter) Listing {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.look()
	out := Listing{Facets: facets(d.all), Warning: d.warning}
	decisions := candidates.Decisions(d.log)
	words := strings.Fields(strings.ToLower(f.Text))
	for _, c := range d.all {
		if !f.selects(c, words) {
			continue
		}
		e := entry(c, decisions)
		out.Progress.add(e)
		if f.decision(e) {
			out.Entries = append(out.Entries, e)
		}
	}
	return out
}

// Next is the candidate that comes after one in what a filter selects, around
// the end to the start; with a negative step the one before. An unknown after
// is before the first. Ok is false when there is no other.
func (d *Desk) Next(after string, f Filter, step int) (id string, ok bool) {
	entries := d.List(f).Entries
	d.mu.Lock()
	at, known := d.index[after]
	place := func(e Entry) int { return d.index[e.Candidate.ID] }
	defer d.mu.Unlock()
	if !known {
		at = -1
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Candidate.ID == after })
	if len(entries) == 0 {
		return "", false
	}
	i, _ := slices.BinarySearchFunc(entries, at, func(e Entry, at int) int { return cmp.Compare(place(e), at) })
	if step < 0 {
		i--
	}
	return entries[(i+len(entries))%len(entries)].Candidate.ID, true
}

func entry(c assay.Candidate, decisions map[string]assay.Review) Entry {
	e := Entry{Candidate: c}
	if r, ok := decisions[c.ID]; ok {
		e.Review = &r
		e.Stale = r.Digest != c.Digest
	}
	return e
}

// Decision is what stands for the candidate as it is now: accept, reject,
// skip or "".
func (e Entry) Decision() assay.Decision {
	if e.Review == nil || e.Stale {
		return ""
	}
	return e.Review.Decision
}

func (p *Tally) add(e Entry) {
	p.Total++
	switch e.Decision() {
	case assay.Accept:
		p.Accepted++
	case assay.Reject:
		p.Rejected++
	case assay.Skip:
		p.Skipped++
	}
}

func (f Filter) decision(e Entry) bool {
	switch f.Decision {
	case FilterAll:
		return true
	case "", FilterUndecided:
		return e.Decision() == ""
	}
	return string(e.Decision()) == f.Decision
}

func (f Filter) selects(c assay.Candidate, words []string) bool {
	return f.status(c.Status) &&
		(f.Label == "" || slices.Contains(c.Labels, f.Label)) &&
		(f.Language == "" || c.Language == f.Language) &&
		(f.Confounder == "" || slices.ContainsFunc(c.Doubts, func(x assay.Confounder) bool { return x.Kind == f.Confounder })) &&
		mentions(c, words)
}

func (f Filter) status(s assay.CandidateStatus) bool {
	switch f.Status {
	case FilterAll:
		return true
	case "", FilterOpen:
		return s != assay.StatusRejected && s != assay.StatusQuarantined
	}
	return string(s) == f.Status
}

func mentions(c assay.Candidate, words []string) bool {
	if len(words) == 0 {
		return true
	}
	var b strings.Builder
	for _, s := range []string{c.ID, c.Title, c.Statement.Title, c.Statement.Body, "#" + strconv.Itoa(c.Source.Number)} {
		b.WriteString(strings.ToLower(s) + "\n")
	}
	for _, l := range c.Links {
		b.WriteString("#" + strconv.Itoa(l.Issue) + "\n")
	}
	for _, file := range c.Files {
		b.WriteString(strings.ToLower(file.Path) + "\n")
	}
	text := b.String()
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

func facets(all []assay.Candidate) Facets {
	statuses, labels, doubts, languages := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, c := range all {
		statuses[string(c.Status)]++
		languages[c.Language]++
		for _, l := range c.Labels {
			labels[l]++
		}
		for _, x := range c.Doubts {
			doubts[x.Kind]++
		}
	}
	delete(languages, "")
	return Facets{ranked(statuses), ranked(labels), ranked(doubts), ranked(languages)}
}

func ranked(counts map[string]int) []Facet {
	out := make([]Facet, 0, len(counts))
	for name, n := range counts {
		out = append(out, Facet{name, n})
	}
	slices.SortFunc(out, func(a, b Facet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return out
}
