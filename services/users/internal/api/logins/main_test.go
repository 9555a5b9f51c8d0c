package logins_test

import (
	"os"
	"testing"

	"herald/services/users/internal/testworld"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }
