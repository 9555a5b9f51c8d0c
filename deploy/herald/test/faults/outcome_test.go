package faults_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// Whichever process is killed, a change that was answered with 200 was made, and a change that was answered with 503
// was not made. If the outcome is unknown, the answer was 504.
func TestAnswersAreTrue(t *testing.T) {
	t.Parallel()
	p := whole.NewProcesses(t, outside.StartMailServer(t, outside.MailConfig{}).URL())
	keepCommits(t, p)
	p.StartNATS()
	p.StartAll()
	var mu sync.Mutex
	answers := map[string]int{}
	for round := range rounds(3) {
		victim := []string{"NATS", "Postgres", "projects"}[round%3]
		var busy sync.WaitGroup
		stop, answered := make(chan struct{}), make(chan struct{}, 1<<16)
		for worker := range 16 {
			busy.Go(func() {
				for n, good := 0, 0; ; n++ {
					name := fmt.Sprintf("%s %d %d %d", victim, round, worker, n)
					status, answer, err := p.Try(
						http.MethodPost, "/management/v1/projects", fmt.Sprintf(`{"name":%q}`, name))
					if err != nil || !slices.Contains([]int{200, 503, 504}, status) {
						t.Errorf("%s: %d %v %v", name, status, answer, err)
						return
					}
					mu.Lock()
					answers[name] = status
					mu.Unlock()
					answered <- struct{}{}
					select {
					case <-stop: // what was killed is back, or will be
						if good++; status == http.StatusOK && good >= 3 {
							return
						}
					default:
					}
				}
			})
		}
		for range 200 {
			<-answered
		}
		kill(t, p, victim)
		close(stop)
		busy.Wait()
	}
	rows, err := whole.Database(t, p.Postgres, "projects").Query(t.Context(), "select name from projects")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	there, count := map[string]bool{}, map[string]int{}
	for _, name := range names {
		there[name] = true
	}
	for name, status := range answers {
		count[fmt.Sprint(status, " and there: ", there[name])]++
		if status == http.StatusOK && !there[name] || status == http.StatusServiceUnavailable && there[name] {
			t.Errorf("%s was answered with %d, and it is there: %t", name, status, there[name])
		}
	}
	t.Log(count)
}

func kill(t *testing.T, p *whole.Processes, name string) {
	t.Helper()
	for _, v := range victims {
		if v.name == name {
			v.kill(t, p)
			return
		}
	}
	killService(name)(t, p)
}
