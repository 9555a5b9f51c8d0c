package oauth_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// debian reports whether the machine is Debian or Ubuntu, whose packages have the client. On other systems the tests of
// these clients have nothing to test. The files must be there: deploy/setup.sh installs them.
func debian(t *testing.T, files ...string) bool {
	t.Helper()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Log("the client is a package of Debian only")
		return false
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%v; type: deploy/setup.sh clients", err)
		}
	}
	return true
}

// runFlask runs a program with Debian's Python.
func (f framework) runFlask() {
	f.TB.Helper()
	c := exec.Command("/usr/bin/python3", "-m", "flask", "--app", f.file(), "run", "--port", f.port())
	c.Dir = f.TB.TempDir()
	c.Env = append(c.Environ(), f.environment()...)
	c.Env = append(c.Env, "OAUTHLIB_INSECURE_TRANSPORT=1") // it asks for https, also on one machine
	f.runProgram(c, "Running on")
}

func (f framework) file() string {
	return filepath.Join(whole.Root(f.TB), "deploy/herald/test/oauth/clients/debian", f.program)
}

// server are the settings of Apache that a system has before a site is configured.
const server = `
ServerRoot %[1]s
PidFile httpd.pid
DefaultRuntimeDir %[1]s
ServerName localhost
Listen %[2]s
ErrorLog /dev/stderr
LogLevel info
User www-data
Group www-data
LoadModule mpm_event_module %[3]s/mod_mpm_event.so
LoadModule authn_core_module %[3]s/mod_authn_core.so
LoadModule authz_core_module %[3]s/mod_authz_core.so
LoadModule authz_user_module %[3]s/mod_authz_user.so
LoadModule include_module %[3]s/mod_include.so
LoadModule mime_module %[3]s/mod_mime.so
LoadModule dir_module %[3]s/mod_dir.so
LoadModule %[4]s_module %[3]s/mod_%[4]s.so
TypesConfig /dev/null
AddType text/html .html
DirectoryIndex index.html
DocumentRoot %[1]s/pages
<Directory %[1]s/pages>
	Options +Includes
	SetOutputFilter INCLUDES
	Require all granted
</Directory>
Include %[5]s
`

const apacheModules = "/usr/lib/apache2/modules/"

// runApache runs Apache with a module and pages that show its variables.
func (f framework) runApache(module, home, staff string) {
	f.TB.Helper()
	folder := f.TB.TempDir()
	listen := strings.Replace(strings.TrimPrefix(f.origin, "http://"), "localhost", "127.0.0.1", 1)
	for file, text := range map[string]string{
		"httpd.conf":       fmt.Sprintf(server, folder, listen, filepath.Clean(apacheModules), module, f.file()),
		"pages/index.html": home, "pages/staff/index.html": staff,
	} {
		path := filepath.Join(folder, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	readable(f.TB, folder)
	c := exec.Command("/usr/sbin/apache2", "-f", filepath.Join(folder, "httpd.conf"), "-DFOREGROUND")
	c.Env = append(os.Environ(), f.environment()...)
	f.runProgram(c, "resuming normal operations")
}

// readable lets the user of Apache's workers read a folder of a test.
func readable(t testing.TB, folder string) {
	t.Helper()
	for ; folder != "/" && folder != filepath.Clean(os.TempDir()); folder = filepath.Dir(folder) {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// Programs in Python log people in.
func TestPythonLogsPeopleIn(t *testing.T) {
	t.Parallel()
	if !debian(t, "/usr/lib/python3/dist-packages/authlib", "/usr/lib/python3/dist-packages/requests_oauthlib",
		"/usr/lib/python3/dist-packages/flask") {
		return
	}
	w := start(t)
	w.ada()
	for _, program := range []string{"authlib_flask.py", "requests_oauthlib_flask.py"} {
		t.Run(program, func(t *testing.T) {
			w := w.of(t)
			f, c := w.frameworks(program), open(t)
			f.runFlask()
			f.greets(c, c.visit(f.origin))
		})
	}
}

// Apache logs people in for the pages behind it. It refreshes tokens for each of the requests that a browser sends at
// the same time, and the person stays logged in.
func TestApacheLogsPeopleIn(t *testing.T) {
	t.Parallel()
	if !debian(t, "/usr/sbin/apache2", apacheModules+"mod_auth_openidc.so") {
		return
	}
	w := start(t)
	w.ada()
	f, c := w.frameworks("mod_auth_openidc.conf"), chromium{t, outside.OpenBrowser(t, "accept-lang=en")}
	f.runApache("auth_openidc", `<h1>Welcome <!--#echo var="OIDC_CLAIM_name" --></h1>
<p><!--#echo var="OIDC_CLAIM_email" --></p><i><!--#echo var="OIDC_access_token" --></i>`,
		"<h1>For readers</h1>")
	f.greets(c, c.visit(f.origin))
	c.leads("the start", c.visit(f.origin), "Welcome Ada Lovelace")
	token := c.read("i")
	for round := range 3 {
		c.evaluate(`Promise.all([...Array(8)].map(() => fetch("/").then(r => r.text()))).then(all => {
			document.querySelector("h1").textContent = "` + strconv.Itoa(round) + `: " +
				all.filter(page => page.includes("Welcome Ada Lovelace")).length })`)
		c.awaits(strconv.Itoa(round) + ": 8")
		c.leads("a later visit", c.visit(f.origin), "Welcome Ada Lovelace")
		renewed := c.read("i")
		if token == renewed {
			t.Error("the access token is the same")
		}
		token = renewed
	}
}

// Apache lets requests in whose token is for the project.
func TestApacheChecksTokens(t *testing.T) {
	t.Parallel()
	if !debian(t, "/usr/sbin/apache2", apacheModules+"mod_oauth2.so") {
		return
	}
	w := start(t)
	w.ada()
	f := w.frameworks("mod_oauth2.conf")
	f.runApache("oauth2", `{"sub":"<!--#echo var="TOKEN_sub" -->"}`, `{"groups":["reader"]}`)
	f.checksTokens()
}
