package testworld

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Parse returns a page as a tree.
func Parse(t *testing.T, body string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Attribute returns the value of an attribute, and whether the element has it.
func Attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// Element returns the first element of that name with that attribute and value. With an empty key
// any element of the name will do.
func Element(root *html.Node, name, key, value string) *html.Node {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			if got, ok := Attribute(n, key); key == "" || ok && got == value {
				return n
			}
		}
	}
	return nil
}

// TextOf returns the text in an element, with single spaces. It returns "" for no element.
func TextOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var out strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			out.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
