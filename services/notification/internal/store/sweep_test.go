package store_test

import (
	"context"
	"testing"

	"herald/shared/testkit"
)

func TestSweepsWhatHasEnded(t *testing.T) {
	t.Parallel()
	testkit.Swept(t, newWorld(t).db, map[string]string{
		"notifications": "they are listed as long as the user is there",
		"restored":      "it has a row for each restore from a backup",
		"attempts":      "they are listed as long as the user is there",
	}, func(context.Context) error { return nil })
}
