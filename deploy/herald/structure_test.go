package main_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"herald/deploy/herald/internal/reference"
)

const root = "../.."

// layers says which imports are refused where.
var layers = []struct {
	in, refused *regexp.Regexp
	why         string
}{
	{rx(`^shared`), rx(`^herald/(services|gateway|deploy)`), "shared imports no service"},
	{rx(`^gateway`), rx(`^herald/(services|deploy)`), "the gateway knows no service"},
	{rx(`^(docs|examples)`), rx(`^herald/`), "documents and examples stand alone"},
	{rx(`^services`), rx(`^herald/(gateway|deploy)`), "services stand below the gateway"},
	{rx(`/internal/domain$`), rx(`^(herald/shared/(gen|event|rpc|bus|postgres|page|boot)|github.com/(jackc|nats-io)|google.golang.org)`), "a domain knows no database, bus or message"},
	{rx(`/internal/store$`), rx(`^herald/(services/\w+/internal/api|shared/(gen/herald/(users|text|auth|notification|projects)|rpc|boot))`), "a store is below the api and knows no message of a contract"},
	{rx(`/internal/domain$`), rx(`^herald/services/\w+/internal/(store|api)`), "a domain is below its store and api"},
}

func rx(s string) *regexp.Regexp { return regexp.MustCompile(s) }

var service = rx(`^(?:herald/)?services/(\w+)`)

// The rooms of a service know only those below them, and services do not know each
// other.
func TestLayers(t *testing.T) {
	t.Parallel()
	sources, err := reference.Sources(root)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, s := range sources {
		for _, spec := range s.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			seen++
			for _, l := range layers {
				if l.in.MatchString(s.Dir) && l.refused.MatchString(path) {
					t.Errorf("%s imports %s: %s", s.Dir, path, l.why)
				}
			}
			from, to := service.FindStringSubmatch(s.Dir), service.FindStringSubmatch(path)
			if from != nil && to != nil && from[1] != to[1] {
				t.Errorf("%s imports %s: services do not know each other", s.Dir, path)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d imports were seen", seen)
	}
}

// Every fault has an id of its own, in the form that is documented, and stands in the
// list that is.
func TestFaultIDs(t *testing.T) {
	t.Parallel()
	faults, err := reference.Faults(root)
	if err != nil {
		t.Error(err)
	}
	list, err := os.ReadFile(root + "/docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if !strings.Contains(string(list), "`"+f.ID+"`") {
			t.Errorf("docs/errors.md lacks %s: run `make generate`", f.ID)
		}
	}
	if len(faults) < 40 {
		t.Errorf("only %d ids were seen", len(faults))
	}
}
