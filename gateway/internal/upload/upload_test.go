package upload_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/gateway/internal/testworld"
	"herald/shared/contract"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

const importPath = "/admin/v1/import"

// crowd returns a body with n users of o1, whose ids are a prefix and a number.
func crowd(prefix string, n int) string {
	var b strings.Builder
	b.WriteString(`{"dataOrgs":{"orgs":[{"orgId":"o1","humanUsers":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"userId":"%s%d","user":{"userName":"%s%d"}}`, prefix, i, prefix, i)
	}
	return b.String() + `]}]}}`
}

func TestStreamedImport(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	body := strings.Replace(crowd("u", 2500), `{"userId":"u7"`, `{"userId":"bad7"`, 1)
	body = strings.Replace(body, `{"userId":"u2100"`, `{"userId":7,"x":[}`, 1)
	got := w.Do(t, "POST", importPath, body, testworld.As(token)...).Imported(t)
	if len(got.Success.Orgs) != 1 || got.Success.Orgs[0].OrgID != "o1" ||
		len(got.Success.Orgs[0].HumanUserIDs) != 2498 || got.Success.Orgs[0].HumanUserIDs[0] != "u0" ||
		len(got.Success.Orgs[0].MachineUserIDs) != 0 || got.Success.Orgs[0].MachineUserIDs == nil {
		t.Errorf("got %.300v", got)
	}
	if e := got.Errors; len(e) != 2 || e[0].ID != "bad7" || e[0].Row != "8" || e[0].Reason != "BAD" ||
		e[1].Row != "2101" || e[1].Reason != "JSON_MALFORMED" || e[1].Type != "human_user" ||
		e[1].OrgID != "o1" {
		t.Errorf("errors %v", got.Errors)
	}
	requests, _ := w.Importer.Seen()
	if slices.Sort(requests); fmt.Sprint(requests) != "[o1 1000 o1 1000 o1 499]" {
		t.Errorf("requests %v", requests)
	}
}

func TestStreamedShapes(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	w.Join(token, "o2")
	lines := `{"orgId":"o1","userId":"a","user":{}}` + "\n" + `{"orgId":"o2","userId":"b","user":{}}` + "\n" +
		`{"orgId":"o1","userId":"c","user":{}}` + "\n"
	var packed bytes.Buffer
	g := gzip.NewWriter(&packed)
	if _, err := io.WriteString(g, lines); err != nil || g.Close() != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ body, kind, encoding string }{
		"json": {`{"dataOrgs":{"orgs":[{"orgId":"o1","humanUsers":[{"userId":"a"},{"userId":"c"}]},` +
			`{"humanUsers":[{"userId":"b"}],"orgId":"o2"}]}}`, "application/json", ""},
		"lines": {lines, "application/x-ndjson; charset=utf-8", ""},
		"gzip":  {packed.String(), "application/x-ndjson", "gzip"},
	} {
		a := w.Do(t, "POST", importPath, c.body, testworld.As(token, "Content-Type", c.kind, "Content-Encoding",
			c.encoding)...)
		got := a.Imported(t)
		if o := got.Success.Orgs; len(o) != 2 || fmt.Sprint(o[0].HumanUserIDs, o[1].HumanUserIDs) != "[a c] [b]" ||
			len(got.Errors) > 0 {
			t.Errorf("%s: %s", name, a.Text)
		}
	}
	if requests, _ := w.Importer.Seen(); strings.Count(fmt.Sprint(requests), "o2 1") != 3 {
		t.Errorf("requests %v", requests)
	}
	half := packed.String()[:packed.Len()/2]
	for name, c := range map[string]struct {
		body, kind, encoding string
		status               int
		id                   string
	}{
		"form":         {"a=b", "application/x-www-form-urlencoded", "", 415, "MEDIA_TYPE_NOT_SUPPORTED"},
		"brotli":       {"x", "application/json", "br", 415, "MEDIA_TYPE_NOT_SUPPORTED"},
		"no gzip":      {"{}", "application/json", "gzip", 400, "IMPORT_BROKEN_OFF"},
		"half of gzip": {half, "application/json", "gzip", 400, "IMPORT_BROKEN_OFF"},
		"no JSON":      {"nothing", "application/json", "", 400, "JSON_MALFORMED"},
		"timeout": {`{"dataOrgs":{"orgs":[{"orgId":"o1","humanUsers":[{"userId":"x"}]}]},"timeout":"-1s"}`, "",
			"", 400, "IMPORT_TIMEOUT_INVALID"},
		"no such org":   {crowdIn("nowhere"), "", "", 403, "PERMISSION_DENIED"},
		"misspelled":    {`{"dataOrg":{}}`, "", "", 400, "IMPORT_DATA_MISSING"},
		"truncated":     {`{"dataOrgs":{"orgs":[`, "", "", 400, "IMPORT_BROKEN_OFF"},
		"twice timeout": {`{"timeout":"1s","timeout":"2s"}`, "", "", 400, "JSON_MALFORMED"},
	} {
		w.Do(t, "POST", importPath, c.body, testworld.As(token, "Content-Type", c.kind, "Content-Encoding",
			c.encoding)...).Refused(t, c.status, c.id)
		_, ids := w.Importer.Seen()
		if fmt.Sprint(ids) == "x" {
			t.Errorf("%s: a user was imported", name)
		}
	}
	viewer := w.Token("u2", []string{"ORG_USER_MANAGER"}, "openid", contract.Audience)
	for _, body := range []string{"", "{}", crowd("v", 1)} {
		w.Do(t, "POST", importPath, body, testworld.As(viewer)...).Refused(t, 403, "PERMISSION_DENIED")
	}
	w.Do(t, "POST", importPath, "{}").Refused(t, 401, "UNAUTHENTICATED")
	w.Do(t, "GET", importPath, "", testworld.As(token)...).Refused(t, 405, "VERB_NOT_ALLOWED")
}

func crowdIn(org string) string { return strings.ReplaceAll(crowd("n", 1), "o1", org) }

// If a body breaks off, the users before that are imported, and the answer says where it broke off.
func TestStreamBreaksOff(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token, body := w.Owner(), crowd("u", 3000)
	var packed bytes.Buffer
	g := gzip.NewWriter(&packed)
	if _, err := io.WriteString(g, body); err != nil || g.Close() != nil {
		t.Fatal(err)
	}
	plain := w.Do(t, "POST", importPath, body[:len(body)-100], testworld.As(token)...).Imported(t)
	zipped := w.Do(t, "POST", importPath, packed.String()[:packed.Len()-100], testworld.As(token, "Content-Encoding",
		"gzip")...).Imported(t)
	wrong := w.Do(t, "POST", importPath, strings.Replace(body, `{"userId":"u2900"`, `} {"userId":"u2900"`, 1),
		testworld.As(token)...).Imported(t)
	for name, c := range map[string]struct {
		got    testworld.ImportAnswer
		least  int
		reason string
	}{
		"JSON": {plain, 2990, "IMPORT_BROKEN_OFF"}, "gzip": {zipped, 2000, "IMPORT_BROKEN_OFF"},
		"bracket": {wrong, 2900, "JSON_MALFORMED"},
	} {
		t.Run(name, func(t *testing.T) {
			if n := len(c.got.Success.Orgs[0].HumanUserIDs); n < c.least || n > 2999 {
				t.Errorf("%d users", n)
			}
			if e := c.got.Errors; len(e) != 1 || e[0].Type != "import" || e[0].Reason != c.reason ||
				!strings.Contains(e[0].Message, "line 1, column ") {
				t.Errorf("%v", e)
			}
		})
	}
}

// A few KiB of gzip that become many rows are refused before they cause minutes of work.
func TestStreamInflated(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	var packed bytes.Buffer
	g := gzip.NewWriter(&packed)
	body := strings.TrimSuffix(crowd("u", 1), "]}]}}") + strings.Repeat(",{}", 8_000_000) + "]}]}}"
	if _, err := io.WriteString(g, body); err != nil || g.Close() != nil {
		t.Fatal(err)
	}
	got := w.Do(t, "POST", importPath, packed.String(), testworld.As(w.Owner(), "Content-Encoding",
		"gzip")...).Imported(t)
	last := got.Errors[len(got.Errors)-1]
	if last.Type != "import" || last.Reason != "IMPORT_BROKEN_OFF" || !strings.Contains(last.Message, "100 times") {
		t.Errorf("%v", last)
	}
	if _, ids := w.Importer.Seen(); len(ids) > 2_000_000 {
		t.Errorf("%d rows were read", len(ids))
	}
}

// If a caller loses the permission during an import, all later rows are refused, each with an
// error.
func TestStreamLosesPermission(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	w.Importer.On(func(_ int, r *usersv1.ImportRequest) error {
		if id := r.DataOrgs.Orgs[0].HumanUsers[0].UserId; id != "u0" && id != "u1000" {
			return fault.ErrPermissionDenied
		}
		return nil
	})
	got := w.Do(t, "POST", importPath, crowd("u", 5000), testworld.As(token)...).Imported(t)
	if n := len(got.Success.Orgs[0].HumanUserIDs); n != 2000 || len(got.Errors) != 3000 {
		t.Errorf("%d users, %d errors", n, len(got.Errors))
	}
	if e := got.Errors[0]; e.Reason != "PERMISSION_DENIED" || e.ID != "u2000" || e.Row != "2001" {
		t.Errorf("%v", e)
	}
}

// If the token expires during an import, the import ends.
func TestStreamLosesToken(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	w.Importer.On(func(n int, _ *usersv1.ImportRequest) error {
		if n == 2 {
			w.Revoke(token)
			return fault.ErrUnauthenticated
		}
		return nil
	})
	got := w.Do(t, "POST", importPath, crowd("u", 5000), testworld.As(token)...).Imported(t)
	if e := got.Errors; len(e) != 1 || e[0].Type != "import" || e[0].Reason != "UNAUTHENTICATED" {
		t.Errorf("%v", e)
	}
	if n := len(got.Success.Orgs[0].HumanUserIDs); n < 2000 || n > 3000 {
		t.Errorf("%d users", n)
	}
}

// A request without a response is sent again. The answer has each user once.
func TestStreamTriesAgain(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token, failed := w.Owner(), 0
	w.Importer.On(func(n int, _ *usersv1.ImportRequest) error {
		if n == 0 || n == 2 {
			failed++
			return fault.ErrUnavailable.After(time.Millisecond)
		}
		return nil
	})
	got := w.Do(t, "POST", importPath, crowd("u", 3000), testworld.As(token)...).Imported(t)
	if n := len(got.Success.Orgs[0].HumanUserIDs); n != 3000 || len(got.Errors) > 0 || failed != 2 {
		t.Errorf("%d users, %v, failed %d times", n, got.Errors, failed)
	}
}

// The timeout counts from the beginning of the request, also if it comes at the end of the body.
func TestStreamTimesOut(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	proceed := make(chan struct{})
	w.Importer.On(func(n int, _ *usersv1.ImportRequest) error {
		if n > 0 {
			<-proceed
		}
		return nil
	})
	time.AfterFunc(2*time.Second, func() { close(proceed) })
	body := strings.Replace(crowd("u", 6000), "{", `{"timeout":"1s",`, 1)
	got := w.Do(t, "POST", importPath, body, testworld.As(token)...).Imported(t)
	if e := got.Errors; len(e) != 1 || e[0].Type != "import" || e[0].Reason != "IMPORT_TIMED_OUT" {
		t.Errorf("%v", e)
	}
	if n := len(got.Success.Orgs[0].HumanUserIDs); n < 1000 || n > 3000 {
		t.Errorf("%d users", n)
	}
}

// Two imports of one caller can run at once. A client that does not read its answer does not stop
// other callers.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token, other := w.Owner(), w.Token("u9", []string{"ORG_OWNER"}, "openid", contract.Audience)
	began, proceed := make(chan struct{}, 2), make(chan struct{})
	w.Importer.On(func(int, *usersv1.ImportRequest) error {
		began <- struct{}{}
		<-proceed
		return nil
	})
	var waiting sync.WaitGroup
	for range 2 {
		waiting.Go(func() { w.Do(t, "POST", importPath, crowd("u", 10), testworld.As(token)...).Imported(t) })
	}
	<-began
	<-began
	a := w.Do(t, "POST", importPath, "{}", testworld.As(token)...)
	a.Refused(t, 429, "IMPORTS_BUSY")
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.Importer.On(nil)
	w.Do(t, "POST", importPath, crowd("o", 10), testworld.As(other)...).Imported(t)
	close(proceed)
	waiting.Wait()
	w.Do(t, "POST", importPath, "{}", testworld.As(token)...).Imported(t)
}

// A client that does not read the answer of its import holds a place until it has paused for too
// long, but no memory and no other request.
func TestStreamToAClientThatNeverReads(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token, other := w.Owner(), w.Token("u9", []string{"ORG_OWNER"}, "openid", contract.Audience)
	body := crowd(strings.Repeat("long", 40), 40_000)
	conn := w.Connect(t, "")
	if err := conn.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	last := make(chan struct{})
	var users atomic.Int64
	w.Importer.On(func(_ int, r *usersv1.ImportRequest) error {
		if users.Add(int64(len(r.DataOrgs.Orgs[0].HumanUsers))) == 40_000 {
			close(last)
		}
		return nil
	})
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Length: %d\r\n\r\n%s", importPath, token, len(body), body); err != nil {
		t.Fatal(err)
	}
	<-last
	for range 5 {
		got := w.Do(t, "POST", importPath, crowd("o", 10), testworld.As(other)...).Imported(t)
		if len(got.Success.Orgs[0].HumanUserIDs) != 10 {
			t.Errorf("%v", got)
		}
	}
	if n := users.Load(); n != 40_050 {
		t.Errorf("%d users", n)
	}
}

// A compressed body of white space takes neither memory nor much time.
func TestCompressedWhiteSpaceIsMalformedJSON(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	var packed bytes.Buffer
	g := gzip.NewWriter(&packed)
	space := bytes.Repeat([]byte(" "), 1<<20)
	if _, err := g.Write([]byte(`{"dataOrgs":`)); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := g.Write(space); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	w.Do(t, "POST", importPath, packed.String(), testworld.As(w.Owner(), "Content-Encoding", "gzip")...).
		Refused(t, http.StatusBadRequest, "JSON_MALFORMED")
}

func TestStreamedCheck(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	got := w.Do(t, "POST", importPath+"/_check", crowd("u", 2500), testworld.As(w.Owner())...).OK(t)
	const want = `{"newUsers":"2500","knownUsers":"0","mails":"0","hashFormats":[` +
		`{"format":"x","accepted":"2500","refused":"0"}],"errors":[]}` + "\n"
	if string(got.Text) != want {
		t.Errorf("%s", got.Text)
	}
}
