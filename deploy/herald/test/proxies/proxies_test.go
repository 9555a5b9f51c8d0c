// Package proxies_test runs the proxies of deploy/proxies in front of Herald. The files are those that operators read,
// with other addresses and another certificate.
package proxies_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"herald/deploy/herald/test/whole"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// upstream is Herald's address in the files.
const upstream = "127.0.0.1:8080"

// proxy is a program with its file in deploy/proxies.
type proxy struct {
	program, file string
	// replace are the texts of the file that differ in the test, and what is in their place.
	replace func(s served) []string
	// frame is a configuration with %s in the place of the file.
	frame string
	args  func(config string) []string
}

// served is where a proxy listens, and its certificate.
type served struct {
	testkit.ServedCertificate
	address, dir string
}

var proxies = []proxy{
	{
		program: "caddy", file: "Caddyfile",
		replace: func(s served) []string {
			return []string{"id.example.com {", fmt.Sprintf("%s {\n\ttls %s %s\n\tbind 127.0.0.1",
				public(s.address), s.Cert, s.Key)}
		},
		frame: "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n%s",
		args:  func(config string) []string { return []string{"run", "--adapter", "caddyfile", "--config", config} },
	},
	{
		program: "nginx", file: "nginx.conf",
		replace: func(s served) []string {
			return []string{"listen 443 ssl", "listen " + s.address + " ssl", "/etc/ssl/herald/tls.crt", s.Cert,
				"/etc/ssl/herald/tls.key", s.Key, "server_name id.example.com", "server_name localhost"}
		},
		frame: "daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" +
			"client_body_temp_path body;\nproxy_temp_path proxy;\nfastcgi_temp_path fastcgi;\n" +
			"uwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n%s}\n",
		args: func(config string) []string {
			return []string{"-p", filepath.Dir(config), "-e", "stderr", "-c", config}
		},
	},
	{
		program: "haproxy", file: "haproxy.cfg",
		replace: func(s served) []string {
			return []string{"bind :443", "bind " + s.address, "/etc/haproxy/tls.pem", s.dir + "/tls.pem"}
		},
		frame: "%s",
		args:  func(config string) []string { return []string{"-db", "-f", config} },
	},
}

// public returns the URL of a proxy that listens at an address.
func public(address string) string {
	return "https://" + strings.Replace(address, "127.0.0.1", "localhost", 1)
}

// instance is Herald behind a proxy.
type instance struct {
	*whole.Instance
	// front is the proxy's URL, and trusting the TLS of clients.
	front    string
	trusting *tls.Config
}

func TestProxies(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Log("the proxies are packages of Debian only")
		return
	}
	for _, p := range proxies {
		t.Run(p.program, func(t *testing.T) {
			t.Parallel()
			t.Run("forged address", p.forged)
			i := p.start(t)
			for name, test := range map[string]func(instance, *testing.T){
				"REST": instance.rest, "gRPC": instance.grpc, "gRPC-Web and Connect": instance.web,
				"a streamed import": instance.upload, "address and page": instance.page,
			} {
				t.Run(name, func(t *testing.T) { test(i, t) })
			}
		})
	}
}

// The guide shows the files.
func TestGuideShowsTheFiles(t *testing.T) {
	t.Parallel()
	guide := whole.File(t, "docs/proxies.md")
	files, err := filepath.Glob(whole.Root(t) + "/deploy/proxies/*")
	if err != nil || len(files) < len(proxies) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if text := whole.File(t, "deploy/proxies/"+filepath.Base(file)); !strings.Contains(guide, "\n"+text+"```\n") {
			t.Errorf("docs/proxies.md does not show %s", file)
		}
	}
}

// start runs Herald and the proxy.
func (p proxy) start(t *testing.T) instance {
	t.Helper()
	listen := whole.FreeAddress(t)
	front := public(listen)
	i := whole.Start(t, "HERALD_PUBLIC_URL="+front, "HERALD_TRUSTED_PROXIES=127.0.0.1")
	to := strings.Replace(strings.TrimPrefix(i.URL, "http://"), "localhost", "127.0.0.1", 1)
	return instance{i, front, p.run(t, listen, to)}
}

// forged checks that no path passes on an address that a client invents.
func (p proxy) forged(t *testing.T) {
	seen := make(chan string, 1)
	behind := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- r.URL.Path + " " + strings.Join(r.Header.Values("X-Forwarded-For"), ", ")
	}))
	behind.Config.Protocols = new(http.Protocols)
	behind.Config.Protocols.SetHTTP1(true)
	behind.Config.Protocols.SetUnencryptedHTTP2(true)
	behind.Start()
	defer behind.Close()
	listen := whole.FreeAddress(t)
	i := instance{front: public(listen)}
	i.trusting = p.run(t, listen, behind.Listener.Addr().String())
	for _, path := range []string{
		"/", "/admin/v1/import", "/herald.users.v1.Users/GetMyUser", "/grpc.health.v1.Health/Check",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.front+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header["X-Forwarded-For"] = []string{"203.0.113.9", "203.0.113.10"}
		answer, err := i.client(t, "127.0.0.2").Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := <-seen; got != path+" 127.0.0.2" {
			t.Errorf("passed on is %q", got)
		}
	}
}

// run runs the proxy, and returns the TLS of clients that trust it.
func (p proxy) run(t *testing.T, listen, to string) *tls.Config {
	t.Helper()
	binary, err := exec.LookPath(p.program)
	if err != nil {
		binary = "/usr/sbin/" + p.program
	}
	s := served{address: listen, dir: whole.Dir(t)}
	s.ServedCertificate = testkit.NewServedCertificate(t, s.dir, time.Now().Add(time.Hour))
	text := whole.File(t, "deploy/proxies/"+p.file)
	both := new(bytes.Buffer)
	for _, file := range []string{s.Cert, s.Key} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		both.Write(part)
	}
	pairs := append(p.replace(s), upstream, to)
	for n := 0; n < len(pairs); n += 2 {
		if !strings.Contains(text, pairs[n]) {
			t.Fatalf("%s does not contain %q", p.file, pairs[n])
		}
		text = strings.ReplaceAll(text, pairs[n], pairs[n+1])
	}
	config := filepath.Join(s.dir, p.file)
	for file, content := range map[string][]byte{
		config: fmt.Appendf(nil, p.frame, text), s.dir + "/tls.pem": both.Bytes(),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logs := &testkit.Lines{}
	c := exec.Command(binary, p.args(config)...)
	c.Dir, c.Stdout, c.Stderr = s.dir, logs, logs
	c.Env = append(os.Environ(), "HOME="+s.dir, "XDG_DATA_HOME="+s.dir, "XDG_CONFIG_HOME="+s.dir)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatalf("%v; type: deploy/setup.sh clients", err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s: %s", p.program, logs.String())
		}
	})
	reachable(t, s.address, logs)
	return s.Trusting
}

// reachable waits until a program listens at an address.
func reachable(t *testing.T, address string, logs fmt.Stringer) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		<-tick.C
	}
	t.Fatalf("the proxy does not listen: %s", logs)
}

// client returns a client at an address of this machine.
func (i instance) client(t *testing.T, from string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{TLSClientConfig: i.trusting.Clone(), ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp4", address)
		}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport, Timeout: time.Minute}
}

// do sends a request with the administrator's token, and returns the status and the body.
func (i instance) do(t *testing.T, c *http.Client, method, path string, body io.Reader) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, i.front+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+i.Token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.Do(r)
	if err != nil { // also in a goroutine, which must not end the test
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

func (i instance) rest(t *testing.T) {
	c := i.client(t, "127.0.0.1")
	if status, text := i.do(t, c, "GET", "/auth/v1/users/me", nil); status != 200 ||
		!strings.Contains(text, `"userName":"admin"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := i.do(t, c, "GET", "/.well-known/openid-configuration", nil); status != 200 ||
		!strings.Contains(text, `"issuer":"`+i.front+`"`) {
		t.Errorf("%d %s", status, text)
	}
}

// grpc makes many calls at once on one connection.
func (i instance) grpc(t *testing.T) {
	conn, err := grpc.NewClient(strings.TrimPrefix(i.front, "https://"),
		grpc.WithTransportCredentials(credentials.NewTLS(i.trusting.Clone())))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+i.Token)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			found, err := usersv1.NewUsersClient(conn).GetMyUser(ctx, &usersv1.GetMyUserRequest{})
			if err != nil || found.GetUser().GetUserName() != "admin" {
				t.Errorf("%v %v", found, err)
			}
		})
	}
	all.Wait()
	_, err = usersv1.NewUsersClient(conn).GetMyUser(t.Context(), &usersv1.GetMyUserRequest{})
	if err == nil || !strings.Contains(err.Error(), "Unauthenticated") {
		t.Errorf("without a token: %v", err)
	}
}

func (i instance) web(t *testing.T) {
	for name, options := range map[string][]connect.ClientOption{
		"gRPC-Web": {connect.WithGRPCWeb()}, "Connect": nil, "Connect with JSON": {connect.WithProtoJSON()},
	} {
		c := connect.NewClient[usersv1.GetMyUserRequest, usersv1.GetMyUserResponse](i.client(t, "127.0.0.1"),
			i.front+"/herald.users.v1.Users/GetMyUser", options...)
		ask := connect.NewRequest(&usersv1.GetMyUserRequest{})
		ask.Header().Set("Authorization", "Bearer "+i.Token)
		if found, err := c.CallUnary(t.Context(), ask); err != nil || found.Msg.GetUser().GetUserName() != "admin" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// upload sends the second half of an import only when the first half was imported. A proxy that collects the whole body
// first would wait for ever.
func (i instance) upload(t *testing.T) {
	from, to := io.Pipe()
	ended := make(chan string, 1)
	go func() {
		status, text := i.do(t, i.client(t, "127.0.0.1"), "POST", "/admin/v1/import", from)
		ended <- fmt.Sprint(status, " ", text)
	}()
	half := func(first, last int) {
		t.Helper()
		for n := first; n < last; n++ {
			comma := ","
			if n == 0 {
				comma = ""
			}
			id := fmt.Sprintf("up%05d", n)
			_, err := fmt.Fprintf(to, `%s{"userId":%q,"user":%s}`, comma, id, whole.Active(id))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	fmt.Fprint(to, `{"dataOrgs":{"orgs":[{"orgId":"up","org":{"name":"Up"},"humanUsers":[`)
	half(0, 2000)
	i.Org = "up"
	defer func() { i.Org = "" }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for begin, there := time.Now(), false; !there; {
		status, _ := i.Call("GET", "/management/v1/users/up00100", "")
		if there = status == http.StatusOK; time.Since(begin) > 30*time.Second {
			to.CloseWithError(io.ErrUnexpectedEOF)
			t.Fatalf("the first half is not imported while the second one is not sent: %s", <-ended)
		}
		<-tick.C
	}
	half(2000, 4000) // both are more than a megabyte, the default of nginx
	fmt.Fprint(to, `]}]}}`)
	to.Close()
	if got := <-ended; !strings.HasPrefix(got, "200 ") {
		t.Errorf("the import ends with %s", got)
	}
	i.State("up03999")
}

// page logs in at another address of this machine, with a forged one in a header.
func (i instance) page(t *testing.T) {
	c := i.client(t, "127.0.0.2")
	send := func(path string, form url.Values) string {
		t.Helper()
		page := whole.Visit(t, c, i.front+path, form, "X-Forwarded-For", "203.0.113.9")
		for _, cookie := range page.Cookies {
			if !cookie.Secure {
				t.Errorf("the cookie %s is not for HTTPS only", cookie.Name)
			}
		}
		return page.Text
	}
	name, password := i.Administrator()
	send("/ui/login/", nil)
	send("/ui/login/password", url.Values{"name": {name}, "current": {password}})
	next := url.Values{"password": {"Tr0ub4dor3 and more"}, "confirmation": {"Tr0ub4dor3 and more"}}
	if got := send("/ui/login/next", next); !strings.Contains(got, "/ui/login/logout") {
		t.Fatalf("the login leads to %s", got)
	}
	_, sessions := i.do(t, c, "POST", "/auth/v1/users/me/sessions/_search", strings.NewReader("{}"))
	if !strings.Contains(sessions, `"clientAddress":"127.0.0.2"`) {
		t.Errorf("the sessions are %s", sessions)
	}
}
