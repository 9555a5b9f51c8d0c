package testkit

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Equal fails the test unless two messages are equal. It then prints the lines from the first difference to the last.
func Equal(t testing.TB, got, want proto.Message) {
	t.Helper()
	if proto.Equal(got, want) {
		return
	}
	is, wanted := linesOf(got), linesOf(want)
	for len(is) > 0 && len(wanted) > 0 && is[0] == wanted[0] {
		is, wanted = is[1:], wanted[1:]
	}
	for len(is) > 0 && len(wanted) > 0 && is[len(is)-1] == wanted[len(wanted)-1] {
		is, wanted = is[:len(is)-1], wanted[:len(wanted)-1]
	}
	t.Errorf("got\n%s\nwant\n%s", strings.Join(is, "\n"), strings.Join(wanted, "\n"))
}

// linesOf returns the lines of a message's text. It makes the spaces equal, because prototext varies them on purpose.
func linesOf(m proto.Message) []string {
	text := prototext.MarshalOptions{Multiline: true}.Format(m)
	return strings.Split(strings.ReplaceAll(text, ":  ", ": "), "\n")
}
