package edge_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"herald/gateway/internal/testworld"
	heraldv1 "herald/shared/gen/herald/v1"
)

// resident returns how many bytes of memory the process has.
func resident(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// unread sends a request on so many connections and waits for the first byte of each answer, but reads
// no more.
func unread(t *testing.T, w *testworld.World, n int, request string) []*net.TCPConn {
	t.Helper()
	all := make([]*net.TCPConn, n)
	for i := range all {
		all[i] = w.Connect(t, "")
		_ = all[i].SetReadBuffer(4 << 10)
		if _, err := io.WriteString(all[i], request); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range all {
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// 600 connections that ask for the largest answer and read nothing take little memory, and do not delay others.
func TestUnreadAnswersTakeLittleMemory(t *testing.T) { // not parallel: other tests would take memory
	w := testworld.Start(t)
	body := strings.Repeat("x", 800<<10)
	w.Auth.Page = func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		return &heraldv1.HttpResponse{Status: 200, Body: []byte(body)}, nil
	}
	for _, c := range []struct {
		name, path, header string
		connections, most  int // most in MiB
	}{
		{"the largest document", "/docs/viewer/redoc.js", "", 600, 60},
		{"the largest document, compressed", "/docs/viewer/redoc.js", "Accept-Encoding: gzip\r\n", 600, 60},
		{"the API's description", "/openapi.json", "", 600, 60},
		{"a document that is not there", "/docs/nothing", "", 600, 60},
		{"health", "/readyz", "", 600, 60},
		// 200 MB of their own, of which at most 64 MiB are kept.
		{"pages", "/ui/login", "", 250, 150},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.Do(t, "GET", c.path, "", "Accept-Encoding", "identity")
			before := resident(t)
			all := unread(t, w, c.connections, "GET "+c.path+" HTTP/1.1\r\nHost: x\r\n"+c.header+"\r\n")
			took := (resident(t) - before) >> 20
			// NATS runs in this process too. It frees an answer when the gateway has read it.
			for end := time.Now().Add(30 * time.Second); took > c.most && time.Now().Before(end); {
				w.Do(t, "GET", c.path, "", "Accept-Encoding", "identity")
				took = (resident(t) - before) >> 20
			}
			t.Logf("%d MiB for %d connections", took, len(all))
			if took > c.most {
				t.Errorf("%d MiB, more than %d", took, c.most)
			}
			w.Do(t, "GET", c.path, "")
			for _, c := range all {
				c.Close()
			}
		})
	}
}
