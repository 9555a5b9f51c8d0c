package store_test

import (
	"context"
	"testing"

	"herald/shared/testkit"
)

func TestSweepsWhatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Swept(t, w.db, map[string]string{
		"codes":        "they go with their authorizations",
		"logouts":      "a row goes with the last try",
		"signing_keys": "package keys removes those that have signed for long enough",
	}, func(ctx context.Context) error {
		_, err := w.DeleteExpired(ctx)
		return err
	})
}
