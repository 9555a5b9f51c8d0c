package api_test

import (
	"os"
	"testing"

	"herald/services/idp/internal/testworld"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

var refused = testkit.Refused
