package testkit

import (
	"io"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// HTML is an element of a page, or the page itself. The zero value is an element that the page does not have. It has no
// text, no attributes and no elements.
type HTML struct{ Node *html.Node }

// ParseHTML reads a page.
func ParseHTML(t testing.TB, page io.Reader) HTML {
	t.Helper()
	root, err := html.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	return HTML{root}
}

// All returns the elements with that name, in their order.
func (h HTML) All(name string) (all []HTML) {
	if h.Node == nil {
		return nil
	}
	for n := range h.Node.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			all = append(all, HTML{n})
		}
	}
	return all
}

// Find returns the first element with that name and those attributes, which are names and values in turn.
func (h HTML) Find(name string, attributes ...string) HTML {
	for _, e := range h.All(name) {
		found := true
		for i := 0; i < len(attributes); i += 2 {
			found = found && e.Has(attributes[i]) && e.Attr(attributes[i]) == attributes[i+1]
		}
		if found {
			return e
		}
	}
	return HTML{}
}

// Exists reports whether the page has the element.
func (h HTML) Exists() bool { return h.Node != nil }

// Has reports whether the element has an attribute.
func (h HTML) Has(attribute string) bool { return h.attribute(attribute) != nil }

// Attr returns the value of an attribute, "" without the attribute.
func (h HTML) Attr(name string) string {
	if a := h.attribute(name); a != nil {
		return a.Val
	}
	return ""
}

func (h HTML) attribute(name string) *html.Attribute {
	if h.Node == nil {
		return nil
	}
	for i := range h.Node.Attr {
		if h.Node.Attr[i].Key == name {
			return &h.Node.Attr[i]
		}
	}
	return nil
}

// Text returns the text in the element, with single spaces.
func (h HTML) Text() string {
	if h.Node == nil {
		return ""
	}
	var out strings.Builder
	for n := range h.Node.Descendants() {
		if n.Type == html.TextNode {
			out.WriteString(n.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// Values returns what a browser sends with a form whose first button is pressed.
func (h HTML) Values() url.Values {
	values := url.Values{}
	for _, e := range append(h.All("input"), h.Find("button")) {
		if name := e.Attr("name"); name != "" {
			values.Set(name, e.Attr("value"))
		}
	}
	return values
}
