package orgs_test

import (
	"os"
	"testing"

	"herald/services/users/internal/userstest"
)

func TestMain(m *testing.M) { os.Exit(userstest.Kit.Main(m)) }

// world is a running users service and its callers.
type world struct{ *userstest.World }

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{userstest.New(t)}
}
