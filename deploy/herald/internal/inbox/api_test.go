package inbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func call(t *testing.T, server *httptest.Server, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.Host = cmp.Or(r.Header.Get("Host"), r.Host)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func website(t *testing.T, in *Inbox) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(in.Handler())
	t.Cleanup(server.Close)
	return server
}

// fetch reads a JSON answer into untyped values, as other clients do.
func fetch(t *testing.T, server *httptest.Server, path string) map[string]any {
	t.Helper()
	answer, text := call(t, server, "GET", path, "")
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", path, answer.StatusCode, text, err)
	}
	return fields
}

func TestMessagesHaveMailpitsShape(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	server := website(t, in)
	_, empty := call(t, server, "GET", "/api/v1/messages", "")
	if want := `{"total":0,"unread":0,"count":0,"messages_count":0,"messages_unread":0,"start":0,"tags":[],` +
		`"messages":[],"repeats":0}` + "\n"; empty != want {
		t.Errorf("empty: %s", empty)
	}
	for i := range 5 {
		put(t, in, letter(fmt.Sprint(i)))
	}
	put(t, in, letter("2"))
	page := fetch(t, server, "/api/v1/messages?start=1&limit=3")
	messages := page["messages"].([]any)
	delete(page, "messages")
	want := map[string]any{"total": 5.0, "unread": 5.0, "count": 3.0, "messages_count": 5.0, "messages_unread": 5.0,
		"start": 1.0, "tags": []any{}, "repeats": 1.0}
	if !reflect.DeepEqual(page, want) {
		t.Errorf("page %v", page)
	}
	m := messages[1].(map[string]any)
	if m["ID"] == "" || m["Created"] == "" || m["Size"].(float64) < 100 {
		t.Errorf("message %v", m)
	}
	for _, name := range []string{"ID", "Created", "Size"} {
		delete(m, name)
	}
	want = map[string]any{
		"MessageID": "2@example.com", "Read": false, "Subject": "mail 2", "Snippet": "Hello 2", "Repeats": 1.0,
		"From": map[string]any{"Name": "Herald", "Address": "herald@example.com"},
		"To":   []any{map[string]any{"Name": "", "Address": "ada@example.com"}},
		"Cc":   []any{}, "Bcc": []any{}, "ReplyTo": []any{}, "Tags": []any{}, "Attachments": 0.0,
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("message %v", m)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	server := website(t, in)
	for i := range pageSize + 2 {
		put(t, in, letter(fmt.Sprint(i)))
	}
	for query, want := range map[string]float64{
		"": pageSize, "limit=0": 0, "limit=-1": pageSize, "limit=x": pageSize, "limit=999999999999999999999": pageSize,
		"limit=1000000": pageSize + 2, "start=51": 1, "start=52": 0, "start=1000000": 0,
	} {
		if got := fetch(t, server, "/api/v1/messages?"+query)["count"]; got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	server := website(t, in)
	raw := "Subject: =?UTF-8?B?5bGx55Sw?=\nX-Two: 1\nX-Two: 2\nContent-Type: text/html\n\n<b>Hello</b>"
	put(t, in, letter("older"))
	put(t, in, raw)
	m := fetch(t, server, "/api/v1/message/latest")
	for name, want := range map[string]any{
		"Subject": "山田", "HTML": "<b>Hello</b>", "Text": "", "MessageID": "", "ReturnPath": "", "From": nil,
		"To": []any{}, "Cc": []any{}, "Bcc": []any{}, "ReplyTo": []any{}, "Inline": []any{}, "Attachments": []any{},
		"Tags": []any{},
	} {
		if !reflect.DeepEqual(m[name], want) {
			t.Errorf("%s is %v, want %v", name, m[name], want)
		}
	}
	if m["Date"] != m["Created"] {
		t.Errorf("Date %v", m["Date"])
	}
	path := "/api/v1/message/" + m["ID"].(string)
	if headers := fetch(t, server, path+"/headers"); !reflect.DeepEqual(headers["X-Two"], []any{"1", "2"}) {
		t.Errorf("headers %v", headers)
	}
	if answer, text := call(t, server, "GET", path+"/raw", ""); text != string(crlf(raw)) ||
		answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("raw %q as %s", text, answer.Header.Get("Content-Type"))
	}
	if got := fetch(t, server, "/api/v1/messages"); got["unread"] != 1.0 {
		t.Errorf("%v unread", got["unread"])
	}
	for _, path := range []string{
		"/api/v1/message/x", "/api/v1/message/..%2f..%2fetc%2fpasswd/raw", "/mail/x", "/mail/x/html",
	} {
		if answer, _ := call(t, server, "GET", path, ""); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	server := website(t, in)
	put(t, in, "Delivered-To: secret@example.com\nTo: Ada <ada@example.com>\nSubject: First mail\n\nhello\n"+
		strings.Repeat("filler ", 50)+"needle")
	put(t, in, "From: ada@example.com\nTo: bob@example.com\nSubject: Second\nMessage-ID: <m2@x>\nContent-Type: "+
		"text/html\n\n<p>caf&eacute;</p>")
	for query, want := range map[string][]string{
		"": {"Second", "First mail"}, `to:"ada@example.com"`: {"First mail"}, "to:secret": {"First mail"},
		"from:ADA":             {"Second"},
		`subject:"first mail"`: {"First mail"}, `subject:first subject:second`: {}, "needle": {"First mail"},
		"café":        {"Second"},
		"example.com": {"Second", "First mail"}, "message-id:m2@x": {"Second"}, `"hello filler"`: {},
		"to:ada hello": {"First mail"}, `""`: {"Second", "First mail"},
	} {
		answer, text := call(t, server, "GET", "/api/v1/search?query="+strings.NewReplacer(`"`, "%22", " ", "%20").
			Replace(query), "")
		var found list
		if err := json.Unmarshal([]byte(text), &found); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", query, text)
		}
		got := []string{}
		for _, m := range found.Messages {
			got = append(got, m.Subject)
		}
		if !slices.Equal(got, want) || found.MessagesCount != len(want) || found.Total != 2 {
			t.Errorf("%s: %q, %d of %d", query, got, found.MessagesCount, found.Total)
		}
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := open(t, dir)
	server := website(t, in)
	for _, id := range []string{"1", "2", "3"} {
		put(t, in, letter(id))
	}
	second := in.newest("")[1].ID
	if answer, _ := call(t, server, "DELETE", "/api/v1/messages", "{"); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("malformed: %d", answer.StatusCode)
	}
	call(t, server, "DELETE", "/api/v1/messages", `{"IDs":["`+second+`","x"]}`)
	if got := subjects(in); !slices.Equal(got, []string{"mail 3", "mail 1"}) {
		t.Errorf("one deleted: %q", got)
	}
	if _, text := call(t, server, "DELETE", "/api/v1/messages", ""); text != "ok" {
		t.Error(text)
	}
	in.Close()
	if got := subjects(open(t, dir)); len(got) != 0 {
		t.Errorf("all deleted: %q", got)
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	server := website(t, in)
	put(t, in, letter("1"))
	for host, want := range map[string]int{
		"localhost:8025": 200, "LOCALHOST": 200, "127.0.0.1:8025": 200, "[::1]:8025": 200, "[::1]": 200,
		"evil.example": 403, "localhost.evil.example": 403, "10.0.0.1:8025": 403, "127.0.0.1.evil.example:8025": 403,
	} {
		if answer, text := call(t, server, "GET", "/api/v1/messages", "", "Host", host); answer.StatusCode != want ||
			want == 403 && strings.Contains(text, "mail 1") {
			t.Errorf("%s: %d", host, answer.StatusCode)
		}
	}
	for _, request := range [][2]string{{"POST", "/delete"}, {"DELETE", "/api/v1/messages"}} {
		answer, _ := call(t, server, request[0], request[1], "", "Origin", "https://evil.example", "Sec-Fetch-Site",
			"cross-site")
		if answer.StatusCode != http.StatusForbidden || len(in.newest("")) != 1 {
			t.Errorf("%v from another site: %d", request, answer.StatusCode)
		}
	}
	answer, _ := call(t, server, "GET", "/api/v1/messages", "", "Origin", "https://evil.example")
	if allowed := answer.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
		t.Errorf("another site may read: %s", allowed)
	}
}
