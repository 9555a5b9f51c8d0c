package store_test

import (
	"context"
	"testing"

	"herald/shared/testkit"
)

func TestSweepsWhatHasEnded(t *testing.T) {
	t.Parallel()
	testkit.Swept(t, kit.Pool(t), nil, func(context.Context) error { return nil })
}
