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
		"authorizations": "only those that are there end, each with an event: TestExpiredRowsAreDeleted",
		"codes":          "they are deleted with their authorizations",
		"logouts":        "a row is deleted after the last try",
		"signing_keys":   "package signing removes those that are no longer needed",
	}, func(ctx context.Context) error {
		_, err := w.DeleteExpired(ctx, keep)
		return err
	})
}
