package api_test

import (
	"os"
	"testing"

	"herald/services/idp/internal/apitest"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(apitest.Kit.Main(m)) }

var refused = testkit.Refused
