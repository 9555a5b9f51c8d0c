package containers_test

import (
	"strings"
	"testing"

	"herald/deploy/herald/internal/allinone"
	"herald/deploy/herald/test/whole"
)

// Every service has a container, and the gateway waits for it.
func TestEveryServiceHasAContainer(t *testing.T) {
	t.Parallel()
	text := whole.File(t, "docker-compose.yml")
	_, gateway, _ := strings.Cut(text, "\n  gateway:\n")
	gateway, _, _ = strings.Cut(gateway, "\n\n")
	for _, s := range allinone.Names() {
		if !strings.Contains(text, "\n  "+s+":\n    <<: *service\n    command: ["+s+"]\n") {
			t.Errorf("docker-compose.yml has no container for %[1]s: add one like that of another service, with "+
				"`<<: *service` and `command: [%[1]s]`", s)
		}
		if !strings.Contains(gateway, s+": {condition: service_healthy}") {
			t.Errorf("the gateway does not wait for %[1]s: add `%[1]s: {condition: service_healthy}` to "+
				"depends_on of gateway in docker-compose.yml", s)
		}
	}
}
