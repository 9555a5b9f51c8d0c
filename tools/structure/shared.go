package structure

import (
	"fmt"
	"regexp"
	"strings"
)

// unshared lists packages of shared that need no two users, each with the reason.
var unshared = []struct{ dir, why string }{
	{"shared/postgres/local", "`herald run` starts it, and so do the tests of all services"},
	{"shared/testkit", "tests use it"},
	{"shared/testkit/outside", "tests use it"},
}

// module matches what counts as one user of shared: a service, the gateway or deploy.
var module = regexp.MustCompile(`^(?:services/\w+|gateway|deploy)`)

// shared finds packages of shared that fewer than two modules use. Tests do not count.
func shared(sources []source) []string {
	users := map[string]map[string]bool{}
	for _, s := range sources {
		user := module.FindString(s.dir())
		if s.test() || user == "" {
			continue
		}
		for _, path := range s.imported() {
			dir := strings.TrimPrefix(path, "herald/")
			if users[dir] == nil {
				users[dir] = map[string]bool{}
			}
			users[dir][user] = true
		}
	}
	excused := map[string]bool{}
	for _, u := range unshared {
		excused[u.dir] = true
	}
	var wrong []string
	for _, p := range packagesOf(sources) {
		if n := len(users[p.dir]); strings.HasPrefix(p.dir, "shared/") && n < 2 && !excused[p.dir] {
			wrong = append(wrong, fmt.Sprintf("%s: %d modules use it, fewer than 2: move it to the one that needs it",
				p.dir, n))
		}
	}
	return wrong
}
