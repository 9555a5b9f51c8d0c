package start_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit"
)

// named is the host of the certificate. Pebble finds it on this machine.
const named = "id.herald.test"

// authority is Pebble, the ACME server for tests.
type authority struct {
	testkit.ServedCertificate
	address, management, dns string
	config                   string
	// said is the output of the last Pebble.
	said *testkit.Lines
}

// newAuthority prepares one that looks for the host at the port of an address. Its certificates are valid for some
// seconds.
func newAuthority(t *testing.T, proven string, seconds int) *authority {
	t.Helper()
	dir := whole.Dir(t)
	a := &authority{
		ServedCertificate: testkit.NewServedCertificate(t, dir, time.Now().Add(time.Hour)),
		config:            dir + "/pebble.json",
		address:           whole.FreeAddress(t), management: whole.FreeAddress(t), dns: whole.FreeAddress(t),
	}
	listen, err := net.ResolveTCPAddr("tcp", proven)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": a.address, "managementListenAddress": a.management, "certificate": a.Cert, "privateKey": a.Key,
		"tlsPort": listen.Port, "certificateValidityPeriod": seconds,
	}})
	if err == nil {
		err = os.WriteFile(a.config, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	runBeside(t, nil, "pebble-challtestsrv", "-dns01", a.dns, "-defaultIPv6", "", "-http01", "", "-https01", "",
		"-tlsalpn01", "", "-management", whole.FreeAddress(t))
	names := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, a.dns)
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; { // a name that is not found yet would fail the proof
		if _, err = names.LookupHost(ctx, named+"."); err == nil {
			return a
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s is not found: %v", named, err)
		}
	}
}

// start runs Pebble, and returns how to end it.
func (a *authority) start(t *testing.T) (end func()) {
	t.Helper()
	a.said = &testkit.Lines{}
	end = runBeside(t, a.said, "pebble", "-config", a.config, "-dnsserver", a.dns)
	a.said.Wait(t, "ACME directory available")
	return end
}

// runBeside runs a program of the test.
func runBeside(t *testing.T, out io.Writer, name string, args ...string) (end func()) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = c.Process.Kill() // an error says that it has ended
		_ = c.Wait()
	}
	t.Cleanup(end)
	return end
}

// orders returns how many certificates were asked for.
func (a *authority) orders() int { return strings.Count(a.said.String(), "POST /order-plz ->") }

// trusting returns the settings of a client that trusts only what Pebble has issued.
func (a *authority) trusting(t *testing.T) *tls.Config {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: a.Trusting.Clone()}}
	w, err := c.Get("https://" + a.management + "/roots/0")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	root, err := io.ReadAll(w.Body)
	known := x509.NewCertPool()
	if err != nil || !known.AppendCertsFromPEM(root) {
		t.Fatalf("%v %s", err, root)
	}
	return &tls.Config{RootCAs: known, ServerName: named}
}

// settings are those of a gateway with a certificate of the authority.
func (a *authority) settings(listen, folder string) []string {
	return []string{"HERALD_LISTEN=" + listen, "HERALD_PUBLIC_URL=https://" + named, "SSL_CERT_FILE=" + a.Cert,
		"HERALD_ACME_DIRECTORY=https://" + a.address + "/dir", "HERALD_ACME_EMAIL=admin@herald.test",
		"HERALD_ACME_CACHE_DIR=" + folder}
}

// served opens a connection and returns the certificate's number.
func served(address string, trusting *tls.Config) (string, error) {
	c, err := tls.Dial("tcp", address, trusting)
	if err != nil {
		return "", err
	}
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String(), c.Close()
}

// The port gets its certificate as soon as the ACME server can be reached. It asks for one only, for its own name, and
// keeps it for its next start and for other gateways.
func TestPortGetsACertificate(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Log("Pebble is a package of Debian only")
		return
	}
	p := whole.NewProcesses(t, "smtp://127.0.0.1:1")
	first, second, folder := whole.FreeAddress(t), whole.FreeAddress(t), whole.Dir(t)+"/acme"
	a := newAuthority(t, first, 3600)
	p.Launch("gateway", a.settings(first, folder)...)
	log := p.Logs()["gateway"]
	if line := log.Wait(t, "the port has no certificate"); !strings.Contains(line, a.address) {
		t.Errorf("without the server the log says %s", line)
	}
	if causes := strings.Join(p.Unready(), " "); !strings.Contains(causes, "certificate") ||
		!strings.Contains(causes, "connection refused") {
		t.Errorf("without the server the gateway is not ready because of %q", causes)
	}
	end := a.start(t)
	log.Wait(t, "the port has a certificate")
	trusting := a.trusting(t)
	number, err := served(first, trusting)
	if err != nil {
		t.Fatal(err)
	}
	if causes := p.Unready(); causes != nil {
		t.Errorf("with a certificate it is not ready: %s", causes)
	}
	answersOver(t, first, trusting)
	onlyForOwner(t, folder)
	for _, other := range []string{"other.herald.test", "a." + named, ""} {
		if _, err := served(first, &tls.Config{ServerName: other, InsecureSkipVerify: true}); err == nil {
			t.Errorf("the port has a certificate for the name %q", other)
		}
	}
	p.Start("gateway", a.settings(second, folder)...)
	if got, err := served(second, trusting); err != nil || got != number {
		t.Errorf("the second gateway has the certificate %s, want %s: %v", got, number, err)
	}
	if n := a.orders(); n != 1 {
		t.Errorf("%d certificates were asked for", n)
	}
	end()
	p.Kill("gateway")
	p.Start("gateway", a.settings(second, folder)...)
	if got, err := served(second, trusting); err != nil || got != number {
		t.Errorf("without the server it starts with the certificate %s, want %s: %v", got, number, err)
	}
	// An authority that does not find the port issues nothing.
	elsewhere := newAuthority(t, whole.FreeAddress(t), 3600)
	elsewhere.start(t)
	p.Launch("gateway", elsewhere.settings(whole.FreeAddress(t), folder)...)
	refused := p.Logs()["gateway"]
	refused.Wait(t, "does port 443 of "+named+" lead to this port")
	// It asks again after a minute, but takes one that another gateway has got meanwhile.
	got, err := os.ReadFile(filepath.Join(folder, a.address, named))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, elsewhere.address, named), got, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused.Wait(t, "the port has a certificate")
}

// Gateways that start at the same time ask for one certificate together. It is renewed before it ends.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Log("Pebble is a package of Debian only")
		return
	}
	p := whole.NewProcesses(t, "smtp://127.0.0.1:1")
	folder, addresses := whole.Dir(t)+"/acme", []string{whole.FreeAddress(t), whole.FreeAddress(t)}
	a := newAuthority(t, addresses[0], 45)
	a.start(t)
	var logs []*testkit.Lines
	for _, listen := range addresses {
		p.Launch("gateway", a.settings(listen, folder)...)
		logs = append(logs, p.Logs()["gateway"])
		untilOpen(t, listen) // the authority looks at the first gateway, whoever has asked
	}
	for _, log := range logs {
		log.Wait(t, "the port has a certificate")
	}
	if n := a.orders(); n != 1 {
		t.Errorf("two gateways have asked for %d certificates", n)
	}
	trusting := a.trusting(t)
	before, err := served(addresses[0], trusting)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := served(addresses[1], trusting); err != nil || second != before {
		t.Errorf("the second gateway has the certificate %s, want %s: %v", second, before, err)
	}
	// Only the first gateway is where the authority looks. With a certificate of seconds both renew at once.
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		if number, err := served(addresses[0], trusting); err != nil {
			t.Fatal(err)
		} else if number != before {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the old certificate is served")
		}
	}
}

// If the authority is away when the certificate should be renewed, the log says so before it ends.
func TestLateRenewalIsLogged(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Log("Pebble is a package of Debian only")
		return
	}
	p := whole.NewProcesses(t, "smtp://127.0.0.1:1")
	listen := whole.FreeAddress(t)
	a := newAuthority(t, listen, 12)
	end := a.start(t)
	p.Launch("gateway", a.settings(listen, whole.Dir(t)+"/acme")...)
	log := p.Logs()["gateway"]
	log.Wait(t, "the port has a certificate")
	end()
	if line := log.Wait(t, "is not renewed"); !strings.Contains(line, named) {
		t.Errorf("the log does not name the host: %s", line)
	}
}

// untilOpen waits until a port takes connections.
func untilOpen(t *testing.T, address string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s takes no connections", address)
		}
	}
}

// answersOver sends a request over HTTP/2.
func answersOver(t *testing.T, address string, trusting *tls.Config) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{
		TLSClientConfig: trusting.Clone(), ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
	defer c.CloseIdleConnections()
	w, err := c.Get("https://" + named + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusOK || w.ProtoMajor != 2 {
		t.Errorf("%s %s", w.Proto, w.Status)
	}
}

// onlyForOwner checks the modes of the keys.
func onlyForOwner(t *testing.T, folder string) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("%s has mode %s", file, info.Mode())
		}
		if !entry.IsDir() {
			files = append(files, entry.Name())
		}
		return nil
	})
	if all := strings.Join(files, " "); err != nil || all != "acme_account+key "+named+" lock" {
		t.Errorf("the folder has %s, %v", all, err)
	}
}
