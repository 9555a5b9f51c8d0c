package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"html/template"
	"strings"
	texttemplate "text/template"

	"google.golang.org/genproto/googleapis/rpc/code"

	"herald/shared/fault"
)

// site is the templates and the style of the pages.
//
//go:embed site
var site embed.FS

// shown is the data of the pages.
type shown struct {
	*Contract
	Faults   []Fault
	Settings []Setting
	Guide    template.HTML
}

// Documents returns all generated files below docs, by name. It makes them from buf's image of the
// protos, the settings, and the guide below root.
func Documents(image []byte, root string, settings []Setting) (map[string][]byte, error) {
	c, err := Read(image)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	if all["openapi.json"], err = c.OpenAPI(); err != nil {
		return nil, err
	}
	if all["asyncapi.json"], err = c.AsyncAPI(); err != nil {
		return nil, err
	}
	for _, name := range []string{"openapi.json", "asyncapi.json"} {
		if all[name+".gz"], err = compress(all[name]); err != nil {
			return nil, err
		}
	}
	if all["site/style.css"], err = site.ReadFile("site/style.css"); err != nil {
		return nil, err
	}
	guide, err := guide(root)
	if err != nil {
		return nil, err
	}
	return all, shown{c, Faults(c.files), settings, guide}.write(all)
}

// compress returns what the program embeds instead of a large document.
func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// write adds the pages and the Markdown files.
func (s shown) write(all map[string][]byte) error {
	pages, err := template.New("").Funcs(functions).ParseFS(site, "site/*.html")
	if err != nil {
		return err
	}
	texts, err := texttemplate.New("").Funcs(functions).ParseFS(site, "site/*.md")
	if err != nil {
		return err
	}
	for _, name := range []string{
		"index.html", "api.html", "events.html", "errors.html", "settings.html", "protos.html",
		"login-by-program.html",
	} {
		var b bytes.Buffer
		if err := pages.ExecuteTemplate(&b, name, s); err != nil {
			return err
		}
		all["site/"+name] = b.Bytes()
	}
	for _, name := range []string{"errors.md", "settings.md", "threats.md"} {
		var b bytes.Buffer
		if err := texts.ExecuteTemplate(&b, name, s); err != nil {
			return err
		}
		all[name] = b.Bytes()
	}
	return nil
}

var functions = texttemplate.FuncMap{
	"ours":       func(proto string) bool { return strings.HasPrefix(proto, "herald/") },
	"cell":       strings.NewReplacer("|", `\|`, "<", "&lt;").Replace,
	"protection": protection,
	"doors":      doors,
	"code":       func(c fault.Code) string { return code.Code(c).String() },
}
