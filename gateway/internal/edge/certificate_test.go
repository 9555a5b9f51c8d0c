package edge_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"herald/gateway"
	"herald/gateway/internal/edge"
	"herald/gateway/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// secured is a gateway whose port has TLS.
type secured struct {
	*testworld.World
	testkit.ServedCertificate
	address, dir string
}

func newSecured(t *testing.T) secured {
	t.Helper()
	dir := t.TempDir()
	c := testkit.NewServedCertificate(t, dir, time.Now().Add(time.Hour))
	w := testworld.StartWith(t, gateway.Config{Certificate: c.Cert, Key: c.Key})
	return secured{w, c, strings.TrimPrefix(w.URL, "https://"), dir}
}

// open opens a connection with TLS.
func (s secured) open(t *testing.T, changed func(*tls.Config)) (*tls.Conn, error) {
	t.Helper()
	settings := s.Trusting.Clone()
	if changed != nil {
		changed(settings)
	}
	c, err := tls.Dial("tcp", s.address, settings)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
		err = c.SetDeadline(time.Now().Add(20 * time.Second))
	}
	return c, err
}

func TestPortTakesEveryProtocolOverTLS(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	for protocol, version := range map[string]int{"http/1.1": 1, "h2": 2} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			transport := &http.Transport{TLSClientConfig: s.Trusting.Clone(), Protocols: &http.Protocols{}}
			transport.Protocols.SetHTTP1(version == 1)
			transport.Protocols.SetHTTP2(version == 2)
			t.Cleanup(transport.CloseIdleConnections)
			got, err := (&http.Client{Transport: transport}).Get(s.URL + "/openapi.json")
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			body, err := io.ReadAll(got.Body)
			if err != nil || got.StatusCode != 200 || got.ProtoMajor != version || len(body) < 1<<10 ||
				version == 2 && got.TLS.NegotiatedProtocol != protocol {
				t.Errorf("%v %s %s, %d bytes", err, got.Status, got.Proto, len(body))
			}
		})
	}
	t.Run("gRPC", func(t *testing.T) {
		t.Parallel()
		c, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(credentials.NewTLS(s.Trusting.Clone())))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+s.Owner())
		_, err = usersv1.NewUsersClient(c).GetUser(ctx, &usersv1.GetUserRequest{UserId: "u1"})
		if err != nil {
			t.Error(err)
		}
	})
}

// What the port refuses without TLS, it refuses with TLS too.
func TestPortRefusesOverTLS(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	old := func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }
	if _, err := s.open(t, old); err == nil {
		t.Error("TLS 1.1 is allowed")
	}
	for name, test := range map[string]struct {
		text, want string
		plain      bool
	}{
		"no HTTP": {"this is no request of HTTP\r\n\r\n", "REQUEST_MALFORMED", false},
		"two lengths": {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
			"REQUEST_MALFORMED", false},
		"without TLS": {"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", "takes HTTPS only", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c net.Conn
			var err error
			if test.plain {
				c, err = net.Dial("tcp", s.address)
			} else {
				c, err = s.open(t, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, test.text); err != nil {
				t.Fatal(err)
			}
			got, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			if body, err := io.ReadAll(got.Body); err != nil || got.StatusCode != 400 ||
				!strings.Contains(string(body), test.want) {
				t.Errorf("%v %s %s", err, got.Status, body)
			}
		})
	}
}

// A renewed certificate is served without a restart. One that is of no use is not, and is named once in the log.
func TestCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	served := func() string {
		t.Helper()
		c, err := s.open(t, func(c *tls.Config) { c.InsecureSkipVerify = true }) // the test compares it
		if err != nil {
			t.Fatal(err)
		}
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := served()
	testkit.NewServedCertificate(t, s.dir, time.Now().Add(time.Hour))
	s.Clock.Advance(2 * time.Second)
	second := served()
	if second == first {
		t.Error("the old certificate is served")
	}
	for _, wrong := range []func(){
		func() { testkit.NewServedCertificate(t, s.dir, time.Now().Add(-time.Hour)) },
		func() { s.write(t, s.Cert, "no certificate") },
		func() { s.write(t, s.Key, "no key") },
		func() { _ = os.Remove(s.Key) },
	} {
		wrong()
		for range 2 {
			s.Clock.Advance(2 * time.Second)
			if got := served(); got != second {
				t.Error("the working certificate is not served any more")
			}
		}
	}
	if n := strings.Count(s.Lines.String(), "cannot be used"); n != 3 { // a wrong certificate hides the key
		t.Errorf("%d lines", n)
	}
	testkit.NewServedCertificate(t, s.dir, time.Now().Add(time.Hour))
	s.Clock.Advance(2 * time.Second)
	if got := served(); got == second {
		t.Error("the mended certificate is not served")
	}
}

func (s secured) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCertificateOfNoUseEndsTheStart(t *testing.T) {
	t.Parallel()
	log := testkit.Ground(t).Log
	good := testkit.NewServedCertificate(t, t.TempDir(), time.Now().Add(time.Hour))
	other := testkit.NewServedCertificate(t, t.TempDir(), time.Now().Add(time.Hour))
	expired := testkit.NewServedCertificate(t, t.TempDir(), time.Now().Add(-time.Hour))
	for name, test := range map[string]struct{ cert, key, want string }{
		"no key":               {good.Cert, "", "HERALD_TLS_KEY_FILE"},
		"no certificate":       {"", good.Key, "HERALD_TLS_CERT_FILE"},
		"no file":              {good.Cert + "x", good.Key, "no such file"},
		"another key":          {good.Cert, other.Key, "private key does not match"},
		"expired":              {expired.Cert, expired.Key, "has expired at"},
		"the key in its place": {good.Key, good.Key, "HERALD_TLS_CERT_FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := edge.LoadCertificate(test.cert, test.key, time.Now, log); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
