package frame

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// Submit is the only script of any page. It posts the page's form.
const Submit template.JS = "document.forms[0].submit()"

// PostTo allows the forms of a page to post to an address too, or to be redirected to it, because browsers check the
// redirects after a form. It is called before the page is written. Without an address it changes nothing.
func (f *Frame) PostTo(w http.ResponseWriter, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || strings.ContainsAny(address, "\r\n") {
		return
	}
	source := u.Scheme + ":" // an application on the person's device, such as com.example.app:/callback
	if u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
		source = u.Scheme + "://" + u.Host
	}
	if strings.ContainsAny(source, ";, '\"") {
		return
	}
	f.allow(w, "form-action 'self'", "form-action 'self' "+source)
}

// LetSubmit allows the page to run Submit. It is called before the page is written.
func (f *Frame) LetSubmit(w http.ResponseWriter) {
	f.allow(w, "default-src 'none'", "default-src 'none'; script-src "+sourceOf(string(Submit)))
}

// allow replaces a part of the policy of a page.
func (f *Frame) allow(w http.ResponseWriter, part, by string) {
	h := w.Header()
	h.Set("Content-Security-Policy", strings.Replace(h.Get("Content-Security-Policy"), part, by, 1))
}

// AsGet answers a posted form with a redirect to the same path, with the parameters of the form as its query. It is
// needed because a browser does not send the session's cookie, which is SameSite=Lax, with a form of another site.
// AsGet reports false, and answers nothing, if the form cannot be read, the address has a query already, or the new
// query is too long.
func AsGet(w http.ResponseWriter, r *http.Request, most int) bool {
	err := r.ParseForm()
	query := r.PostForm.Encode()
	if err != nil || r.URL.RawQuery != "" || len(query) > most {
		return false
	}
	http.Redirect(w, r, r.URL.Path+"?"+query, http.StatusSeeOther)
	return true
}
