package forward

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"

	"herald/shared/fault"
)

var faultPage = template.Must(template.New("").Parse(`<!doctype html>
<html lang="{{.Language}}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<h1>{{.Title}}</h1><p>{{.Text}}</p><p><small>{{.ID}}</small></p></html>
`))

// message is the content of the page of a fault.
type message struct {
	Language string `json:"-"`
	ID       string `json:"-"`
	Title    string `json:"title"`
	Text     string `json:"text"`
}

//go:embed unavailable_page.json
var unavailableTexts []byte

// unavailable returns the texts of the page for a login service that does not answer, by language. The login service
// has the same texts.
var unavailable = sync.OnceValue(func() map[string]message {
	var all map[string]message
	if err := json.Unmarshal(unavailableTexts, &all); err != nil {
		panic(err) // cannot fail: a test parses the texts
	}
	return all
})

// unavailableIn returns the texts in the first language of a browser that has them (RFC 4647 section 3.4), else in
// English.
func unavailableIn(h http.Header) message {
	wanted, _, _ := language.ParseAcceptLanguage(strings.Join(h.Values("Accept-Language"), ","))
	for _, tag := range wanted {
		for ; tag != language.Und; tag = tag.Parent() {
			if m, found := unavailable()[tag.String()]; found {
				m.Language = tag.String()
				return m
			}
		}
	}
	m := unavailable()["en"]
	m.Language = "en"
	return m
}

// WritePage writes a fault for people. If the login service does not answer, the page says so in their language.
func WritePage(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	h, m := w.Header(), message{Language: "en", Title: http.StatusText(f.HTTPStatus()), Text: f.Message}
	if fault.IsOutage(f) {
		m = unavailableIn(r.Header)
		h.Set("Retry-After", fault.RetrySeconds(max(f.RetryAfter, time.Second)))
	}
	m.ID = h.Get("X-Request-Id")
	var b bytes.Buffer
	_ = faultPage.Execute(&b, m) // never fails for texts
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", m.Language)
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	w.WriteHeader(f.HTTPStatus())
	_, _ = w.Write(b.Bytes())
}
