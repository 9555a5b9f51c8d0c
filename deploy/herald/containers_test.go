package main_test

import (
	"os"
	"strings"
	"testing"

	"herald/deploy/herald/internal/allinone"
)

// root is the repository.
const root = "../.."

// A service that is added has a container, and the gateway waits for it.
func TestEveryServiceHasAContainer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, gateway, _ := strings.Cut(string(text), "\n  gateway:\n")
	gateway, _, _ = strings.Cut(gateway, "\n\n")
	for _, s := range allinone.Names() {
		if !strings.Contains(string(text), "\n  "+s+":\n    <<: *service\n    command: ["+s+"]\n") {
			t.Errorf("docker-compose.yml has no service %s", s)
		}
		if !strings.Contains(gateway, s+": {condition: service_healthy}") {
			t.Errorf("the gateway does not wait for %s", s)
		}
	}
}
