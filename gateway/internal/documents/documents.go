// Package documents serves the reference of the API, the events, the errors and the settings,
// and the contracts themselves. All of it is part of the program: its Content Security Policy
// forbids pages to load anything from other hosts.
package documents

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"

	"herald/docs"
	"herald/gateway/internal/exchange"
	"herald/shared/fault"
)

// document is one file at one path.
type document struct {
	mediaType, policy string
	content           func() (content, error)
}

// Library holds the documents by their paths.
type Library map[string]*document

// Policies of the pages. Only the pages with the viewer run scripts. The viewer brings its own
// font and adds its rules to an empty style element, whose hash is the one below.
const (
	closed = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	plain  = closed + "; style-src 'self'; img-src data:"
	viewer = closed + "; script-src 'self'; connect-src 'self'; font-src data:; img-src data:; style-src 'self' " +
		"'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
)

// New lists the documents and the pages of the guides, with the public address in their examples. Each is read and
// compressed when it is first asked for.
func New(public *url.URL) (Library, error) {
	l, address := Library{}, []byte(public.String())
	for at, name := range map[string]string{
		"/openapi.json": "openapi.json.gz", "/asyncapi.json": "asyncapi.json.gz",
		"/docs/viewer/redoc.js": "viewer/redoc.js.gz", "/docs/viewer/LICENSE": "viewer/LICENSE",
	} {
		l.add(at, closed, file(docs.Files, name, address))
	}
	site, _, err := archive("site.zip")
	if err != nil {
		return nil, err
	}
	for _, f := range site.File {
		policy := plain
		switch f.Name {
		case "api.html", "events.html":
			policy = viewer
		case "style.css":
			policy = closed
		}
		at, load := "/docs/"+strings.TrimSuffix(f.Name, ".html"), file(site, f.Name, address)
		if f.Name == "index.html" {
			l.add("/docs/", policy, load)
			at = "/docs"
		}
		l.add(at, policy, load)
	}
	return l, l.addProtos()
}

func (l Library) add(at, policy string, load func() (content, error)) {
	t, known := mediaTypes[path.Ext(at)]
	switch {
	case known:
	case policy == closed:
		t = "text/plain; charset=utf-8"
	default:
		t = "text/html; charset=utf-8"
	}
	l[at] = &document{mediaType: t, policy: policy, content: sync.OnceValues(load)}
}

var mediaTypes = map[string]string{
	".json": "application/json", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".zip": "application/zip",
}

// Owns reports whether a path belongs to the library, even if there is no such document.
func Owns(path string) bool {
	return path == "/openapi.json" || path == "/asyncapi.json" || path == "/docs" || strings.HasPrefix(path, "/docs/")
}

// Serve answers a request below /docs, without a token.
func (l Library) Serve(x *exchange.Exchange, r *http.Request) {
	x.Route = "/docs/"
	d, found := l[r.URL.Path]
	switch {
	case found && r.Method != http.MethodGet && r.Method != http.MethodHead:
		x.Form = exchange.AsJSON
		x.WrongVerb(r, http.MethodGet, http.MethodHead)
	case found:
		x.Route = r.URL.Path
		if err := d.serve(x, r); err != nil {
			x.Fail(r, err)
		}
	default:
		x.Fail(r, fault.ErrNotFound.Say("There is nothing at this address"))
	}
}

// serve answers a GET or HEAD with the document, or with 304 if the client has it already. A HEAD also compresses the
// document, because it needs the number of bytes.
func (d *document) serve(x *exchange.Exchange, r *http.Request) error {
	c, err := d.content()
	if err != nil {
		return err
	}
	h := x.Header()
	h.Set("Content-Security-Policy", d.policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache") // clients keep it and revalidate it each time
	h.Set("Etag", c.tag)
	h.Set("Vary", "Accept-Encoding")
	if exchange.HasTag(r, c.tag) {
		x.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", d.mediaType)
	body, size := c.plain, c.size
	if c.zipped != nil && exchange.Accepts(r.Header.Values("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		data, err := c.zipped()
		if err != nil {
			return err
		}
		body, size = kept(data), len(data)
	}
	var data []byte
	if r.Method != http.MethodHead {
		if data, err = body(); err != nil {
			return err
		}
	}
	h.Set("Content-Length", strconv.Itoa(size))
	x.WriteHeader(http.StatusOK)
	exchange.Share(x)
	_, _ = x.Write(data) // fails if the client has closed the connection
	return nil
}
