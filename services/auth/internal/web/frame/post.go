package frame

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// Submit is the only script of any page. It posts the page's form.
const Submit template.JS = "document.forms[0].submit()"

// Leave sends the browser to an address of an application. After a form it does so with a page and not with a redirect,
// because browsers check all redirects after a form, and Herald does not know to which addresses an application
// redirects. A program on the person's device, such as com.example.app:/callback, redirects to none, and browsers start
// it only after a press of a button: it gets a redirect, which PostTo allows.
func (f *Frame) Leave(w http.ResponseWriter, r *http.Request, address string) {
	if r.Method != http.MethodPost || native(address) != "" {
		// http.Redirect would rewrite the address. It must stay exactly as it is registered.
		w.Header().Set("Location", address)
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	w.Header().Set("Refresh", "0;url="+address)
	f.Write(w, r, Page{Name: "return", Body: leaveBody, Data: address})
}

// PostTo allows the forms of a page to be redirected to a program on the person's device. It is called before the page
// is written. For other addresses, to which Leave leads with a page, it changes nothing.
func (f *Frame) PostTo(w http.ResponseWriter, address string) {
	if scheme := native(address); scheme != "" {
		f.allow(w, "form-action 'self'", "form-action 'self' "+scheme+":")
	}
}

// PostAnywhere allows the forms of a page to post to any address, and to be redirected to any. It is for a page whose
// only form has the address of an application and nothing to fill in. It is called before the page is written.
func (f *Frame) PostAnywhere(w http.ResponseWriter) { f.allow(w, "form-action 'self'; ", "") }

// native returns the scheme of an address at a program on the person's device. It returns "" for other addresses.
func native(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" || u.Scheme == "http" {
		return ""
	}
	return u.Scheme // has no character that a policy treats specially
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
