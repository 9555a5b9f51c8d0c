package store_test

import (
	"context"
	"testing"

	"herald/shared/testkit"
)

func TestSweepsWhatHasEnded(t *testing.T) {
	t.Parallel()
	testkit.Swept(t, newWorld(t).db, nil, func(context.Context) error { return nil })
}
