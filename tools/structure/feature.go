package structure

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// ofAPI matches the files that implement methods, and finds their service and feature.
var ofAPI = regexp.MustCompile(`^(services/\w+)/internal/api/(?:.+/)?(\w+)\.go$`)

// unfeatured matches files of an API that are about no feature: the type with the methods, and what its packages share.
var unfeatured = regexp.MustCompile(`/api/(api\.go|internals/internals\.go|base/.*)$`)

// features finds files of an API that are not named after a file of the domain or of the store. A feature that needs
// several files has names such as application_oidc.go.
func features(sources []source) []string {
	layers := map[string]bool{}
	for _, s := range sources {
		layers[s.path] = true
	}
	var wrong []string
	for _, s := range sources {
		match := ofAPI.FindStringSubmatch(s.path)
		if match == nil || s.test() || unfeatured.MatchString(s.path) {
			continue
		}
		found := false
		for name := match[2]; name != ""; name = name[:max(0, strings.LastIndex(name, "_"))] {
			for _, layer := range []string{"domain", "store"} {
				found = found || layers[path.Join(match[1], "internal", layer, name+".go")]
			}
		}
		if !found {
			wrong = append(wrong, fmt.Sprintf("%s: no file of the domain or of the store has its name: give it the "+
				"name of the feature that it is about", s.path))
		}
	}
	return wrong
}

// ownStore matches the packages that read and write the database of a service.
var ownStore = regexp.MustCompile(`^services/\w+/internal/store$`)

// owners finds stores without owner_test.go, which calls each method for another owner.
func owners(sources []source) (wrong []string) {
	files := map[string]bool{}
	for _, s := range sources {
		files[s.path] = true
	}
	for _, p := range packagesOf(sources) {
		if ownStore.MatchString(p.dir) && !files[p.dir+"/owner_test.go"] {
			wrong = append(wrong, fmt.Sprintf("%s: write owner_test.go, with each method called for another owner, "+
				"as in services/idp", p.dir))
		}
	}
	return wrong
}
