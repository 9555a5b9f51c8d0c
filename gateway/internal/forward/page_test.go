package forward_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/gateway/internal/testworld"
	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
)

func TestPagesAreForwarded(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	var asked *heraldv1.HttpRequest
	w.Auth.Page = func(r *heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		asked = r
		return &heraldv1.HttpResponse{Status: 303, Body: []byte("<p>"), Headers: []*heraldv1.HttpHeader{
			{Name: "Location", Value: "/ui/login/done"}, {Name: "Content-Type", Value: "text/html; charset=utf-8"},
			{Name: "Set-Cookie", Value: "a=1"}, {Name: "Set-Cookie", Value: "b=2"},
			{Name: "connection", Value: "close"},
			{Name: "Content-Length", Value: "99"}, {Name: "Transfer-Encoding", Value: "gzip"},
			{Name: "X-Split", Value: "a\r\nb: c"},
			{Name: "x-content-type-options", Value: "nosniff"},
		}}, nil
	}
	got := w.Raw(t, "POST /ui/login/user/init?userID=1&code=2 HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: "+
		"evil.example\r\n"+
		"Forwarded: host=evil.example\r\nUser-Agent: x\r\nReferer: http://x/\r\nAuthorization: Bearer "+
		"x\r\nAccept-Language: de\r\nCookie: s=1\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\nOrigin: http://localhost\r\nSec-Fetch-Site: "+
		"same-origin\r\nContent-Length: 3\r\n\r\na=b")
	want := &heraldv1.HttpRequest{Method: "POST", Uri: "/ui/login/user/init?userID=1&code=2", Body: []byte("a=b"),
		Headers: []*heraldv1.HttpHeader{
			{Name: "Accept-Language", Value: "de"}, {Name: "Content-Type", Value: "application/x-www-form-urlencoded"},
			{Name: "Cookie", Value: "s=1"},
			{Name: "Origin", Value: "http://localhost"}, {Name: "Sec-Fetch-Site", Value: "same-origin"},
			{Name: "User-Agent", Value: "x"},
		}, Client: "127.0.0.1"}
	if !proto.Equal(asked, want) {
		t.Errorf("got %v", asked)
	}
	h := got.Header
	if got.StatusCode != 303 || string(got.Text) != "<p>" || h.Get("Location") != "/ui/login/done" ||
		len(h["Set-Cookie"]) != 2 ||
		h.Get("Cache-Control") != "no-store" || !slices.Equal(h["X-Content-Type-Options"], []string{"nosniff"}) ||
		got.ContentLength != 3 || h.Get("Connection") != "" || h.Get("B") != "" {
		t.Errorf("%d %v %s", got.StatusCode, h, got.Text)
	}
	if strings.Contains(w.Lines.String(), "code=2") {
		t.Error("a query is in the log")
	}
}

func TestFaultOfAPageIsAPage(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Auth.Page = func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) { return nil, fault.ErrUnavailable }
	html := func(a testworld.Answer, status int, text string) {
		t.Helper()
		if a.StatusCode != status || a.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(string(a.Text), text) ||
			!strings.HasPrefix(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%d %v %s", a.StatusCode, a.Header, a.Text)
		}
	}
	html(w.Do(t, "GET", "/ui/login", ""), 503, "Please try again shortly.")
	german := w.Do(t, "GET", "/ui/login", "", "Accept-Language", "tlh, de-AT;q=0.9, fr;q=0.8")
	html(german, 503, "Bitte versuchen Sie es gleich noch einmal.")
	html(german, 503, `<html lang="de">`)
	if german.Header.Get("Retry-After") != "1" || german.Header.Get("Content-Language") != "de" {
		t.Errorf("headers %v", german.Header)
	}
	html(w.Do(t, "GET", "/ui/login", "", "X-Request-Id", "<script>"), 503, "&lt;script&gt;")
	html(w.Do(t, "GET", "/ui//login", ""), 404, "Not Found")
	html(w.Do(t, "POST", "/ui/login", strings.Repeat("x", 64<<10+1)), 413, "larger than allowed")
	w.Auth.Page = func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) { return &heraldv1.HttpResponse{}, nil }
	html(w.Do(t, "GET", "/ui/login", ""), 500, "Internal")
	w.Auth.Page = testworld.EmptyPage
	w.Do(t, "GET", "/ui/%ff?%ff", "", "Cookie", "\xff").OK(t) // a cookie of another program on the same host
}

// The gateway waits less for a page that only shows something than for other pages. The log names the service.
func TestPageOfAServiceThatDoesNotAnswerTimesOut(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	leave := make(chan struct{})
	t.Cleanup(func() { close(leave) })
	w.Auth.Page = func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		<-leave
		return testworld.EmptyPage(nil)
	}
	began := time.Now()
	got := w.Do(t, "GET", "/ui/account", "", "Accept-Language", "ja")
	took := time.Since(began) // other requests have 7 s
	if got.StatusCode != 504 || took < 3*time.Second || took > 6500*time.Millisecond {
		t.Errorf("%d after %v", got.StatusCode, took)
	}
	if !strings.Contains(string(got.Text), "しばらく") || got.Header.Get("Retry-After") != "1" {
		t.Errorf("%v %s", got.Header, got.Text)
	}
	if !strings.Contains(w.Lines.String(), `"a service does not answer"`) ||
		!strings.Contains(w.Lines.String(), `"asked":"auth"`) {
		t.Errorf("the log says %s", w.Lines.String())
	}
}

// If the login service does not answer, the page has the texts that its own pages have when another service does not.
func TestUnavailablePageHasTheTextsOfThePages(t *testing.T) {
	t.Parallel()
	type message struct{ Title, Text string }
	read := func(file string, to any) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var got map[string]message
	read("unavailable_page.json", &got)
	files, err := filepath.Glob("../../../services/auth/internal/web/frame/texts/*.json")
	if err != nil || len(files) != len(got) || len(files) < 21 {
		t.Fatalf("%d languages of %d, %v", len(got), len(files), err)
	}
	for _, file := range files {
		var texts map[string]string
		read(file, &texts)
		tag := strings.TrimSuffix(filepath.Base(file), ".json")
		if want := (message{texts["away.title"], texts["away.text"]}); got[tag] != want || want.Text == "" {
			t.Errorf("%s says %v, want %v", tag, got[tag], want)
		}
	}
}
