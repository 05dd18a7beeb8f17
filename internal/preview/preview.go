// Package preview draws a score on one page as GitHub will show it: the check
// run, the pull request's comment and the job's summary, with GitHub's
// Markdown, its colours by day and by night, and room for a phone. The page
// needs no network, loads nothing and runs no script.
//
// It shows texts that were made elsewhere and changes none. Of HTML in them it
// knows what GitHub's own pages would keep of ours, details and summary; any
// other stands as it was written.
package preview

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

// Page is what is shown. Pull is 0 where there is no pull request; empty parts
// are left out.
type Page struct {
	// Repo is "owner/name", Title the pull request's.
	Repo, Title string
	Pull        int
	// Notes say beside GitHub's own things what a reader should know.
	Notes    []string
	Check    *Check
	Comments []Comment
	Summary  string // Markdown
}

// Check is a check run. Conclusion is success, failure or neutral; Summary
// and Text are Markdown.
type Check struct {
	Name, SHA, Conclusion string
	Title, Summary, Text  string
	Annotations           []Annotation
}

// Annotation is a note on a line of a file. Level is notice, warning or
// failure.
type Annotation struct {
	Path    string
	Line    int
	Level   string
	Title   string
	Message string
}

// Comment is a comment of the pull request; Body is Markdown.
type Comment struct {
	Author, Body string
	Edited       bool
}

//go:embed page.html
var pageText string

//go:embed page.css
var style string

// icons are what GitHub draws beside a conclusion.
func icon(conclusion string) string {
	switch conclusion {
	case "success":
		return "✓"
	case "failure":
		return "✕"
	}
	return "■"
}

// short is a commit as GitHub abbreviates it.
func short(sha string) string { return sha[:min(7, len(sha))] }

// Write writes the page as HTML.
func Write(w io.Writer, p Page) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"md": markdown, "icon": icon, "short": short,
		"style": func() template.CSS { return template.CSS(style) }, //nolint:gosec // this package's own file
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("reading the page's template: %w", err)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("drawing the page: %w", err)
	}
	return nil
}
