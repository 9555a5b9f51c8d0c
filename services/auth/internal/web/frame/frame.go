// Package frame writes pages: one frame and style, in the reader's language, light or dark. Its headers forbid a page
// to run scripts, to load anything and to be framed by another. The pages have no JavaScript.
package frame

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/text/language"

	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/mailer"
)

var (
	//go:embed frame.html notice.html locked.html leave.html
	files embed.FS

	//go:embed style.css
	style string

	frame = template.Must(template.ParseFS(files, "frame.html"))

	// NoticeBody shows a link to try again to the address in Data, if that is not empty.
	NoticeBody = Body(files, "notice.html")
	leaveBody  = Body(files, "leave.html")
)

// Body returns the frame with the template "body" of some files in it. It panics if they are
// broken.
func Body(files fs.FS, names ...string) *template.Template {
	return template.Must(template.Must(frame.Clone()).ParseFS(files, names...))
}

// Frame writes pages. Their language is one that has texts and that the service text allows.
type Frame struct {
	languages *languages
	brandings *brandings
	catalogs  map[string]texts
	policy    string
	log       *slog.Logger
}

// New reads the texts of pages. Pages request the languages from the service text when they are written, so it may
// start later or be away.
func New(text textv1.TextClient, now func() time.Time, log *slog.Logger) (*Frame, error) {
	catalogs, err := readTexts()
	if err != nil {
		return nil, err
	}
	from := newSource(text, now, log)
	return &Frame{
		languages: newLanguages(catalogs, from), brandings: &brandings{source: from}, catalogs: catalogs, log: log,
		policy: fmt.Sprintf("default-src 'none'; style-src %s; img-src 'self' data:; form-action 'self'; "+
			"frame-ancestors 'none'; base-uri 'none'", sourceOf(style)),
	}, nil
}

// Languages returns the tags of all languages that pages can have, in their order.
func (f *Frame) Languages() []string { return slices.Sorted(maps.Keys(f.catalogs)) }

// Offered returns the languages that are allowed, in the order of their tags.
func (f *Frame) Offered(ctx context.Context) []Offered {
	return f.languages.current(ctx).allowed
}

// Page is the content of a page.
type Page struct {
	// Status is 200 if it is 0.
	Status int
	// Name chooses the texts name.title and name.text, with which the page begins.
	Name string
	// Body is the part after them: a template made by the function Body. It uses Data, and texts
	// as {{.Text "key"}}.
	Body *template.Template
	Data any
	// Language is the language of the page if it is allowed. Else it is the one that the reader has picked, or the
	// browser's.
	Language string
	// InLanguage returns the address of the same page in another language. If it is nil, the address is the path of the
	// request, and the answer to a form or to a query offers no other language.
	InLanguage func(tag string) string
	// Faulty marks an error in the page's title, which screen readers read first.
	Faulty bool
}

// Write writes a page in its language, or in the one that the reader has picked or the browser asks for.
func (f *Frame) Write(w http.ResponseWriter, r *http.Request, p Page) {
	c := f.languages.current(r.Context())
	if p.Language = c.exact(p.Language); p.Language == "" {
		p.Language = f.languages.reader(r)
	}
	if p.InLanguage == nil {
		p.InLanguage = sameIn(r)
	}
	c.keep(w, r)
	v := view{Page: p, texts: f.catalogs[p.Language], Style: template.CSS(style),
		Branding: f.branding(w, r)}
	if p.Status >= http.StatusBadRequest && !p.Faulty {
		v.Support = v.Branding.Support
	}
	if p.InLanguage != nil {
		v.Languages = c.links(p.Language, p.InLanguage)
	}
	var out bytes.Buffer
	if err := p.Body.Execute(&out, v); err != nil {
		panic(err) //nolint:forbidigo // a template uses a text that does not exist; becomes an internal fault
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", v.Language)
	w.WriteHeader(cmp.Or(p.Status, http.StatusOK))
	_, _ = w.Write(out.Bytes())
}

// Mailed returns the language of mails to a reader with that preferred language, a BCP 47 tag or empty.
func (f *Frame) Mailed(ctx context.Context, preferred string) string {
	c := f.languages.current(ctx)
	tag, err := language.Parse(preferred)
	if err != nil {
		return c.standard
	}
	return c.lookup([]language.Tag{tag})
}

// Wanted returns the first of some languages, BCP 47 tags, in which pages are written. It returns "" if there is none.
func (f *Frame) Wanted(ctx context.Context, tags []string) string {
	c := f.languages.current(ctx)
	for _, wanted := range tags {
		if tag, err := language.Parse(wanted); err == nil {
			if found := c.find(tag); found != "" {
				return found
			}
		}
	}
	return ""
}

// Notice writes a page that has only the texts name.title and name.text and, if retry is not
// empty, a link to try again.
func (f *Frame) Notice(w http.ResponseWriter, r *http.Request, status int, name, retry string) {
	f.Write(w, r, Page{Status: status, Name: name, Body: NoticeBody, Data: retry})
}

// view is what templates read.
type view struct {
	Page
	texts texts
	Style template.CSS
	// Branding is the branding of the organization that the page belongs to.
	Branding branding
	// Support is the address at which people get help, on a page that says that something does not work.
	Support string
	// Languages are links to the page in the languages that the reader can pick.
	Languages template.HTML
}

// Text returns a text in the reader's language.
func (v view) Text(key string) (string, error) {
	if text, ok := v.texts[key]; ok {
		return text, nil
	}
	return "", errors.New("no text " + key)
}

// Date writes a time in the reader's language, as mails do.
func (v view) Date(at time.Time) string { return mailer.Date(v.Language, at) }

// TextOr returns a text, or otherwise if there is none with that key.
func (v view) TextOr(key, otherwise string) string {
	if text, ok := v.texts[key]; ok {
		return text
	}
	return otherwise
}
