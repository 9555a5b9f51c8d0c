package resource_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"herald/shared/resource"
)

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	made := make([]string, 10_000)
	for i := range made {
		made[i] = resource.NewID()
	}
	if !slices.IsSorted(made) || len(slices.Compact(slices.Clone(made))) != len(made) {
		t.Error("not in order, each once")
	}
	u, err := uuid.Parse(made[0])
	if err != nil || u.Version() != 7 || u.Variant() != uuid.RFC4122 || u.String() != made[0] {
		t.Errorf("%q is no UUIDv7: %v", made[0], err)
	}
}
