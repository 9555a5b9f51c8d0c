package testkit

import (
	"net/http"
	"strings"
)

// Onward returns where the headers of an answer lead a browser by itself: by a redirect, or by a page that goes on. It
// returns "" for others.
func Onward(h http.Header) string {
	if to, goesOn := strings.CutPrefix(h.Get("Refresh"), "0;url="); goesOn {
		return to
	}
	return h.Get("Location")
}
