package outbound_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"herald/shared/outbound"
)

func TestBriefErrorHas200Bytes(t *testing.T) {
	t.Parallel()
	long := errors.New("a" + strings.Repeat("\u00e9", 100_000))
	got := outbound.Brief(long)
	if n := len(got.Error()); n != 199 || !utf8.ValidString(got.Error()) || !errors.Is(got, long) {
		t.Errorf("%d bytes: %q", n, got)
	}
	if short := outbound.Brief(outbound.ErrTooLarge); short.Error() != outbound.ErrTooLarge.Error() {
		t.Error(short)
	}
	if got := outbound.Said("\xffb\xff" + strings.Repeat("\u00e9", 100_000)); len(got) > 204 ||
		!utf8.ValidString(got) || strings.Count(got, "\uFFFD") != 2 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if outbound.Brief(nil) != nil {
		t.Error("no error became one")
	}
}
