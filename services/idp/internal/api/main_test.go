package api_test

import (
	"os"
	"testing"

	"herald/services/idp/internal/apitest"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(apitest.Kit.Main(m)) }

// refused and race are used by most tests.
var refused, race = testkit.Refused, testkit.Race
