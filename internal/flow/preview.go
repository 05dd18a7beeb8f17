package flow

import (
	"bytes"
	"fmt"
	"os"

	"github.com/assaybot/assay/internal/preview"
	"github.com/assaybot/assay/internal/publish"
)

// pageOf is what GitHub will show of documents that were made for req.
func pageOf(d publish.Docs, req PublishRequest) preview.Page {
	p := preview.Page{Repo: d.Context.Repo, Pull: d.Context.Number, Title: "Preview of a score", Summary: d.Summary}
	if req.Check {
		p.Check = checkShown(d.Check, d.Check.Annotations)
	}
	if req.Comment {
		p.Comments = []preview.Comment{{Author: "github-actions", Body: d.Comment}}
	}
	return p
}

func checkShown(k publish.CheckRun, notes []publish.Annotation) *preview.Check {
	out := &preview.Check{Name: k.Name, SHA: k.SHA, Conclusion: k.Conclusion, Title: k.Title, Summary: k.Summary, Text: k.Text}
	for _, a := range notes {
		out.Annotations = append(out.Annotations, preview.Annotation(a))
	}
	return out
}

func writePage(name string, p preview.Page) error {
	var b bytes.Buffer
	if err := preview.Write(&b, p); err != nil {
		return err
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil { //nolint:gosec // a page is meant to be read
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
