package device_test

import (
	"os"
	"testing"

	"herald/services/auth/internal/testworld"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }
