package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	reader "github.com/yuin/goldmark/text"
)

// guides are the files of the menu, below root and without their ending, in its order. They are written by hand, except
// for the threats.
var guides = []string{
	"docs/concepts", "docs/connect-an-application", "docs/people", "docs/machines", "docs/login-by-program",
	"docs/applications", "docs/providers", "docs/moving-in", "docs/command-line", "docs/subscribing", "docs/containers",
	"docs/operating", "docs/monitoring", "docs/proxies", "docs/scaling", "docs/backup", "docs/faults",
	"docs/performance", "docs/threats", "SECURITY",
}

// Guide is a page of the menu. Name is its path below /docs.
type Guide struct {
	Name, Title string
	Text        template.HTML
}

// readGuides returns the pages of the menu. Those that were made are in all, and the others are files below root.
func readGuides(root string, all map[string][]byte) (pages []Guide, err error) {
	sources, there := map[string][]byte{}, []string{"errors", "settings"}
	for _, name := range guides {
		source, made := all[strings.TrimPrefix(name, "docs/")+".md"]
		if !made {
			source, err = os.ReadFile(filepath.Join(root, name+".md"))
		}
		if err != nil {
			return nil, fmt.Errorf("guide: %w", err)
		}
		sources[name], there = source, append(there, pageOf(name))
	}
	for _, name := range guides {
		source := sources[name]
		first, _, _ := strings.Cut(string(source), "\n")
		title, titled := strings.CutPrefix(first, "# ")
		if !titled {
			return nil, fmt.Errorf("guide: %s.md does not begin with its title", name)
		}
		text, err := render(source, there)
		if err != nil {
			return nil, err
		}
		pages = append(pages, Guide{pageOf(name), strings.ReplaceAll(title, "`", ""), text})
	}
	return pages, unlisted(root)
}

// unlisted returns an error if a document is in no menu.
func unlisted(root string) error {
	files, err := fs.Glob(os.DirFS(root), "docs/*.md")
	for _, file := range files {
		name := strings.TrimSuffix(file, ".md")
		reference := name == "docs/errors" || name == "docs/settings"
		if !reference && !slices.Contains(guides, name) {
			err = errors.Join(err, fmt.Errorf("guide: %s is not in the menu of tools/reference", file))
		}
	}
	return err
}

// pageOf returns the path of a file's page below /docs.
func pageOf(name string) string { return strings.ToLower(filepath.Base(name)) }

// render returns Markdown as HTML. It drops HTML in the Markdown. A link to a document becomes a link to its page, if
// that is among pages. Other links lead to files that only the repository has, or to other servers, so only their text
// is kept.
func render(source []byte, pages []string) (template.HTML, error) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	document := markdown.Parser().Parse(reader.NewReader(source))
	var links []*ast.Link
	var addresses []*ast.AutoLink
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				links = append(links, n)
			}
		case *ast.AutoLink:
			if entering {
				addresses = append(addresses, n)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", err
	}
	for _, l := range links {
		if to, isPage := page(string(l.Destination), pages); isPage {
			l.Destination = []byte(to)
			continue
		}
		for child := l.FirstChild(); child != nil; child = l.FirstChild() {
			l.Parent().InsertBefore(l.Parent(), l, child)
		}
		l.Parent().RemoveChild(l.Parent(), l)
	}
	for _, a := range addresses {
		a.Parent().ReplaceChild(a.Parent(), a, ast.NewString(a.Label(source)))
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, source, document); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil //nolint:gosec // the renderer escapes what is not Markdown
}

// page returns the address to which a link of a guide leads on the site. It reports whether there is one.
func page(destination string, pages []string) (address string, there bool) {
	file, section, inside := strings.Cut(destination, "#")
	if inside {
		section = "#" + section
	}
	if file == "" {
		return section, inside
	}
	name, isDocument := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(file, "../"), "docs/"), ".md")
	beside := isDocument && path.Dir(name) == "."
	return "/docs/" + pageOf(name) + section, beside && slices.Contains(pages, pageOf(name))
}
