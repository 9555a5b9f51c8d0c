package store_test

import (
	"context"
	"testing"

	"herald/shared/testkit"
)

func TestSweepsWhatHasEnded(t *testing.T) {
	t.Parallel()
	testkit.Swept(t, newWorld(t).db, map[string]string{
		"applications":     "a secret takes the place of the one before",
		"application_keys": "expired ones are readable until they are removed",
	}, func(context.Context) error { return nil })
}
