// Package look is how every page looks and what protects it: one frame and style, the
// reader's language, light and dark, and headers that let a page run no script, load
// nothing and be framed by nobody. Pages work without JavaScript; there is none.
package look

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	textv1 "herald/shared/gen/herald/text/v1"
)

var (
	//go:embed frame.html notice.html
	files embed.FS

	//go:embed style.css
	style string

	frame  = template.Must(template.ParseFS(files, "frame.html"))
	notice = Body(files, "notice.html")
)

// Body is the frame around the template "body" of some files. It panics for broken ones.
func Body(files fs.FS, names ...string) *template.Template {
	return template.Must(template.Must(frame.Clone()).ParseFS(files, names...))
}

// Look writes pages in the languages that their texts exist in and that text allows.
type Look struct {
	languages *languages
	catalogs  map[string]texts
	policy    string
}

// New reads the texts of pages. The service text is asked for the languages while pages
// are written, so it may come later, and go.
func New(text textv1.TextClient, now func() time.Time, log *slog.Logger) (*Look, error) {
	catalogs, err := readTexts()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(style))
	return &Look{
		languages: newLanguages(catalogs, text, now, log), catalogs: catalogs,
		policy: fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; img-src 'self' data:; form-action 'self'; "+
			"frame-ancestors 'none'; base-uri 'none'",
			base64.StdEncoding.EncodeToString(sum[:])),
	}, nil
}

// Page is one answer.
type Page struct {
	Status int
	// Name chooses the texts name.title and name.text, which head the page.
	Name string
	// Body is what follows them: a template made by Body. It reads Data, and texts with
	// {{.Text "key"}}.
	Body *template.Template
	Data any
	// Faulty says so in the page's title, which is read out first.
	Faulty bool
}

// Write returns a page in the language that the browser asks for.
func (l *Look) Write(w http.ResponseWriter, r *http.Request, p Page) {
	tag := l.languages.reader(r)
	v := view{Page: p, texts: l.catalogs[tag], Language: tag, Style: template.CSS(style)}
	var out bytes.Buffer
	if err := p.Body.Execute(&out, v); err != nil {
		panic(err) // a template that asks for a text that is not there; it ends as an internal fault
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", v.Language)
	w.WriteHeader(p.Status)
	_, _ = w.Write(out.Bytes())
}

// Notice returns a page that only says something: the texts name.title and
// name.text and, where retry is not empty, a link to try again.
func (l *Look) Notice(w http.ResponseWriter, r *http.Request, status int, name, retry string) {
	l.Write(w, r, Page{Status: status, Name: name, Body: notice, Data: retry})
}

// view is what templates read.
type view struct {
	Page
	texts    texts
	Language string
	Style    template.CSS
}

// Text returns a text in the reader's language.
func (v view) Text(key string) (string, error) {
	if text, ok := v.texts[key]; ok {
		return text, nil
	}
	return "", errors.New("no text " + key)
}

// TextOr is Text with an answer of last resort.
func (v view) TextOr(key, otherwise string) string {
	if text, ok := v.texts[key]; ok {
		return text
	}
	return otherwise
}
