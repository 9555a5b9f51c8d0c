package testworld

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/shared/testkit"
)

// Answer is a response with its body.
type Answer struct {
	*http.Response
	Text []byte
}

// Do sends a request; pairs are header names and values.
func (w *World) Do(t testing.TB, method, path, body string, pairs ...string) Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Add(pairs[i], pairs[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{response, data}
}

// As returns the header Authorization with a token, and more header names and values.
func As(token string, pairs ...string) []string {
	return append([]string{"Authorization", "Bearer " + token}, pairs...)
}

// ErrorBody is the error body of REST.
type ErrorBody struct {
	Code    int
	Message string
	Details []struct {
		Type            string `json:"@type"`
		ID              string
		FieldViolations []struct{ Field, Description string }
	}
}

// Refused fails the test unless the answer is this fault with a complete error body.
func (a Answer) Refused(t testing.TB, status int, id string) ErrorBody {
	t.Helper()
	var e ErrorBody
	if err := json.Unmarshal(a.Text, &e); err != nil {
		t.Fatalf("%d %s: %v", a.StatusCode, a.Text, err)
	}
	if a.StatusCode != status || len(e.Details) == 0 || e.Details[0].ID != id {
		t.Fatalf("got %d %s, want %d %s", a.StatusCode, a.Text, status, id)
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Fatalf("content type %q", got)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, a.Text); err != nil || compact.String()+"\n" != string(a.Text) {
		t.Fatalf("%q is not a line of JSON without white space: %v", a.Text, err)
	}
	return e
}

// OK fails the test unless the status is 200.
func (a Answer) OK(t testing.TB) Answer {
	t.Helper()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("got %d %s", a.StatusCode, a.Text)
	}
	return a
}

// Connect opens a connection until the test ends, and sends the beginning of a request.
func (w *World) Connect(t testing.TB, begin string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(c, begin); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// Raw sends bytes unchanged and reads one answer.
func (w *World) Raw(t testing.TB, request string) Answer {
	t.Helper()
	c := w.Connect(t, "")
	defer func() { _ = c.Close() }()
	go func() { _, _ = io.WriteString(c, request) }() // the server may answer before it has read all
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{response, body}
}

// HTTP2 opens a connection on which a test writes frames.
func (w *World) HTTP2(t testing.TB) *testkit.HTTP2 {
	t.Helper()
	return testkit.DialHTTP2(t, strings.TrimPrefix(w.URL, "http://"))
}

// SameJSON compares JSON by meaning.
func SameJSON(t testing.TB, got []byte, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %s, want %s", got, want)
	}
}
