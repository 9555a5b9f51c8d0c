package frame

import (
	"fmt"
	"net/http"
	"net/url"
)

// Guard sets the headers of every page and refuses forms that another site posts. public is the address of the pages
// for browsers. A browser that does not send Sec-Fetch-Site must send its origin. Other sites may post to the paths in
// open.
func (f *Frame) Guard(next http.Handler, public *url.URL, open ...string) (http.Handler, error) {
	own := http.NewCrossOriginProtection()
	if err := own.AddTrustedOrigin(public.String()); err != nil {
		return nil, fmt.Errorf("HERALD_PUBLIC_URL: %w", err)
	}
	for _, path := range open {
		own.AddInsecureBypassPattern("POST " + path)
	}
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Notice(w, r, http.StatusForbidden, "foreign", "")
	}))
	return f.headed(own.Handler(next)), nil
}

func (f *Frame) headed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", f.policy)
		// With no-referrer a browser would send "Origin: null" with Herald's own forms, as with forms of other sites
		// (Fetch standard, "append a request Origin header").
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Robots-Tag", "noindex")
		next.ServeHTTP(w, r)
	})
}
