package scaffold

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"text/template"

	"github.com/assaybot/assay/internal/assay"
)

//go:embed templates
var templates embed.FS

// ConfigPath is the run configuration in a repository.
const ConfigPath = ".github/assay.yml"

// Pin is the commit of assay that workflows call, and its version for people.
type Pin struct{ Repository, SHA, Version string }

var (
	fullSHA  = regexp.MustCompile(`^[0-9a-f]{40}$`)
	pinRepo  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)
	pinWords = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]*$`)
)

// Check refuses a pin that isn't one commit: names of branches and tags can be
// moved.
func (p Pin) Check() error {
	switch {
	case !fullSHA.MatchString(p.SHA):
		return assay.Userf("%q is no commit of assay: 40 hex digits are needed, since branches and tags can be moved", p.SHA)
	case !pinRepo.MatchString(p.Repository):
		return assay.Userf("%q is no repository; write owner/name", p.Repository)
	case !pinWords.MatchString(p.Version):
		return assay.Userf("%q is no version of assay; it looks like v1.2.3", p.Version)
	}
	return nil
}

// File is one file to write. Path has slashes. Config is true for the file
// that people are meant to change.
type File struct {
	Path   string
	Data   []byte
	Config bool
}

// secretNames are the keys that workflows hand on, by the names that the
// providers' own tools use.
func secretNames() []string {
	return []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"}
}

type page struct {
	Found
	Pin
	Name    string
	Secrets []string
	Cron    string
}

// planned is a file with its template, and the hour and day of its schedule.
type planned struct{ path, template, hour, day string }

func all() []planned {
	return []planned{
		{ConfigPath, "assay.yml", "", ""},
		{".github/workflows/assay-evaluate.yml", "evaluate.yml", "", ""},
		{".github/workflows/assay-nightly.yml", "nightly.yml", "3", "*"},
		{".github/workflows/assay-mine.yml", "mine.yml", "4", "*"},
		{".github/workflows/assay-label.yml", "label.yml", "", ""},
		{".github/workflows/assay-pull-request.yml", "pull-request.yml", "", ""},
	}
}

// Paths are the files that Make makes.
func Paths() []string {
	var out []string
	for _, f := range all() {
		out = append(out, f.path)
	}
	return out
}

// Make makes all files of a repository. have are those that stand there: a
// schedule that somebody chose is kept.
func Make(name string, found Found, pin Pin, have map[string][]byte) ([]File, error) {
	if err := pin.Check(); err != nil {
		return nil, err
	}
	var out []File
	for _, f := range all() {
		p := page{Found: found, Pin: pin, Name: name, Secrets: secretNames()}
		p.Cron = cmp.Or(cronOf(have[f.path]), fmt.Sprintf("%d %s * * %s", minute(name+f.path), f.hour, f.day))
		data, err := render(f.template, p)
		if err != nil {
			return nil, err
		}
		out = append(out, File{Path: f.path, Data: data, Config: f.path == ConfigPath})
	}
	return out, nil
}

func render(name string, p page) ([]byte, error) {
	// Other brackets than GitHub's expressions have.
	t, err := template.New(name).Delims("[[", "]]").Funcs(template.FuncMap{"line": oneLine}).ParseFS(templates, "templates/*.yml")
	if err != nil {
		return nil, fmt.Errorf("reading the template %s: %w", name, err)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, p); err != nil {
		return nil, fmt.Errorf("filling the template %s: %w", name, err)
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

// oneLine keeps a repository's own words within one comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// minute is an odd minute, the same for the same repository and spread over
// the hour but for its quarters: those are crowded, and runs are dropped then.
func minute(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	m := 3 + 2*int(h.Sum32()%26)
	if m%15 == 0 {
		m += 2
	}
	return m
}

var cron = regexp.MustCompile(`(?m)^\s*- cron: "([0-9*/, -]{9,60})"`)

func cronOf(data []byte) string {
	if m := cron.FindSubmatch(data); m != nil {
		return string(m[1])
	}
	return ""
}
