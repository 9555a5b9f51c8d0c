package faults_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/retry"
	"herald/shared/testkit/outside"
)

// frozenFor is how long Postgres is frozen: longer than any service waits for it.
const frozenFor = 45 * time.Second

// whom finds in a line which service was asked.
var whom = regexp.MustCompile(`"asked":"\w+"|ask \w+`)

// busyServices are those that the load asks all the time.
var busyServices = []string{"auth", "users"}

// Postgres is frozen under load, and runs again. The log of each service that needed it has one line when it begins and
// one when it ends, and no other warning. A service may also say once of another that it does not answer, and
// the notifier that outcomes of mails wait. A service whose idle connections ended meanwhile says that they broke.
func TestFrozenPostgresIsLoggedOnce(t *testing.T) {
	t.Parallel()
	server := outside.StartMailServer(t, outside.MailConfig{})
	s := &system{Processes: whole.NewProcesses(t, server.URL()), t: t}
	s.findData()
	s.StartAll()
	clients := newClients(s.Processes, 2)
	over, done := make(chan struct{}), make(chan struct{})
	var busy sync.WaitGroup
	for _, l := range clients {
		busy.Go(func() { l.through(t, s, func() {}, over) })
	}
	busy.Go(func() { importer(s, "logged", done) })
	s.postgres(syscall.SIGSTOP)
	t.Cleanup(func() { s.postmaster(syscall.SIGCONT) })
	logs := s.Logs()
	delete(logs, "gateway") // it has no database
	<-time.After(frozenFor) // how long it is frozen is the test's subject
	causes := s.Unready()
	for _, cause := range causes {
		// One entry, which names the database: the first question after a long time does not know yet since when
		// Postgres does not work.
		if strings.Count(cause, `":"`) != 1 || !strings.Contains(cause, "database") {
			t.Errorf("not ready because of %s", cause)
		}
	}
	if len(causes) == 0 {
		t.Error("all services are ready")
	}
	s.postgres(syscall.SIGCONT)
	close(over)
	for service, log := range logs {
		if slices.Contains(busyServices, service) || strings.Contains(log.String(), "Postgres does not work") {
			log.Wait(t, "Postgres works again")
		}
	}
	<-time.After(retry.Settle) // after which parts say that they work again
	close(done)
	busy.Wait()
	for service, log := range logs {
		lines := map[string]int{"begins": 0}
		for line := range strings.Lines(log.String()) {
			switch {
			case strings.Contains(line, "Postgres does not work"):
				lines["begins"]++
			case strings.Contains(line, "Postgres works again"):
				lines["ends"]++
			case service == "notification" && strings.Contains(line, "no mail can be sent; trying again"),
				strings.Contains(line, "a service does not answer"):
				// The asked service has no database, and this one has not needed its own yet.
				lines[whom.FindString(line)]++
			case strings.Contains(line, "outcomes of mails wait"),
				strings.Contains(line, "connections to Postgres broke"):
			case strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`):
				t.Errorf("%s also says %s", service, line)
			}
		}
		if lines["begins"] != lines["ends"] || slices.Max(slices.Collect(maps.Values(lines))) > 1 {
			t.Errorf("the log of %s has %v", service, lines)
		}
	}
}
