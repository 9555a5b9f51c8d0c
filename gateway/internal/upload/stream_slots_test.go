package upload_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"herald/gateway"
	"herald/gateway/internal/testworld"
	"herald/shared/boot"
	"herald/shared/contract"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// upload begins an import whose body never ends. It returns the first answer, which is 100 when the
// gateway has begun to read, and the connection.
func upload(t *testing.T, w *testworld.World, token string) (status int, conn *bufio.ReadWriter) {
	t.Helper()
	c := w.Connect(t, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Length: 100000000\r\nExpect: 100-continue\r\n\r\n", importPath, token))
	conn = bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c))
	return next(t, conn), conn
}

func next(t *testing.T, conn *bufio.ReadWriter) (status int) {
	t.Helper()
	answer, err := http.ReadResponse(conn.Reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}

// Any number of callers without the permission take no place.
func TestImportPlacesNeedPermission(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	var token string
	for n := range 20 {
		token = w.Token(fmt.Sprintf("m%d", n), []string{"ORG_USER_MANAGER"}, "openid", contract.Audience)
		if status, _ := upload(t, w, token); status != http.StatusContinue {
			t.Errorf("upload %d answered %d", n, status)
		}
	}
	for range 3 {
		if status, _ := upload(t, w, token); status != http.StatusContinue {
			t.Errorf("one more upload answered %d", status)
		}
	}
	w.Do(t, "POST", importPath, crowd("u", 1), testworld.As(token)...).Refused(t, 403, "PERMISSION_DENIED")
	w.Do(t, "POST", importPath, crowd("u", 1), testworld.As(w.Owner())...).Imported(t)
	if _, ids := w.Importer.Seen(); len(ids) != 1 {
		t.Errorf("%d users", len(ids))
	}
}

// A caller without the permission is refused when more was read than other requests may have, and it names no
// organization. The gateway does not wait for the end of the body.
func TestImportEndsWithoutPermission(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Token("m", []string{"ORG_USER_MANAGER"}, "openid", contract.Audience)
	early := strings.Replace(crowd("v", 40_000), `"orgId":"o1",`, "", 1)
	status, conn := upload(t, w, token)
	if status != http.StatusContinue {
		t.Fatalf("answered %d", status)
	}
	if _, err := conn.WriteString(early[:1<<20+1<<10]); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if status := next(t, conn); status != http.StatusForbidden {
		t.Errorf("answered %d", status)
	}
}

// A caller who may import only into another organization takes a place when the body names it.
func TestImportPlaceOfAMemberFromElsewhere(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Token("u3", []string{"ORG_USER_MANAGER"}, "openid", contract.Audience)
	w.Join(token, "o2")
	there := func(prefix string, n int) string { return strings.ReplaceAll(crowd(prefix, n), "o1", "o2") }
	got := w.Do(t, "POST", importPath, there("u", 2500), testworld.As(token)...).Imported(t)
	if o := got.Success.Orgs; len(o) != 1 || o[0].OrgID != "o2" || len(o[0].HumanUserIDs) != 2500 {
		t.Errorf("%.300v", got)
	}
	began, proceed := make(chan struct{}, 2), make(chan struct{})
	w.Importer.On(func(_ int, r *usersv1.ImportRequest) error {
		if len(r.DataOrgs.Orgs[0].HumanUsers) > 0 {
			began <- struct{}{}
			<-proceed
		}
		return nil
	})
	var waiting sync.WaitGroup
	for _, prefix := range []string{"v", "w"} {
		waiting.Go(func() { w.Do(t, "POST", importPath, there(prefix, 10), testworld.As(token)...).Imported(t) })
	}
	<-began
	<-began
	w.Do(t, "POST", importPath, there("x", 1), testworld.As(token)...).Refused(t, 429, "IMPORTS_BUSY")
	close(proceed)
	waiting.Wait()
	w.Do(t, "POST", importPath, there("x", 1), testworld.As(token)...).Imported(t)
}

// The callers of one organization cannot take all places.
func TestImportPlacesOfAnOrganization(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	owner := func(n int) string {
		return w.Token(fmt.Sprintf("owner%d", n), []string{"ORG_OWNER"}, "openid", contract.Audience)
	}
	for n := range 4 {
		if status, _ := upload(t, w, owner(n)); status != http.StatusContinue {
			t.Errorf("upload %d answered %d", n, status)
		}
	}
	w.Do(t, "POST", importPath, crowd("u", 1), testworld.As(owner(4))...).Refused(t, 429, "IMPORTS_BUSY")
	other := w.Owner()
	w.Move(other, "o2")
	w.Do(t, "POST", importPath, crowdIn("o2"), testworld.As(other)...).Imported(t)
}

// The imports of one organization have a quota of bytes on the disk together, and those of another have their own. What
// an import wrote counts until its end.
func TestImportBytesOfAnOrganization(t *testing.T) {
	t.Parallel()
	w := testworld.StartWith(t, gateway.Config{QuotaSettings: boot.QuotaSettings{Quotas: "import_bytes=400000"}})
	began, proceed := make(chan struct{}, 1), make(chan struct{})
	release := sync.OnceFunc(func() { close(proceed) })
	defer release()
	w.Importer.On(func(_ int, r *usersv1.ImportRequest) error {
		if rows := r.DataOrgs.GetOrgs(); len(rows) > 0 && len(rows[0].HumanUsers) > 0 &&
			rows[0].HumanUsers[0].UserId == "first0" {
			began <- struct{}{}
			<-proceed
		}
		return nil
	})
	// The id of the organization comes last, so that all users wait on the disk.
	late := func(prefix, org string) string {
		body := strings.Replace(crowd(prefix, 9000), `"orgId":"o1",`, "", 1)
		return strings.TrimSuffix(body, "}]}}") + `,"orgId":"` + org + `"}]}}`
	}
	owner := func(n int) []string {
		return testworld.As(w.Token(fmt.Sprintf("owner%d", n), []string{"ORG_OWNER"}, "openid", contract.Audience))
	}
	var first sync.WaitGroup
	first.Go(func() { w.Do(t, "POST", importPath, late("first", "o1"), owner(1)...).Imported(t) })
	<-began
	refused := w.Do(t, "POST", importPath, late("second", "o1"), owner(2)...).Refused(t, 400, "QUOTA_EXCEEDED")
	const says = "At most 400000 bytes on the disk of a gateway"
	if refused.Code != 9 || !strings.Contains(refused.Message, says) ||
		!strings.Contains(refused.Message, `"import_bytes"`) {
		t.Errorf("%+v", refused)
	}
	other := w.Owner()
	w.Move(other, "o2")
	w.Do(t, "POST", importPath, late("other", "o2"), testworld.As(other)...).Imported(t)
	release()
	first.Wait()
	w.Do(t, "POST", importPath, late("second", "o1"), owner(2)...).Imported(t)
}
