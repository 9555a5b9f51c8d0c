package main

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "herald/shared/gen/herald/idp/v1"
	_ "herald/shared/gen/herald/projects/v1"
	_ "herald/shared/gen/herald/users/v1"
)

// The id of a fault says what is wrong, and not only the state in which it is wrong: ORG_NOT_INACTIVE or
// USER_ALREADY_LOCKED. It begins with what it is about.
func TestNamesOfFaults(t *testing.T) {
	t.Parallel()
	states := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Enums().Len() {
			values := file.Enums().Get(i).Values()
			for n := range values.Len() {
				if of, state, ok := strings.Cut(string(values.Get(n).Name()), "_STATE_"); ok {
					states[of+"_"+state] = true
				}
			}
		}
		return true
	})
	if !states["ORG_ACTIVE"] || !states["PROJECT_GRANT_INACTIVE"] {
		t.Errorf("states %v", states)
	}
	backwards := regexp.MustCompile(`^(INVALID_[^A]|MALFORMED_|MISSING_|UNKNOWN_|UNSUPPORTED_)|_UNSUPPORTED$|` +
		`ORGANIZATION`)
	for _, f := range Faults(protoregistry.GlobalFiles) {
		if states[f.ID] {
			t.Errorf("%s is a state: say NOT_ or ALREADY_ before it", f.ID)
		}
		if backwards.MatchString(f.ID) {
			t.Errorf("%s: ids are of the form THING_INVALID or THING_NOT_SUPPORTED, with ORG for an organization", f.ID)
		}
	}
}
