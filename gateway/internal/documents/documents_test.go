package documents_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"herald/docs"
	"herald/gateway/internal/testworld"
	"herald/shared/contract"
)

// link finds the addresses that a page loads or links to.
var link = regexp.MustCompile(`(?:href|src|spec-url)="([^"]*)"`)

// All links of the reference have a target on the same host, without a token.
func TestReference(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	seen := map[string]bool{}
	for next := []string{"/docs", "/openapi.json", "/asyncapi.json"}; len(next) > 0; next = next[1:] {
		path, _, _ := strings.Cut(next[0], "#")
		if path == "" || seen[path] {
			continue
		}
		seen[path] = true
		got := w.Do(t, "GET", path, "").OK(t)
		h := got.Header
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; ") ||
			h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Cache-Control") != "no-cache" || h.Get("X-Request-Id") == "" || h.Get("Etag") == "" {
			t.Errorf("%s: %v", path, h)
		}
		if !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
			continue
		}
		for _, l := range link.FindAllStringSubmatch(string(got.Text), -1) {
			if !strings.HasPrefix(l[1], "data:image/") && !strings.HasPrefix(l[1], "#") &&
				(!strings.HasPrefix(l[1], "/") || strings.HasPrefix(l[1], "//")) {
				t.Errorf("%s leads to %s", path, l[1])
			} else if l[1][0] == '/' {
				next = append(next, l[1])
			}
		}
		if strings.Contains(string(got.Text), "<script>") || strings.Contains(string(got.Text), "style=") {
			t.Errorf("%s holds scripts or styles", path)
		}
	}
	for _, path := range []string{"/docs/api", "/docs/events", "/docs/errors", "/docs/settings", "/docs/protos.zip",
		"/docs/viewer/redoc.js", "/docs/protos/herald/users/v1/users.proto", "/docs/login-by-program",
		"/docs/moving-in", "/docs/threats", "/docs/faults", "/docs/performance", "/docs/concepts", "/docs/people",
		"/docs/machines", "/docs/applications", "/docs/providers", "/docs/command-line", "/docs/subscribing",
		"/docs/containers", "/docs/operating", "/docs/security"} {
		if !seen[path] {
			t.Errorf("nothing leads to %s", path)
		}
	}
	for path, kind := range map[string]string{
		"/docs/": "text/html; charset=utf-8", "/docs/protos/herald/v1/options.proto": "text/plain; charset=utf-8",
		"/docs/viewer/LICENSE": "text/plain; charset=utf-8", "/openapi.json": "application/json",
		"/docs/login-by-program": "text/html; charset=utf-8",
		"/docs/style.css":        "text/css; charset=utf-8",
	} {
		if got := w.Do(t, "GET", path, "").OK(t); got.Header.Get("Content-Type") != kind {
			t.Errorf("%s is %s", path, got.Header.Get("Content-Type"))
		}
	}
}

func TestReferenceIsForReading(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		for _, path := range []string{"/openapi.json", "/docs", "/docs/api"} {
			got := w.Do(t, method, path, "{}")
			if e := got.Refused(t, 405, "VERB_NOT_ALLOWED"); e.Code != 12 ||
				got.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
				t.Errorf("%s %s: %+v %v", method, path, e, got.Header)
			}
		}
	}
	for _, path := range []string{"/docs/nothing", "/docs/api/", "/docs/protos/", "/docs/protos/herald",
		"/docs/site/index.html", "/docs/viewer/redoc.js.gz"} {
		got := w.Do(t, "GET", path, "")
		if got.StatusCode != 404 || got.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(string(got.Text), "Not Found") {
			t.Errorf("%s: %d %v %s", path, got.StatusCode, got.Header, got.Text)
		}
	}
	for _, path := range []string{"/docs/../openapi.json", "/docs//api", "/docs/%2e%2e/openapi.json"} {
		if got := w.Raw(t, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); got.StatusCode != 404 {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
	w.Do(t, "GET", "/docsx", "").Refused(t, 404, "NOT_FOUND")
	get, head := w.Do(t, "GET", "/openapi.json", "", "Accept-Encoding", "identity").OK(t),
		w.Do(t, "HEAD", "/openapi.json", "", "Accept-Encoding", "identity").OK(t)
	if head.ContentLength != int64(len(get.Text)) || len(head.Text) != 0 ||
		head.Header.Get("Etag") != get.Header.Get("Etag") {
		t.Errorf("HEAD: %v", head.Header)
	}
	if got := w.Do(t, "GET", "/openapi.json", "", "Origin", "https://app.example"); got.Header.Get(
		"Access-Control-Allow-Origin") != "*" {
		t.Error("a script could not read the description")
	}
	metrics := httptest.NewRecorder()
	promhttp.HandlerFor(w.Metrics, promhttp.HandlerOpts{}).ServeHTTP(metrics, httptest.NewRequest("GET", "/", nil))
	for _, line := range []string{
		`route="/openapi.json",status="200"`, `route="/docs/",status="404"`, `route="/docs/",status="405"`,
	} {
		if !strings.Contains(metrics.Body.String(), line) {
			t.Errorf("no metric has %s", line)
		}
	}
	if strings.Contains(metrics.Body.String(), "/docs/nothing") {
		t.Error("what people type is in the metrics")
	}
}

// A reload has no body. Clients that accept gzip get it, others get the same bytes uncompressed.
func TestReferenceIsCached(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, path := range []string{"/docs", "/openapi.json", "/docs/viewer/redoc.js", "/docs/protos.zip"} {
		plain := w.Do(t, "GET", path, "", "Accept-Encoding", "br, gzip;q=0").OK(t)
		tag := plain.Header.Get("Etag")
		if plain.Header.Get("Content-Encoding") != "" || plain.ContentLength != int64(len(plain.Text)) {
			t.Errorf("%s: %v", path, plain.Header)
		}
		for _, known := range []string{tag, `"other", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
			got := w.Do(t, "GET", path, "", "If-None-Match", known)
			if got.StatusCode != 304 || len(got.Text) != 0 || got.Header.Get("Etag") != tag {
				t.Errorf("%s with %s: %d", path, known, got.StatusCode)
			}
		}
		w.Do(t, "GET", path, "", "If-None-Match", `"other"`).OK(t)
		if strings.HasSuffix(path, ".zip") {
			continue
		}
		zipped := w.Do(t, "GET", path, "", "Accept-Encoding", "br, GZIP;q=0.5").OK(t)
		r, err := gzip.NewReader(bytes.NewReader(zipped.Text))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if data, err := io.ReadAll(r); err != nil || !bytes.Equal(data, plain.Text) || len(zipped.Text) >= len(data) ||
			zipped.Header.Get("Vary") != "Accept-Encoding" || zipped.Header.Get("Etag") != tag {
			t.Errorf("%s: %v %v", path, err, zipped.Header)
		}
	}
}

// The archive has every public contract and its imports, as they are now.
func TestProtosAreWhole(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	data := w.Do(t, "GET", "/docs/protos.zip", "").OK(t).Text
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
		if now, err := os.ReadFile("../../../shared/proto/" + f.Name); err != nil || string(now) != string(text) {
			t.Errorf("%s has changed (%v): run `make generate`", f.Name, err)
		}
		if alone := w.Do(t, "GET", "/docs/protos/"+f.Name, "").OK(t); string(alone.Text) != string(text) {
			t.Errorf("%s differs in the archive", f.Name)
		}
	}
	for _, name := range []string{"herald/users/v1/internal.proto", "herald/projects/v1/internal.proto"} {
		if got := w.Do(t, "GET", "/docs/protos/"+name, ""); files[name] != "" || got.StatusCode != 404 {
			t.Errorf("%s is shown: %d", name, got.StatusCode)
		}
	}
	imports := regexp.MustCompile(`(?m)^import "([^"]+)";`)
	for name, text := range files {
		for _, i := range imports.FindAllStringSubmatch(text, -1) {
			if _, there := files[i[1]]; !there && !strings.HasPrefix(i[1], "google/protobuf/") {
				t.Errorf("%s imports %s, which is not there", name, i[1])
			}
		}
	}
	if !strings.Contains(files["herald/users/v1/imports.proto"], "rpc ImportHumanUser(") ||
		files["google/LICENSE"] == "" {
		t.Error("something is missing")
	}
}

// The gateway serves exactly the methods of the description.
func TestDescriptionIsWhatIsServed(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	var api struct {
		Paths map[string]map[string]struct{ Security, Tags []any }
	}
	if err := json.Unmarshal(w.Do(t, "GET", "/openapi.json", "").OK(t).Text, &api); err != nil {
		t.Fatal(err)
	}
	described := 0
	for path, verbs := range api.Paths {
		path = regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(path, "x")
		for verb, o := range verbs {
			if o.Tags[0] == "OAuth" {
				continue // the service auth serves it
			}
			described++
			if got := w.Do(t, strings.ToUpper(verb), path, ""); len(o.Security) > 0 &&
				got.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s %s: %d %s", verb, path, got.StatusCode, got.Text)
			}
		}
	}
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	served := 0
	for _, m := range methods {
		served += len(m.Rules)
	}
	if served != described {
		t.Errorf("%d operations are served, %d described: run `make generate`", served, described)
	}
}

func TestEmbeddedDocumentsAreTheReadableOnes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openapi.json", "asyncapi.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readable, err := os.ReadFile("../../../docs/" + name)
			if err != nil {
				t.Fatal(err)
			}
			packed, err := docs.Files.Open(name + ".gz")
			if err != nil {
				t.Fatal(err)
			}
			defer packed.Close()
			unzipped, err := gzip.NewReader(packed)
			if err != nil {
				t.Fatal(err)
			}
			if embedded, err := io.ReadAll(unzipped); err != nil || !bytes.Equal(embedded, readable) {
				t.Errorf("docs/%s.gz has other content (%v): run `make generate`", name, err)
			}
		})
	}
}

func TestEmbeddedPagesAreTheReadableOnes(t *testing.T) {
	t.Parallel()
	data, err := docs.Files.ReadFile("site.zip")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	readable, err := os.ReadDir("../../../docs/site")
	if err != nil || len(readable) != len(packed.File) {
		t.Errorf("docs/site has %d files, docs/site.zip %d (%v): run `make generate`", len(readable), len(packed.File),
			err)
	}
	for _, f := range readable {
		page, err := os.ReadFile("../../../docs/site/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if embedded, err := fs.ReadFile(packed, f.Name()); err != nil || !bytes.Equal(embedded, page) {
			t.Errorf("docs/site.zip has another %s (%v): run `make generate`", f.Name(), err)
		}
	}
}
