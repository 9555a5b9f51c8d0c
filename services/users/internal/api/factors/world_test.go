package factors_test

import (
	"os"
	"testing"

	"herald/services/users/internal/userstest"
	"herald/shared/boot"
)

func TestMain(m *testing.M) { os.Exit(userstest.Kit.Main(m)) }

// world is a running users service and its callers.
type world struct{ *userstest.World }

func startWorld(t testing.TB, g boot.Ground) *world {
	t.Helper()
	return &world{userstest.Start(t, g)}
}
