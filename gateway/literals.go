package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// literals are the REST paths of all methods. A part that one of them has as it is, such as `_search` or `human`,
// is never an id at the same place of another one.
type literals struct {
	paths [][]string // in their parts
	words map[string]bool
}

func (l *literals) add(path string) {
	parts := strings.Split(path, "/")
	l.paths = append(l.paths, parts)
	for _, part := range parts {
		if !isField(part) {
			l.words[part] = true
		}
	}
}

// misread reports whether the mux took a literal part of another path for an id of the template.
func (l *literals) misread(template string, r *http.Request) bool {
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
		if !isField(part) || at >= len(got) || !l.words[got[at]] {
			continue
		}
		if slices.ContainsFunc(l.paths, func(other []string) bool {
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
