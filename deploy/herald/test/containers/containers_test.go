package containers_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/postgres"
)

// Every service has a container, and the gateway waits for it.
func TestEveryServiceHasAContainer(t *testing.T) {
	t.Parallel()
	text := whole.File(t, "docker-compose.yml")
	_, gateway, _ := strings.Cut(text, "\n  gateway:\n")
	gateway, _, _ = strings.Cut(gateway, "\n\n")
	cluster := whole.File(t, "deploy/cluster/compose/machine.yml")
	if !strings.Contains(cluster, "\n  gateway: {environment: {<<: *cluster, ") {
		t.Error("the gateway does not know the servers of deploy/cluster/compose/machine.yml")
	}
	for _, s := range services.Names() {
		if !strings.Contains(cluster, "\n  "+s+": {environment: *cluster}\n") {
			t.Errorf("%[1]s does not know the servers of deploy/cluster/compose/machine.yml: add there a line "+
				"`%[1]s: {environment: *cluster}`", s)
		}
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

// Postgres has connections for two replicas of every service, a third one of the service that is upgraded, its
// superuser and people.
func TestPostgresHasEnoughConnections(t *testing.T) {
	t.Parallel()
	const replicas, reserved, people = 2, 3, 10
	setting := regexp.MustCompile(`max_connections=(\d+)`).FindStringSubmatch(whole.File(t, "docker-compose.yml"))
	if setting == nil {
		t.Fatal("docker-compose.yml does not set max_connections")
	}
	has, err := strconv.Atoi(setting[1])
	if err != nil {
		t.Fatal(err)
	}
	needs := (len(services.Names())*replicas+1)*postgres.MaxConnections + reserved + people
	if has < needs {
		t.Errorf("max_connections in docker-compose.yml is %d, and %d replicas of each service may need %d", has,
			replicas, needs)
	}
}
