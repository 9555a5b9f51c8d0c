package caller

import (
	"strings"
	"testing"
	"time"

	"herald/shared/secret"
)

func TestWhatIsRememberedIsBounded(t *testing.T) {
	t.Parallel()
	keys, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s := NewSigner(keys, func() time.Time { return now })
	verify := func(c Caller) {
		t.Helper()
		if _, err := s.Verify(s.Sign(c)); err != nil {
			t.Fatal(err)
		}
	}
	verify(Caller{UserID: strings.Repeat("u", largestVerified)})
	if len(s.verified.callers) != 0 {
		t.Error("a large header is remembered")
	}
	for range 2*mostVerified + 1 {
		now = now.Add(time.Millisecond)
		verify(Caller{UserID: "u"})
	}
	if n := len(s.verified.callers); n != 1 {
		t.Errorf("%d headers are remembered", n)
	}
}
