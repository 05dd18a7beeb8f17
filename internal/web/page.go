package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

// page is what the templates get. Entry is nil but on a candidate's page.
type page struct {
	Title   string
	Who     string
	Path    string
	Form    string
	Filter  flow.Filter
	Listing flow.Listing
	Reasons []flow.ReviewReason
	Entry   *flow.Entry
	Diff    diffView
	Said    string
}

// chosen counts what a filter narrows besides the search.
func chosen(f flow.Filter) int {
	n := 0
	for name, field := range names(&f) {
		if name != "q" && *field != "" {
			n++
		}
	}
	return n
}

// facet is one choice among the filters.
type facet struct {
	Title, Name, Value string
	Facets             []flow.Facet
}

type failure struct {
	Status, Text string
	Stranger     bool
}

func (s *server) page(f flow.Filter, title string) *page {
	return &page{Title: title, Who: s.desk.Who(), Path: s.desk.Path(), Form: s.guard.form, Filter: f,
		Listing: s.desk.List(f), Reasons: s.desk.Reasons()}
}

// render builds the whole page before the first byte is sent.
func (s *server) render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, data); err != nil {
		s.log("review: rendering %s: %v", name, err)
		http.Error(w, "the page can't be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if _, err := b.WriteTo(w); err != nil {
		s.log("review: sending a page: %v", err)
	}
}

// names are the query parameters of a filter. None may be a field of the form
// of decisions, which carries them too.
func names(f *flow.Filter) map[string]*string {
	return map[string]*string{"status": &f.Status, "show": &f.Decision, "label": &f.Label,
		"doubt": &f.Confounder, "language": &f.Language, "q": &f.Text}
}

func filterOf(q url.Values) flow.Filter {
	var f flow.Filter
	for name, field := range names(&f) {
		*field = q.Get(name)
	}
	return f
}

func address(path string, f flow.Filter, more url.Values) string {
	q := url.Values{}
	for name, field := range names(&f) {
		if *field != "" {
			q.Set(name, *field)
		}
	}
	for name, values := range more {
		q[name] = values
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func functions() template.FuncMap {
	return template.FuncMap{
		"markdown": markdown, "visible": visible, "saying": saying, "day": day, "words": words,
		"asset": asset, "short": short, "web": webAddress, "key": reasonKey, "groups": groups,
		"percent": func(n, of int) int { return n * 100 / max(of, 1) },
		"share":   func(x float64) string { return fmt.Sprintf("%.0f %%", x*100) },
		"to":      func(path string, f flow.Filter) string { return address(path, f, nil) },
		"toID":    func(path string, f flow.Filter, id string) string { return address(path, f, url.Values{"id": {id}}) },
		"toPrevious": func(f flow.Filter, id string) string {
			return address("/after", f, url.Values{"id": {id}, "to": {"previous"}})
		},
		"hidden": func(f flow.Filter) map[string]string {
			out := map[string]string{}
			for name, field := range names(&f) {
				out[name] = *field
			}
			return out
		},
		"list":   func(all ...string) []string { return all },
		"facet":  func(title, name, value string, all []flow.Facet) facet { return facet{title, name, value, all} },
		"chosen": chosen,
	}
}

// asset is the address of a static file, with its content's hash so that a
// browser never shows an old one.
func asset(name string) string {
	data, err := files.ReadFile("static/" + name)
	if err != nil {
		return "/static/" + name
	}
	sum := sha256.Sum256(data)
	return "/static/" + name + "?v=" + hex.EncodeToString(sum[:4])
}

// saying tells the result of a decision to a person.
func saying(said string) string {
	texts := map[string]string{"accept": "Accepted.", "reject": "Rejected.", "skip": "Skipped.", "undo": "Taken back."}
	return texts[said]
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 Jan 2006 15:04")
}

// words turns a typed name into words.
func words(name any) string { return strings.ReplaceAll(visible(name), "_", " ") }

func short(commit string) string {
	if len(commit) > 10 {
		return commit[:10]
	}
	return commit
}

// webAddress is an address that may become a link: http or https, else "".
func webAddress(s string) string {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return ""
	}
	return u.String()
}

// reasonKey is the key of the reason at a place: 1 to 9, then 0.
func reasonKey(i int) int { return (i + 1) % 10 }

// group is the files of one class.
type group struct {
	Class          assay.FileClass
	Files          []assay.SplitFile
	Added, Removed int
}

// groups puts files together by class, source and tests first.
func groups(all []assay.SplitFile) []group {
	var out []group
	for _, class := range []assay.FileClass{assay.ClassSource, assay.ClassInline, assay.ClassTest, assay.ClassConfig, assay.ClassDocs, assay.ClassGenerated} {
		g := group{Class: class}
		for _, f := range all {
			if f.Class == class {
				g.Files = append(g.Files, f)
				g.Added += f.Added
				g.Removed += f.Removed
			}
		}
		if len(g.Files) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// visible shows characters that would reorder or hide text: controls, marks
// of direction and of zero width.
func visible(s any) string {
	var b strings.Builder
	for _, r := range fmt.Sprint(s) {
		if hides(r) {
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hides(r rune) bool {
	control := r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0
	return control || slices.Contains(hidden(), r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r <= 0xe007f
}

// hidden are single characters without a width. The joiner of emoji
// (U+200D) is not among them.
func hidden() []rune { return []rune{0x200b, 0x200e, 0x200f, 0x2060, 0xfeff, 0x061c} }
