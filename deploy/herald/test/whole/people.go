package whole

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Hash is a password hash of another system.
const Hash = "$pbkdf2-sha256$6400$0ZrzXitFSGltTQnBWOsdeQ$Y11AchqV4b0sUisdZd0Xr97KWoymNE0LNNrnEgY4H9M"

// Visited is the cookie of a browser that has opened the page of a login. A form of the page is refused without it.
const Visited = "__Host-herald-cookies=1"

// Person returns the import of a person whose name and address are made of the id.
func Person(id string) string {
	return fmt.Sprintf(`{"userId":%q,"userName":%q,"profile":{"firstName":"Mini","lastName":"Mouse"},
		"email":{"email":"%s@example.com"}}`, id, id, id)
}

// Active returns the import of an active person, with a verified address and a password.
func Active(id string) string {
	return fmt.Sprintf(`{"userId":%q,"userName":%q,"profile":{"firstName":"Mini","lastName":"Mouse"},
		"email":{"email":"%s@example.com","isEmailVerified":true},"hashedPassword":{"value":%q}}`, id, id, id, Hash)
}

// Import imports a Person, which must succeed.
func (i *Instance) Import(id string) {
	i.T.Helper()
	if status, answer := i.Call("POST", "/management/v1/users/human/_import", Person(id)); status != http.StatusOK {
		i.T.Fatalf("import %s: %d %v", id, status, answer)
	}
}

// State returns a user's state.
func (i *Instance) State(userID string) any {
	i.T.Helper()
	status, answer := i.Call("GET", "/management/v1/users/"+userID, "")
	if status != http.StatusOK {
		i.T.Fatalf("user %s: %d %v", userID, status, answer)
	}
	return answer["user"].(map[string]any)["state"]
}

// Letter is a mail as the inbox returns it.
type Letter struct{ ID, MessageID, Subject, Text, HTML string }

// Mail waits for a mail to an address and returns it. It polls, because the inbox sends no signal to
// other processes.
func (i *Instance) Mail(to string) Letter {
	i.T.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 400 {
		var found struct{ Messages []Letter }
		i.Inbox("/api/v1/search?query="+url.QueryEscape(`to:"`+to+`"`), &found)
		if len(found.Messages) > 0 {
			var whole Letter
			i.Inbox("/api/v1/message/"+found.Messages[0].ID, &whole)
			return whole
		}
		<-tick.C
	}
	i.T.Fatalf("no mail to %s within 20 s", to)
	return Letter{}
}

// Inbox reads an answer of the inbox's API.
func (i *Instance) Inbox(path string, answer any) {
	i.T.Helper()
	r, err := http.Get(i.Mails + path)
	if err != nil {
		i.T.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(answer); err != nil {
		i.T.Fatalf("%s: %v", path, err)
	}
}

// ChoosePassword chooses a password with the link of the mail, without a browser.
func (i *Instance) ChoosePassword(to string) {
	i.T.Helper()
	link, err := url.Parse(regexp.MustCompile(`http://\S+`).FindString(i.Mail(to).Text))
	if err != nil {
		i.T.Fatal(err)
	}
	form := link.Query()
	form.Set("password", "correct horse battery")
	form.Set("confirmation", "correct horse battery")
	link.RawQuery = ""
	if page := Visit(i.T, http.DefaultClient, link.String(), form); page.Status != http.StatusOK {
		i.T.Fatalf("the page answered %d", page.Status)
	}
}

// Page is the answer to a Visit.
type Page struct {
	Status  int
	Cookies []*http.Cookie
	Text    string
}

// Visit opens a page, or sends a form to it if form is not nil. header are further names and values.
func Visit(t testing.TB, c *http.Client, address string, form url.Values, header ...string) Page {
	t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	// The only header of a browser over plain HTTP outside loopback.
	r.Header.Set("Origin", r.URL.Scheme+"://"+r.URL.Host)
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Page{answer.StatusCode, answer.Cookies(), string(text)}
}

var firstLogin = regexp.MustCompile(`login name (\S+), one-time password (\S+) `)

// Administrator returns the login name and the one-time password that the first start has printed.
func (i *Instance) Administrator() (name, password string) {
	i.T.Helper()
	said := cmp.Or(i.printed, strings.Join(i.Out, "\n"))
	printed := firstLogin.FindStringSubmatch(said)
	if printed == nil {
		i.T.Fatalf("the first start prints %q", said)
	}
	return printed[1], printed[2]
}
