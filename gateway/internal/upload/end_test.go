package upload_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/gateway/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// endedEarly waits for the log line of an import that ended early.
func endedEarly(t *testing.T, w *testworld.World) (line struct {
	Level, Request, Fault string
	Imported, Refused     int
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(w.Lines.Wait(t, "ended early")), &line); err != nil {
		t.Fatal(err)
	}
	return line
}

// An import whose client has gone sends no more requests, at any place of its body and over any protocol. Its slot is
// free again, and the log has the number of imported users.
func TestStreamEndsWithItsClient(t *testing.T) {
	t.Parallel()
	one, two := &http.Protocols{}, &http.Protocols{}
	one.SetHTTP1(true)
	two.SetUnencryptedHTTP2(true)
	for name, c := range map[string]struct {
		protocols *http.Protocols
		rest      string // what the client would send later
		fault     string
	}{
		"HTTP/1.1, everything sent": {one, "", "IMPORT_ABANDONED"},
		"HTTP/2, everything sent":   {two, "", "IMPORT_ABANDONED"},
		"HTTP/1.1, in the body":     {one, "]}]}}", "IMPORT_BROKEN_OFF or IMPORT_ABANDONED"},
		// The reset of a stream ends the body and the request at the same time.
		"HTTP/2, in the body": {two, "]}]}}", "IMPORT_BROKEN_OFF or IMPORT_ABANDONED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.Start(t)
			token := w.Owner()
			began, proceed := make(chan struct{}, 9), make(chan struct{})
			defer close(proceed)
			w.Importer.On(func(n int, _ *usersv1.ImportRequest) error {
				if n > 0 {
					began <- struct{}{}
					<-proceed
				}
				return nil
			})
			// Two requests are under way when the rest waits to be sent.
			all := crowd("u", 3500)
			body := strings.NewReader(strings.TrimSuffix(all, c.rest))
			later, never := io.Pipe()
			defer never.Close()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r, err := http.NewRequestWithContext(ctx, "POST", w.URL+importPath, body)
			if err != nil {
				t.Fatal(err)
			}
			if r.ContentLength = int64(len(all)); c.rest != "" {
				r.Body = struct {
					io.Reader
					io.Closer
				}{io.MultiReader(body, later), later}
			}
			r.Header.Set("Authorization", "Bearer "+token)
			transport := &http.Transport{Protocols: c.protocols}
			defer transport.CloseIdleConnections()
			left := make(chan error)
			go func() {
				_, err := transport.RoundTrip(r)
				left <- err
			}()
			<-began
			<-began
			leave()
			line := endedEarly(t, w)
			never.Close()
			if err := <-left; err == nil {
				t.Error("the client has an answer")
			}
			if !slices.Contains(strings.Split(c.fault, " or "), line.Fault) || line.Level != "WARN" ||
				line.Request == "" || line.Imported != 1000 || line.Refused != 0 {
				t.Errorf("log: %+v", line)
			}
			if requests, _ := w.Importer.Seen(); len(requests) != 3 {
				t.Errorf("requests %v", requests)
			}
		})
	}
}

// The slots of imports are free soon after their clients have closed the connection, although much of the bodies waits
// to be read.
func TestPlacesOfClientsThatHaveGone(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	began, proceed := make(chan struct{}, 9), make(chan struct{})
	defer close(proceed)
	w.Importer.On(func(_ int, r *usersv1.ImportRequest) error {
		if rows := r.DataOrgs.GetOrgs(); len(rows) > 0 && strings.HasPrefix(rows[0].HumanUsers[0].UserId, "u1") {
			began <- struct{}{}
			<-proceed
		}
		return nil
	})
	token, body := w.Owner(), crowd("u", 8000)
	for range 2 {
		c := w.Connect(t, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Content-Length: %d\r\n\r\n%s", importPath, token, len(body), body))
		<-began
		if err := errors.Join(c.SetLinger(0), c.Close()); err != nil {
			t.Fatal(err)
		}
		if line := endedEarly(t, w); line.Fault != "IMPORT_ABANDONED" {
			t.Errorf("log: %+v", line)
		}
	}
	w.Do(t, "POST", importPath, crowd("v", 1), testworld.As(token)...).Imported(t)
}

// When the gateway stops, an import ends at its next request. Its client learns who was imported and what to do, also
// if it is still sending.
func TestStopEndsImports(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	address, stop, ended := w.Stoppable(t, 0)
	w.Importer.On(func(n int, _ *usersv1.ImportRequest) error {
		if n == 1 {
			stop()
		}
		return nil
	})
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := strings.TrimSuffix(crowd("u", 2001), "]}]}}")
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nX-Request-Id: slow\r\n"+
		"Content-Length: 1000000\r\n\r\n%s", importPath, w.Owner(), body)
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	var reported testworld.ImportAnswer
	if err := json.NewDecoder(got.Body).Decode(&reported); err != nil || got.StatusCode != 200 {
		t.Fatal(got.Status, err)
	}
	if n := len(reported.Success.Orgs[0].HumanUserIDs); n != 2000 || len(reported.Errors) != 1 ||
		reported.Errors[0].Type != "import" || reported.Errors[0].Reason != "IMPORT_INTERRUPTED" {
		t.Errorf("%d users, %v", n, reported.Errors)
	}
	c.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if line := endedEarly(t, w); line.Fault != "IMPORT_INTERRUPTED" || line.Imported != 2000 || line.Request != "slow" {
		t.Errorf("log: %+v", line)
	}
}

// The timeout also ends an import whose client has not sent everything.
func TestStreamOfASlowClientTimesOut(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	_, conn := upload(t, w, w.Owner())
	body := strings.Replace(crowd("u", 1001), "{", `{"timeout":"1s",`, 1)
	if _, err := conn.WriteString(strings.TrimSuffix(body, "}]}}")); err != nil || conn.Flush() != nil {
		t.Fatal(err)
	}
	began := time.Now()
	answer, err := http.ReadResponse(conn.Reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var reported testworld.ImportAnswer
	if err := json.NewDecoder(answer.Body).Decode(&reported); err != nil {
		t.Fatal(err)
	}
	if n := len(reported.Success.Orgs[0].HumanUserIDs); n != 1000 || len(reported.Errors) != 1 ||
		reported.Errors[0].Reason != "IMPORT_TIMED_OUT" || time.Since(began) > 30*time.Second {
		t.Errorf("%d users, %v after %s", n, reported.Errors, time.Since(began))
	}
}
