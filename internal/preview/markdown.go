package preview

import (
	"bytes"
	"html/template"
	"net/url"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// markdown renders a text as GitHub does.
func markdown(text string) template.HTML {
	table := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	md := goldmark.New(
		goldmark.WithExtensions(table, extension.Strikethrough, extension.Linkify, extension.TaskList),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(guarded{}, 10))),
	)
	var b bytes.Buffer
	if err := md.Convert([]byte(text), &b); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>") //nolint:gosec // escaped
	}
	return template.HTML(b.String()) //nolint:gosec // rendered by the rules below
}

// guarded renders the nodes that could do something.
type guarded struct{}

// RegisterFuncs implements goldmark's renderer.NodeRenderer.
func (guarded) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindLink, renderLink)
	reg.Register(ast.KindImage, renderImage)
	reg.Register(ast.KindAutoLink, renderAutoLink)
	reg.Register(ast.KindRawHTML, renderRaw)
	reg.Register(ast.KindHTMLBlock, renderBlock)
}

// web tells whether an address is one of a web page.
func web(dest []byte) bool {
	u, err := url.Parse(string(dest))
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

func anchor(w util.BufWriter, dest []byte) {
	_, _ = w.WriteString(`<a rel="noopener noreferrer nofollow" href="` + template.HTMLEscapeString(string(dest)) + `">`)
}

func renderLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	dest := n.(*ast.Link).Destination //nolint:errcheck,forcetypeassert // registered for this kind
	switch {
	case web(dest) && entering:
		anchor(w, dest)
	case web(dest):
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// renderImage shows the text in place of an image: the page loads nothing.
func renderImage(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkContinue, nil
}

func renderAutoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	link := n.(*ast.AutoLink) //nolint:errcheck,forcetypeassert // registered for this kind
	label := template.HTMLEscapeString(string(link.Label(source)))
	if dest := link.URL(source); web(dest) {
		anchor(w, dest)
		label += "</a>"
	}
	_, _ = w.WriteString(label)
	return ast.WalkContinue, nil
}

func renderRaw(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		segments := n.(*ast.RawHTML).Segments //nolint:errcheck,forcetypeassert // registered for this kind
		for i := range segments.Len() {
			s := segments.At(i)
			_, _ = w.WriteString(kept(string(s.Value(source))))
		}
	}
	return ast.WalkSkipChildren, nil
}

func renderBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(source))
	}
	if block := n.(*ast.HTMLBlock); block.HasClosure() { //nolint:errcheck,forcetypeassert // registered for this kind
		b.Write(block.ClosureLine.Value(source))
	}
	_, _ = w.WriteString(kept(b.String()))
	return ast.WalkContinue, nil
}

// The HTML that stays HTML, and comments, which nobody sees.
var (
	ours    = regexp.MustCompile(`</?(?:details|summary)>`)
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
)

var inert = strings.NewReplacer("<", "&lt;", ">", "&gt;") // an entity stays one

// kept is HTML of which only details and summary act.
func kept(s string) string {
	s = comment.ReplaceAllString(s, "")
	var b strings.Builder
	at := 0
	for _, m := range ours.FindAllStringIndex(s, -1) {
		b.WriteString(inert.Replace(s[at:m[0]]) + s[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(inert.Replace(s[at:]))
	return b.String()
}
