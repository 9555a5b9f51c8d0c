package inbox

import (
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed page
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"time":    func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") },
	"people":  people,
	"headers": headers,
}).ParseFS(files, "page/*.html"))

const (
	// sandbox is what the HTML of a mail may do: nothing but open links, in new tabs.
	sandbox = "allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation"
	// framed allows the page around the mail to read the mail's height. It gives the mail no other rights, because the
	// mail itself runs no scripts. Outside of the page a mail has an origin of its own.
	framed = " allow-same-origin"
	// framePolicy follows the sandbox.
	framePolicy = "; default-src 'none'; style-src 'unsafe-inline'; img-src http: https: data:; " +
		"font-src http: https: data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)

func (in *Inbox) mountPages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", in.listPage)
	mux.HandleFunc("GET /mail/{id}", in.withMail(func(w http.ResponseWriter, _ *http.Request, m Mail) {
		if m.HTML != "" { // the page has a frame to be made as high as the mail
			w.Header().Set("Content-Security-Policy", w.Header().Get("Content-Security-Policy")+"; script-src 'self'")
		}
		render(w, "mail.html", m)
	}))
	mux.HandleFunc("GET /mail/{id}/html", in.withMail(frame))
	mux.HandleFunc("POST /delete", func(w http.ResponseWriter, r *http.Request) {
		in.empty(nil)
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	for _, name := range []string{"style.css", "mail.js"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, "page/"+name)
		})
	}
}

// listPage shows all mails and refreshes itself, or shows a search if the request has q.
func (in *Inbox) listPage(w http.ResponseWriter, r *http.Request) {
	page := struct {
		list
		Searching     bool // the page must not refresh while somebody types
		Query         string
		Newer, Older  string
		First, Latest int
	}{Query: r.FormValue("q"), Searching: r.URL.Query().Has("q")}
	page.list = in.list(r, page.Query)
	page.First, page.Latest = page.Start+1, page.Start+page.Count
	link := func(start int) string {
		q := url.Values{"start": {strconv.Itoa(start)}}
		if page.Searching {
			q.Set("q", page.Query)
		}
		return "/?" + q.Encode()
	}
	if page.Start > 0 {
		page.Newer = link(max(0, page.Start-pageSize))
	}
	if page.Latest < page.MessagesCount {
		page.Older = link(page.Latest)
	}
	render(w, "list.html", page)
}

// frame writes the HTML of a mail as a document of its own. Its links open new tabs.
func frame(w http.ResponseWriter, r *http.Request, m Mail) {
	policy := "sandbox " + sandbox
	if r.Header.Get("Sec-Fetch-Dest") == "iframe" {
		policy += framed
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy+framePolicy)
	// It comes before a base element of the mail, which HTML parsers then ignore.
	w.Write([]byte(`<!doctype html><base target="_blank">` + m.HTML))
}

func render(w http.ResponseWriter, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.ExecuteTemplate(w, name, data) // fails only when the client has disconnected
}

// String returns the name and the address, as far as they are known.
func (a Address) String() string {
	if a.Name == "" || a.Address == "" {
		return a.Name + a.Address
	}
	return a.Name + " <" + a.Address + ">"
}

// people returns mailboxes as one line.
func people(list []Address) string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.String()
	}
	return strings.Join(names, ", ")
}

// headers writes a mail's header fields, sorted by name.
func headers(m Mail) [][2]string {
	var all [][2]string
	for name, values := range m.header {
		for _, value := range values {
			all = append(all, [2]string{name, value})
		}
	}
	slices.SortStableFunc(all, func(x, y [2]string) int { return strings.Compare(x[0], y[0]) })
	return all
}
