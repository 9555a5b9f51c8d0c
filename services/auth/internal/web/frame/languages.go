package frame

import (
	"context"
	"html"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/text/language"

	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/rpc"
)

// lastResort is the language of pages if text names no default that has texts.
const lastResort = "en"

// choice is the languages in which pages may be written.
type choice struct {
	allowed  []Offered // in the order of their tags
	standard string
}

// Offered is a language in which pages are written: its tag and its name for itself.
type Offered struct{ Tag, Name string }

// languages is the choice that text returns. Before its first answer the choice is all languages, with English as the
// default.
type languages struct {
	source
	all    []Offered // never changes
	choice cached[choice]
}

func newLanguages(catalogs map[string]texts, text source) *languages {
	l := &languages{source: text}
	for _, tag := range slices.Sorted(maps.Keys(catalogs)) {
		l.all = append(l.all, Offered{tag, catalogs[tag]["name"]})
	}
	l.choice.answer = choice{allowed: l.all, standard: lastResort}
	return l
}

// reader returns the language of the page for a request.
func (l *languages) reader(r *http.Request) string {
	c := l.current(r.Context())
	if tag := c.picked(r); tag != "" {
		return tag
	}
	wanted, _, err := language.ParseAcceptLanguage(strings.Join(r.Header.Values("Accept-Language"), ","))
	if err != nil {
		return c.standard
	}
	return c.lookup(wanted)
}

// exact returns a tag if it is that of an allowed language, else "".
func (c choice) exact(tag string) string {
	if slices.ContainsFunc(c.allowed, func(o Offered) bool { return o.Tag == tag }) {
		return tag
	}
	return ""
}

// links returns the list of links to a page in each language, of which the reader has one. It is written without a
// template, because a template would take as long for it as for the rest of the page.
func (c choice) links(current string, address func(tag string) string) template.HTML {
	var out strings.Builder
	for _, o := range c.allowed {
		mark := ""
		if o.Tag == current {
			mark = ` aria-current="true"`
		}
		for _, part := range []string{
			`<li><a href="`, html.EscapeString(address(o.Tag)),
			`" lang="`, o.Tag, `" hreflang="`, o.Tag, `"`, mark, `>`,
			html.EscapeString(o.Name), "</a></li>\n",
		} {
			out.WriteString(part)
		}
	}
	return template.HTML(out.String())
}

// lookup returns the first wanted language that is allowed, by RFC 4647 section 3.4: it drops subtag after subtag. The
// mail is written in the language found in the same way. The matcher of x/text would choose related languages, which a
// reader may not want.
func (c choice) lookup(wanted []language.Tag) string {
	for _, w := range wanted {
		if tag := c.find(w); tag != "" {
			return tag
		}
	}
	return c.standard
}

// find returns the allowed language for a wanted one, or "".
func (c choice) find(wanted language.Tag) string {
	for tag := wanted.String(); tag != ""; tag = tag[:max(strings.LastIndexByte(tag, '-'), 0)] {
		if c.exact(tag) != "" {
			return tag
		}
	}
	return ""
}

func (l *languages) current(ctx context.Context) choice {
	return l.choice.get(ctx, l.source, func(ctx context.Context) (choice, error) {
		r, err := l.text.ResolveLanguages(rpc.OnOwnBehalf(ctx), &textv1.ResolveLanguagesRequest{})
		if err != nil {
			return choice{}, err
		}
		return l.written(r), nil
	})
}

// written returns the choice without languages that have no texts of pages.
func (l *languages) written(r *textv1.ResolveLanguagesResponse) choice {
	c := choice{allowed: l.all, standard: r.DefaultLanguage}
	if c.exact(c.standard) == "" {
		c.standard = lastResort
	}
	c.allowed = nil
	for _, o := range l.all {
		if o.Tag == c.standard || slices.Contains(r.AllowedLanguages, o.Tag) {
			c.allowed = append(c.allowed, o)
		}
	}
	return c
}
