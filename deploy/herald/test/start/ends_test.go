package start_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// A local Postgres that ends by itself is started again, and then everything works as before.
func TestPostgresThatEnds(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	for n, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		end(i, signal)
		works(i, "u"+strconv.Itoa(n))
	}
	if err := i.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	// All that follows has one line, and one when it is over. A mail that is due just then has its own.
	logs := i.Logs.String()
	others := strings.ReplaceAll(logs, "no mail can be sent; trying again", "")
	if n := strings.Count(logs, "Postgres does not work"); n < 1 || n > 2 || strings.Contains(others, "trying again") {
		t.Errorf("the log says %s", logs)
	}
	for _, says := range []string{"Postgres has ended; starting it again", "Postgres runs again"} {
		if n := strings.Count(logs, says); n != 2 {
			t.Errorf("the log says %d times: %s", n, says)
		}
	}
}

// A local Postgres that cannot be started again ends the process, which says why.
func TestPostgresThatDoesNotStart(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	if err := os.Remove(i.Dir + "/data/postgres/data/global/pg_control"); err != nil {
		t.Fatal(err)
	}
	end(i, syscall.SIGKILL)
	err := i.Ended()
	exit, ok := err.(*exec.ExitError)
	if said := whole.Tail(i.Logs); !ok || exit.ExitCode() != 1 ||
		!strings.Contains(said, "herald: the local Postgres does not run") || !strings.Contains(said, "pg_control") {
		t.Errorf("ended with %v and said %s", err, said)
	}
}

// works waits until a user is imported and mailed. Before that, connections to a server that has ended may break.
func works(i *whole.Instance, id string) {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(i.T.Context(), time.Minute)
	defer cancel()
	for status := 0; status != http.StatusOK; {
		if ctx.Err() != nil {
			i.T.Fatalf("after a minute an import answers %d", status)
		}
		status, _, _ = i.Try("POST", "/management/v1/users/human/_import", whole.Person(id))
	}
	i.Mail(id + "@example.com")
}

// end sends a signal to the local Postgres.
func end(i *whole.Instance, signal syscall.Signal) {
	i.T.Helper()
	if _, err := whole.SignalPostmaster(i.Dir+"/data/postgres/data", signal); err != nil {
		i.T.Fatal(err)
	}
}
