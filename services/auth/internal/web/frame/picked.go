package frame

import (
	"net/http"
	"time"
)

const (
	// pickedCookie has the language that the reader has picked on any page. It is no secret: browsers send it, and
	// only the tag of an allowed language counts.
	pickedCookie = "__Host-herald-language"
	pickedTime   = 365 * 24 * time.Hour
)

// Picked returns the first of: the language that the reader has picked, on this page or an earlier one, and those that
// a client has asked for, as BCP 47 tags. It returns "" if pages are written in none of them.
func (f *Frame) Picked(r *http.Request, asked []string) string {
	if tag := f.languages.current(r.Context()).picked(r); tag != "" {
		return tag
	}
	return f.Wanted(r.Context(), asked)
}

// picked returns the language that the reader has picked, or "".
func (c choice) picked(r *http.Request) string {
	if tag := c.here(r); tag != "" {
		return tag
	}
	for _, kept := range r.CookiesNamed(pickedCookie) {
		if tag := c.exact(kept.Value); tag != "" {
			return tag
		}
	}
	return ""
}

// here returns the language that the address of a page names, or "".
func (c choice) here(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.RawQuery == "" {
		return ""
	}
	return c.exact(r.URL.Query().Get("lang"))
}

// keep stores the language that the address names in the cookie, for the pages that the reader opens later.
func (c choice) keep(w http.ResponseWriter, r *http.Request) {
	tag := c.here(r)
	if kept, err := r.Cookie(pickedCookie); tag == "" || err == nil && kept.Value == tag {
		return
	}
	http.SetCookie(w, &http.Cookie{Name: pickedCookie, Value: tag, Path: "/", MaxAge: int(pickedTime.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// sameIn returns a function for the address of the page for a request in another language. It returns nil if the page
// answers a form, or if its address has an unchecked value, which no page may repeat.
func sameIn(r *http.Request) func(tag string) string {
	query := r.URL.Query()
	if query.Del("lang"); r.Method != http.MethodGet || len(query) > 0 {
		return nil
	}
	return func(tag string) string { return "?lang=" + tag }
}
