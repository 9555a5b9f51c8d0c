package inbox

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>`

func TestPagesEscape(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	server := website(t, in)
	put(t, in, `From: `+hostile+`
To: "`+strings.ReplaceAll(hostile, `"`, `\"`)+`" <ada@example.com>
Cc: `+hostile+`
Subject: `+hostile+`
X-Field: `+hostile+`
Message-ID: <`+hostile+`>
Content-Type: multipart/mixed; boundary=a

--a

`+hostile+`
--a
Content-Disposition: attachment; filename="</script><script>alert(1)</script>"

x
--a--
`)
	for _, path := range []string{
		"/", "/?q=script", "/?q=%22%3E%3Cscript%3E", "/mail/latest", "/?q=%3Cimg+src=x%3E&start=9",
	} {
		answer, text := call(t, server, "GET", path, "")
		if answer.StatusCode != http.StatusOK || strings.Contains(text, "<script") || strings.Contains(text, "<img") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
		policy := answer.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self';") || strings.Contains(policy, "script") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
}

// The HTML of a mail is unchanged, in a document without rights.
func TestFrameHasNoRights(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	server := website(t, in)
	put(t, in, "Content-Type: text/html\n\n<html><body>"+hostile+"<a href=http://localhost/ui>open</a>")
	_, page := call(t, server, "GET", "/mail/latest", "")
	if !strings.Contains(page, `sandbox="`+sandbox+framed+`"`) {
		t.Errorf("the frame is not closed: %s", page)
	}
	page = strings.ReplaceAll(page, framed, "")
	answer, frame := call(t, server, "GET", "/mail/latest/html", "")
	policy := answer.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "sandbox allow-popups ") || !strings.Contains(policy, "; default-src 'none'; ") {
		t.Errorf("policy %q", policy)
	}
	for _, right := range []string{"allow-scripts", "allow-same-origin", "allow-forms", "script-src"} {
		if strings.Contains(policy, right) || strings.Contains(page, right) {
			t.Errorf("%s is given", right)
		}
	}
	answer, _ = call(t, server, "GET", "/mail/latest/html", "", "Sec-Fetch-Dest", "iframe")
	if got := answer.Header.Get("Content-Security-Policy"); strings.Replace(got, framed, "", 1) != policy {
		t.Errorf("in the page its policy is %q", got)
	}
	if !strings.HasPrefix(frame, `<!doctype html><base target="_blank"><html>`) {
		t.Errorf("frame %q", frame)
	}
	for _, path := range []string{
		"/", "/mail/latest", "/mail/latest/html", "/api/v1/message/latest", "/api/v1/message/latest/raw",
	} {
		if answer, _ := call(t, server, "GET", path, ""); answer.Header.Get("X-Content-Type-Options") != "nosniff" ||
			answer.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %v", path, answer.Header)
		}
	}
}

func TestListPage(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	server := website(t, in)
	want := func(path string, parts ...string) {
		t.Helper()
		answer, text := call(t, server, "GET", path, "")
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
		for _, part := range parts {
			if part, absent := strings.CutPrefix(part, "!"); strings.Contains(text, part) == absent {
				t.Errorf("%s: %q absent %v in %s", path, part, absent, text)
			}
		}
	}
	want("/", "No mail yet", `http-equiv="refresh"`, "!Delete all")
	for i := range pageSize + 10 {
		put(t, in, letter(fmt.Sprintf("<%d>", i)))
	}
	put(t, in, letter("<7>"))
	want("/", "mail &lt;59&gt;", "mail &lt;10&gt;", "!mail &lt;9&gt;", "1–50 of 60", `<a href="/?start=50"`, "!Newer")
	want("/?start=50", "mail &lt;9&gt;", "came 1 more time<", "51–60 of 60", `<a href="/?start=0"`, "!Older")
	want("/?q=%3C5", "mail &lt;5&gt;", "mail &lt;59&gt;", "!mail &lt;6&gt;", `!http-equiv="refresh"`, `value="&lt;5"`)
	want("/?q=nowhere", "Nothing found")
	want("/style.css", "prefers-color-scheme")
	if answer, _ := call(t, server, "POST", "/delete", "", "Sec-Fetch-Site",
		"same-origin"); answer.Request.URL.Path != "/" {
		t.Errorf("led to %s", answer.Request.URL)
	}
	want("/", "No mail yet")
}
