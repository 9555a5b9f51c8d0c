package main

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	reader "github.com/yuin/goldmark/text"
)

// guideFile is the guide, which is written by hand, below root.
const guideFile = "docs/login-by-program.md"

// guide returns the guide as HTML.
func guide(root string) (template.HTML, error) {
	source, err := os.ReadFile(filepath.Join(root, guideFile))
	if err != nil {
		return "", fmt.Errorf("guide: %w", err)
	}
	return render(source)
}

// render returns Markdown as HTML. It drops HTML in the Markdown. A link to another document of the site becomes a link
// to its page. Other links lead to files that only the repository has, so only their text is kept.
func render(source []byte) (template.HTML, error) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table))
	document := markdown.Parser().Parse(reader.NewReader(source))
	var links []*ast.Link
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok && entering {
			links = append(links, l)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", err
	}
	for _, l := range links {
		to, isDocument := strings.CutSuffix(string(l.Destination), ".md")
		if isDocument && !strings.Contains(to, "/") {
			l.Destination = []byte("/docs/" + to)
			continue
		}
		for child := l.FirstChild(); child != nil; child = l.FirstChild() {
			l.Parent().InsertBefore(l.Parent(), l, child)
		}
		l.Parent().RemoveChild(l.Parent(), l)
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, source, document); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil //nolint:gosec // the renderer escapes what is not Markdown
}
