package web

import (
	"bytes"
	"html/template"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// textLimit bounds a statement on the page, in bytes.
const textLimit = 100 << 10

// markdown renders foreign Markdown: no raw HTML, no images, links only to
// other web pages and only with their text.
func markdown(text string) template.HTML {
	cut := ""
	if len(text) > textLimit {
		text = text[:textLimit]
		for !utf8.ValidString(text[len(text)-min(len(text), utf8.UTFMax):]) && len(text) > textLimit-utf8.UTFMax {
			text = text[:len(text)-1]
		}
		cut = `<p class="cut">The rest is too long to show.</p>`
	}
	table := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	md := goldmark.New(
		goldmark.WithExtensions(table, extension.Strikethrough, extension.Linkify, extension.TaskList),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(foreign{}, 10))),
	)
	var b bytes.Buffer
	if err := md.Convert([]byte(visible(text)), &b); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>") //nolint:gosec // escaped
	}
	return template.HTML(b.String() + cut) //nolint:gosec // rendered by the rules below
}

// foreign renders the nodes that could do something.
type foreign struct{}

// RegisterFuncs implements goldmark's renderer.NodeRenderer.
func (foreign) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindLink, renderLink)
	reg.Register(ast.KindImage, renderImage)
	reg.Register(ast.KindAutoLink, renderAutoLink)
	reg.Register(ast.KindRawHTML, renderRaw)
	reg.Register(ast.KindHTMLBlock, renderBlock)
}

// outward is an address that may be followed, "" for all others: a relative
// one would lead into this server.
func outward(dest []byte) string {
	u, err := url.Parse(string(dest))
	if err != nil {
		return ""
	}
	if u.Scheme == "mailto" {
		return u.String()
	}
	return webAddress(u.String())
}

func open(w util.BufWriter, href, class string) {
	_, _ = w.WriteString(`<a class="` + class + `" rel="noopener noreferrer nofollow" target="_blank" href="` + template.HTMLEscapeString(href) + `">`)
}

func renderLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	dest := n.(*ast.Link).Destination //nolint:errcheck,forcetypeassert // registered for this kind
	switch href := outward(dest); {
	case href != "" && entering:
		open(w, href, "out")
	case href != "":
		_, _ = w.WriteString("</a>")
	case !entering:
		_, _ = w.WriteString(` <span class="dead">(` + template.HTMLEscapeString(string(dest)) + `)</span>`)
	}
	return ast.WalkContinue, nil
}

// renderImage shows an image as a link: loading it would tell its server who
// reviews what, and when.
func renderImage(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	dest := n.(*ast.Image).Destination //nolint:errcheck,forcetypeassert // registered for this kind
	text := template.HTMLEscapeString("image: " + plain(source, n))
	if href := outward(dest); href != "" {
		open(w, href, "image")
		_, _ = w.WriteString(text + "</a>")
	} else {
		_, _ = w.WriteString(`<span class="image">` + text + "</span>")
	}
	return ast.WalkSkipChildren, nil
}

// plain is the text below a node.
func plain(source []byte, n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		} else {
			b.WriteString(plain(source, c))
		}
	}
	return b.String()
}

func renderAutoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	link := n.(*ast.AutoLink) //nolint:errcheck,forcetypeassert // registered for this kind
	label := template.HTMLEscapeString(string(link.Label(source)))
	dest := link.URL(source)
	if link.AutoLinkType == ast.AutoLinkEmail {
		dest = append([]byte("mailto:"), dest...)
	}
	href := outward(dest)
	if href == "" {
		_, _ = w.WriteString(label)
		return ast.WalkContinue, nil
	}
	open(w, href, "out")
	_, _ = w.WriteString(label + "</a>")
	return ast.WalkContinue, nil
}

// renderRaw shows HTML as the text that it is; comments, which templates of
// issues are full of, are left out.
func renderRaw(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	var b strings.Builder
	segments := n.(*ast.RawHTML).Segments //nolint:errcheck,forcetypeassert // registered for this kind
	for i := range segments.Len() {
		s := segments.At(i)
		b.Write(s.Value(source))
	}
	if text := withoutComments(b.String()); text != "" {
		_, _ = w.WriteString(`<code class="html">` + template.HTMLEscapeString(text) + "</code>")
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
	block := n.(*ast.HTMLBlock) //nolint:errcheck,forcetypeassert // registered for this kind
	if block.HasClosure() {
		b.Write(block.ClosureLine.Value(source))
	}
	if text := withoutComments(b.String()); text != "" {
		_, _ = w.WriteString(`<pre class="html">` + template.HTMLEscapeString(text) + "</pre>\n")
	}
	return ast.WalkContinue, nil
}

func withoutComments(s string) string {
	for {
		before, rest, ok := strings.Cut(s, "<!--")
		if !ok {
			return strings.TrimSpace(s)
		}
		_, after, _ := strings.Cut(rest, "-->")
		s = before + after
	}
}
