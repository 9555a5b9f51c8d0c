package oauth_test

import (
	"net/http"
	"net/url"
	"strings"

	"herald/shared/testkit"
)

// visitor is a person at a browser that has no engine: it keeps cookies, follows redirects, and fills in forms.
type visitor struct {
	world
	// cookies are Herald's, by their names.
	cookies map[string]*http.Cookie
	// agent is what the browser says of itself.
	agent string
}

func (w world) visitor() *visitor { return &visitor{w, map[string]*http.Cookie{}, "visitor"} }

// page is where a visitor has arrived.
type page struct {
	Status  int
	address *url.URL
	root    testkit.HTML
}

// visit opens an address and returns where that leads.
func (v *visitor) visit(address string) page {
	v.TB.Helper()
	r, err := http.NewRequestWithContext(v.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		v.Fatal(err)
	}
	return v.follow(r)
}

func (v *visitor) follow(r *http.Request) page {
	v.TB.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for range 10 {
		own := strings.HasPrefix(r.URL.String(), v.URL+"/")
		if own {
			for _, c := range v.cookies {
				r.AddCookie(c)
			}
			r.Header.Set("User-Agent", v.agent)
		}
		answer, err := client.Do(r)
		if err != nil {
			v.Fatal(err)
		}
		root := testkit.ParseHTML(v, answer.Body)
		_ = answer.Body.Close()
		if own {
			v.keep(answer.Cookies())
		}
		at := page{answer.StatusCode, r.URL, root}
		to := at.onward(answer)
		if to == "" {
			return at
		}
		if r, err = http.NewRequestWithContext(v.Context(), http.MethodGet, to, http.NoBody); err != nil {
			v.Fatal(err)
		}
	}
	v.Fatalf("too many redirects, at last to %s", r.URL)
	return page{}
}

// onward returns where the browser goes without the person: a redirect, or the page that leads to an application. It
// stays on the page that leads to an identity provider, so that tests see it.
func (p page) onward(answer *http.Response) string {
	if to, err := answer.Location(); err == nil {
		return to.String()
	}
	if p.heading() == "Back to the application" {
		return testkit.Onward(answer.Header)
	}
	return ""
}

func (v *visitor) keep(cookies []*http.Cookie) {
	for _, c := range cookies {
		if v.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		}
	}
}

// submit fills in the first form of a page, with what it has, and presses its first button.
func (v *visitor) submit(p page, fields ...string) page {
	v.TB.Helper()
	return v.send(p, p.root.Find("form"), fields...)
}

// press fills in the form of the button with a text, and presses it.
func (v *visitor) press(p page, button string, fields ...string) page {
	v.TB.Helper()
	for _, form := range p.root.All("form") {
		for _, b := range form.All("button") {
			if b.Text() == button {
				return v.send(p, form, fields...)
			}
		}
	}
	v.Fatalf("there is no button %q at %s", button, p.address)
	return page{}
}

// send fills in a form of a page, with what it has, and presses its first button.
func (v *visitor) send(p page, form testkit.HTML, fields ...string) page {
	v.TB.Helper()
	if form.Attr("method") != "post" {
		v.Fatalf("there is no form at %s: %s", p.address, p.heading())
	}
	values := form.Values()
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	to, err := p.address.Parse(form.Attr("action"))
	if err != nil {
		v.Fatal(err)
	}
	r, err := http.NewRequestWithContext(v.Context(), http.MethodPost, to.String(), strings.NewReader(values.Encode()))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", v.URL)
	return v.follow(r)
}

// login logs a person in to an application, and returns the tokens. A person of another organization is asked first
// whether the application may learn of them.
func (v *visitor) login(a *application, name string, more ...string) answer {
	v.TB.Helper()
	at := v.enter(v.visit(a.request(more...)), name)
	if at.heading() == "Share your data?" {
		at = v.submit(at)
	}
	v.named(at, "Welcome")
	return a.redeem()
}

// enter enters name and password in the page that asks for them.
func (v *visitor) enter(p page, name string) page {
	v.TB.Helper()
	v.named(p, "Sign in")
	return v.submit(p, "name", name, "current", "correct horse")
}

// named fails the test unless a page has that heading.
func (v *visitor) named(p page, heading string) {
	v.TB.Helper()
	if got := p.heading(); got != heading {
		v.Fatalf("at %s: %q, want %q", p.address, got, heading)
	}
}

// value returns what a field of a page's form has.
func (v *visitor) value(p page, field string) string {
	v.TB.Helper()
	input := p.root.Find("input", "name", field)
	if !input.Exists() {
		v.Fatalf("there is no field %s at %s", field, p.address)
	}
	return input.Attr("value")
}

// heading returns the text of the first heading.
func (p page) heading() string { return p.root.Find("h1").Text() }
