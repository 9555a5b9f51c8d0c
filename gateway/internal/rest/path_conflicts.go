package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// pathConflicts finds requests that fit two paths: `/users/_search` fits `/users/{user_id}` too. A literal part of a
// path, such as `_search` or `human`, is never the id of another path at the same position.
type pathConflicts struct {
	paths [][]string      // the parts of each path
	words map[string]bool // all literal parts
}

func (c *pathConflicts) add(path string) {
	parts := strings.Split(path, "/")
	c.paths = append(c.paths, parts)
	for _, part := range parts {
		if !isField(part) {
			c.words[part] = true
		}
	}
}

// misread reports whether the mux took a literal part of another path for an id of the template.
func (c *pathConflicts) misread(template string, r *http.Request) bool {
	if strings.IndexByte(template, '{') < 0 {
		return false
	}
	got := strings.Split(r.URL.EscapedPath(), "/")
	for i, part := range got {
		if decoded, err := url.PathUnescape(part); err == nil {
			got[i] = decoded
		}
	}
	at := -1
	for part := range strings.SplitSeq(template, "/") {
		at++
		if !isField(part) || at >= len(got) || !c.words[got[at]] {
			continue
		}
		if slices.ContainsFunc(c.paths, func(other []string) bool {
			return len(other) > at && other[at] == got[at] && fits(other[:at], got[:at])
		}) {
			return true
		}
	}
	return false
}

// fits reports whether a path begins with these parts.
func fits(parts, got []string) bool {
	return slices.EqualFunc(parts, got, func(part, g string) bool { return isField(part) || part == g })
}

func isField(part string) bool { return strings.HasPrefix(part, "{") }
