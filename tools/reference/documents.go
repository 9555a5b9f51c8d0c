package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
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
	Guides   []Guide
	// Guide is the one that is shown.
	Guide Guide
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
	protos, err := published(os.DirFS(filepath.Join(root, "shared/proto")))
	if err != nil {
		return nil, err
	}
	if all["protos.zip"], err = archive(protos); err != nil {
		return nil, err
	}
	if all["site/style.css"], err = site.ReadFile("site/style.css"); err != nil {
		return nil, err
	}
	s := shown{Contract: c, Faults: Faults(c.files), Settings: settings}
	if err := s.texts(all); err != nil {
		return nil, err
	}
	if s.Guides, err = readGuides(root, all); err != nil {
		return nil, err
	}
	if err := s.pages(all); err != nil {
		return nil, err
	}
	site := map[string][]byte{}
	for name, text := range all {
		if page, is := strings.CutPrefix(name, "site/"); is {
			site[page] = text
		}
	}
	all["site.zip"], err = archive(site)
	return all, err
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

// published returns the public contracts, the protos that they import, and the licences of these, by name.
func published(protos fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	return files, fs.WalkDir(protos, ".", func(name string, d fs.DirEntry, err error) error {
		released := path.Dir(name) == "." // the contracts of the last release, which buf compares
		if err != nil || d.IsDir() || released || internal(name) {
			return err
		}
		files[name], err = fs.ReadFile(protos, name)
		return err
	})
}

// archive returns a zip file, whose bytes are always the same for the same files.
func archive(files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name) // without a time
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// internal reports whether a proto has only methods that services call. The documents do not show it.
func internal(name string) bool {
	return slices.Contains([]string{"internal.proto", "journal.proto"}, path.Base(name))
}

// pages adds the pages.
func (s shown) pages(all map[string][]byte) error {
	pages, err := template.New("").Funcs(functions).ParseFS(site, "site/*.html")
	if err != nil {
		return err
	}
	add := func(name, from string) error {
		var b bytes.Buffer
		err := pages.ExecuteTemplate(&b, from, s)
		all["site/"+name+".html"] = b.Bytes()
		return err
	}
	for _, name := range []string{"index", "api", "events", "errors", "settings", "protos"} {
		if err := add(name, name+".html"); err != nil {
			return err
		}
	}
	for _, s.Guide = range s.Guides {
		if err := add(s.Guide.Name, "guide.html"); err != nil {
			return err
		}
	}
	return nil
}

// texts adds the Markdown files.
func (s shown) texts(all map[string][]byte) error {
	texts, err := texttemplate.New("").Funcs(functions).ParseFS(site, "site/*.md")
	if err != nil {
		return err
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
