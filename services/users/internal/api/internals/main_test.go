package internals_test

import (
	"os"
	"testing"

	"herald/services/users/internal/userstest"
)

func TestMain(m *testing.M) { os.Exit(userstest.Kit.Main(m)) }
