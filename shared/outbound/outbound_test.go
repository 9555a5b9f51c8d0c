package outbound_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"herald/shared/outbound"
)

var (
	strict  = outbound.Config{Deadline: 5 * time.Second, MaxBody: 1000}
	lenient = outbound.Config{Deadline: 5 * time.Second, MaxBody: 1000, Private: true}
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1",
		"198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1",
		"2001::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1",
		"fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
	} {
		if outbound.Public(netip.MustParseAddr(address)) {
			t.Errorf("%s is taken for a public address", address)
		}
	}
	for _, address := range []string{
		"1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.169.0.1", "223.255.255.255",
		"::ffff:8.8.8.8", "2001:200::1", "2606:4700:4700::1111", "2a00:1450::1",
	} {
		if !outbound.Public(netip.MustParseAddr(address)) {
			t.Errorf("%s is not taken for a public address", address)
		}
	}
}

// No connection is made to the own machine, even if its address is written in an unusual way.
func TestPrivateAddressesAreNotDialled(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { t.Errorf("a request reached %s", r.Host) })}}
	server.Start()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "127.1.2.3", "localhost", "[::1]", "[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]", "0.0.0.0", "[::]", "169.254.169.254", "10.0.0.1", "[fe80::1%25lo]"} {
		_, err := strict.Client().Get("http://" + host + ":" + port)
		if !errors.Is(err, outbound.ErrPrivate) {
			t.Errorf("%s: %v", host, err)
		}
	}
	// The resolver decides whether these are addresses. They are refused as such, or as names that nobody has.
	for _, host := range []string{"localhost.", "2130706433", "0x7f000001", "0177.0.0.1", "127.1"} {
		if _, err := strict.Client().Get("http://" + host + ":" + port); err == nil {
			t.Errorf("%s is answered", host)
		}
	}
}

// A name is judged by the addresses that it has when the connection is made, so that nothing is gained by changing them
// after somebody has looked.
func TestNamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1"} {
		names := serveNames(t, netip.MustParseAddr(address))
		dialer := net.Dialer{Resolver: names, Control: outbound.Control}
		if _, err := dialer.DialContext(t.Context(), "tcp", "rebind.example:80"); !errors.Is(err, outbound.ErrPrivate) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A redirect is not followed, also not to where a connection may be made.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			t.Errorf("asked for %s", r.URL)
		}
		http.Redirect(w, r, "/further", http.StatusTemporaryRedirect)
	})
	answer, err := lenient.Client().Get(server + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("answered %s", answer.Status)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		size  int
		fails bool
	}{{"less", 999, false}, {"as much as allowed", 1000, false}, {"more", 1001, true}, {"much more", 1 << 20, true}} {
		for _, coding := range []string{"identity", "gzip"} {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				text := strings.Repeat("a", c.size)
				if coding == "identity" {
					_, _ = io.WriteString(w, text)
					return
				}
				w.Header().Set("Content-Encoding", coding)
				z := gzip.NewWriter(w)
				_, _ = io.WriteString(z, text)
				_ = z.Close()
			})
			answer, err := lenient.Client().Get(server)
			if err != nil {
				t.Fatal(err)
			}
			read, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if len(read) != min(c.size, 1000) || errors.Is(err, outbound.ErrTooLarge) != c.fails {
				t.Errorf("%s, %s: %d bytes, %v", c.name, coding, len(read), err)
			}
		}
	}
}

// The client gives up an answer whose headers or body do not end.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{false, true} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if begun {
				_, _ = io.WriteString(w, "begun")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		})
		c := lenient
		c.Deadline = 50 * time.Millisecond
		answer, err := c.Client().Get(server)
		if err == nil {
			_, err = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("begun: %t: %v", begun, err)
		}
	}
}

// A host that does not answer has at most the allowed number of connections. Further requests wait until the deadline.
func TestConnectionsPerHost(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 2), make(chan struct{})
	server := serve(t, func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	})
	c := lenient
	c.MaxConnsPerHost = 1
	client := c.Client()
	first := make(chan error, 1)
	go func() {
		answer, err := client.Get(server)
		if err == nil {
			_ = answer.Body.Close()
		}
		first <- err
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := client.Do(r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second connection: %v, %v", answer, err)
	}
	close(release)
	if err := <-first; err != nil || len(asked) != 0 {
		t.Errorf("%v, %d more are asked", err, len(asked))
	}
}

// Headers without end are given up.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("a", 64<<10))
	})
	answer, err := lenient.Client().Get(server)
	if err == nil {
		_ = answer.Body.Close()
		t.Error("read")
	}
}

func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}
