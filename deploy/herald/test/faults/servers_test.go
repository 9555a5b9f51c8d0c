package faults_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// recovery is how long after the end of an outage every client must have succeeded.
const recovery = 30 * time.Second

// outage is a fault of what all clients need, and its end.
type outage struct {
	name       string
	begin, end func(*system)
	// repeats is how many mails may come twice.
	repeats int
	// limits are how long answers may take by their status, on a machine with nothing else to do. A refusal has one of
	// these statuses. If there are limits, the outage is longer than they are, also on a busy machine.
	limits map[int]time.Duration
}

// outlasting is how long an outage lasts at least whose answers have limits.
const outlasting = 16 * time.Second

var outages = []outage{
	{
		name:  "gateway killed",
		begin: func(s *system) { s.Kill("gateway") }, end: func(s *system) { s.Start("gateway") },
	},
	{
		name:  "NATS killed",
		begin: func(s *system) { s.Kill("nats") }, end: func(s *system) { s.StartNATS() },
	},
	{
		name:   "NATS frozen",
		begin:  func(s *system) { s.Signal("nats", syscall.SIGSTOP) },
		end:    func(s *system) { s.Signal("nats", syscall.SIGCONT) },
		limits: map[int]time.Duration{503: 8 * time.Second, 504: 8 * time.Second},
	},
	{
		name:  "Postgres frozen",
		begin: func(s *system) { s.postgres(syscall.SIGSTOP) }, end: func(s *system) { s.postgres(syscall.SIGCONT) },
		limits: map[int]time.Duration{503: 5 * time.Second, 504: 7 * time.Second},
	},
	{
		name: "Postgres shut down at once", // what pg_ctl calls immediate
		begin: func(s *system) {
			s.postmaster(syscall.SIGQUIT)
			s.ended()
		},
		end: func(s *system) { s.restartPostgres() },
	},
	{
		name: "power cut",
		begin: func(s *system) {
			s.postgres(syscall.SIGKILL)
			s.KillAll()
			s.ended()
		},
		end: func(s *system) {
			s.restartPostgres()
			s.StartNATS()
			s.StartAll()
		},
		repeats: atOnce,
	},
}

// system is a running system with its Postgres.
type system struct {
	*whole.Processes
	t    *testing.T
	data string // the directory of Postgres
	// requests are what is asked during outages whose answers have limits.
	requests map[string]func() (*http.Request, error)
	// processes are the ids of the processes of Postgres, except the first, at the time of the last signal.
	processes []string
}

// findData asks Postgres for its directory.
func (s *system) findData() {
	s.t.Helper()
	db := whole.Database(s.t, s.Postgres, "users")
	if err := db.QueryRow(s.t.Context(), `show data_directory`).Scan(&s.data); err != nil {
		s.t.Fatal(err)
	}
	_ = db.Close(s.t.Context())
}

// postmaster sends a signal to the first process of Postgres.
func (s *system) postmaster(signal syscall.Signal) int {
	s.t.Helper()
	pid, err := whole.SignalPostmaster(s.data, signal)
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// postgres sends a signal to all processes of Postgres. They are listed while the postmaster, which makes the others,
// is stopped: one that is made after the list would run on.
func (s *system) postgres(signal syscall.Signal) {
	s.t.Helper()
	if signal != syscall.SIGCONT {
		pid := s.postmaster(syscall.SIGSTOP)
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
		if err != nil {
			s.t.Fatal(err)
		}
		s.processes = strings.Fields(string(list))
	}
	for _, child := range s.processes {
		pid, err := strconv.Atoi(child)
		if err != nil {
			s.t.Fatal(err)
		}
		_ = syscall.Kill(pid, signal) // unless it has ended
	}
	s.postmaster(signal)
}

// ended waits until Postgres has ended.
func (s *system) ended() {
	s.t.Helper()
	if err := s.Postgres.Wait(s.t.Context()); err == nil {
		s.t.Fatal("Postgres runs on")
	}
}

func (s *system) restartPostgres() {
	s.t.Helper()
	if err := s.Postgres.Restart(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// through reads and writes until both have succeeded five times after the end of an outage. It calls met at each
// failure. It returns the time of the first read that succeeded after the end.
func (l *load) through(t *testing.T, s *system, met func(), over <-chan struct{}) (again time.Time) {
	tick := time.NewTicker(50 * time.Millisecond) // a real client does not ask a server more often after a refusal
	defer tick.Stop()
	for good := 0; good < 10; {
		for writes := range 2 {
			ended := closed(over)
			status, answer, err := l.send(s.Processes, writes)
			switch {
			case err == nil && status == http.StatusOK:
				if ended {
					good++
				}
				if ended && again.IsZero() {
					again = time.Now()
				}
				continue
			case err == nil && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout:
				t.Errorf("%s: %d %v", l.name, status, answer)
				return again
			}
			met()
			<-tick.C
		}
	}
	return again
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// importer imports people one after another until the load is over. It repeats each import until it succeeds. It
// returns the people.
func importer(s *system, name string, over <-chan struct{}) (ids []string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; !closed(over); n++ {
		id := fmt.Sprintf("%s-%d", name, n)
		for status := 0; status != http.StatusOK; <-tick.C {
			status, _, _ = s.Try(http.MethodPost, "/management/v1/users/human/_import", whole.Person(id))
		}
		ids = append(ids, id)
	}
	return ids
}

// Under load, the gateway, NATS and Postgres are killed and frozen, and the power is cut. Afterwards everything works
// again without help. No write is lost that was answered with 200, no write was made that was answered with 503, and
// everybody has one mail.
func TestServersThatFail(t *testing.T) {
	t.Parallel()
	server := outside.StartMailServer(t, outside.MailConfig{})
	s := &system{Processes: whole.NewProcesses(t, server.URL()), t: t}
	keepCommits(t, s.Processes)
	s.findData()
	s.StartNATS()
	s.StartAll()
	s.requests = asked(t, s.Processes)
	clients := newClients(s.Processes, 2)
	people, repeats := map[string]bool{}, 0
	for round := range rounds(len(outages)) {
		o := outages[round%len(outages)]
		for _, id := range s.survive(t, fmt.Sprintf("p%d", round), o, clients) {
			people[id] = true
		}
		repeats += o.repeats
		if t.Failed() {
			return
		}
	}
	oneMailEach(t, server, people, repeats)
}

// ask sends a request again and again until over is closed, and keeps the slowest answers.
func ask(t *testing.T, request func() (*http.Request, error), over <-chan struct{}, late answers) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ; !closed(over); <-tick.C {
		r, err := request()
		if err != nil {
			t.Error(err)
			return
		}
		began := time.Now()
		answer, err := http.DefaultTransport.RoundTrip(r) // follows no redirect
		if err != nil {
			t.Error(err)
			return
		}
		_ = answer.Body.Close()
		late.add(answer.StatusCode, time.Since(began))
	}
}

// judge fails the test if an answer of those in late took too long, or had a status that it must not have.
func (o outage) judge(t *testing.T, late map[string]answers) {
	t.Helper()
	for name, answers := range late {
		t.Logf("%s: slowest answers to %s by status: %v", o.name, name, answers)
		for status, took := range answers {
			limit, known := o.limits[status]
			if !known && status >= http.StatusBadRequest {
				t.Errorf("%s: %s was answered with %d", o.name, name, status)
			}
			if known && took > limit+spare() {
				t.Errorf("%s: %s was answered with %d only after %s", o.name, name, status, took)
			}
		}
	}
}

// survive runs clients during an outage, and returns the people who were imported.
func (s *system) survive(t *testing.T, name string, o outage, clients []*load) (people []string) {
	t.Helper()
	noticed, over, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	notice := sync.OnceFunc(func() { close(noticed) })
	again := make([]time.Time, len(clients))
	var busy, importing sync.WaitGroup
	for i, l := range clients {
		busy.Go(func() { again[i] = l.through(t, s, notice, over) })
	}
	importing.Go(func() { people = importer(s, name, done) })
	began, lasts := time.Now(), *awayFor
	o.begin(s)
	late := map[string]answers{}
	if o.limits != nil {
		lasts = max(lasts, outlasting)
		for name, request := range s.requests {
			kept := answers{}
			late[name] = kept
			busy.Go(func() { ask(t, request, over, kept) })
		}
	}
	<-noticed
	<-time.After(lasts) // how long the server is away is the test's subject
	met := time.Since(began)
	o.end(s)
	ended := time.Now()
	close(over)
	busy.Wait()
	close(done)
	importing.Wait()
	last := ended
	var slowest [2]time.Duration
	for i, l := range clients {
		if again[i].After(last) {
			last = again[i]
		}
		for writes := range 2 {
			slowest[writes] = max(slowest[writes], l.slowest[writes])
		}
		l.kept(t, s.Processes, o.name)
		if o.limits != nil {
			late[l.name] = l.late
		}
		l.slowest, l.late = [2]time.Duration{}, answers{}
	}
	o.judge(t, late)
	t.Logf("%s: away %s, every client served %s after its end; slowest read %s, slowest write %s; %d people", o.name,
		met.Round(time.Millisecond), last.Sub(ended).Round(time.Millisecond), slowest[0].Round(time.Millisecond),
		slowest[1].Round(time.Millisecond), len(people))
	if last.Sub(ended) > recovery {
		t.Errorf("%s: a client was served only %s after its end", o.name, last.Sub(ended))
	}
	return people
}
