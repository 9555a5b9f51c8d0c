package oauth_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/deploy/herald/test/whole"
	"herald/shared/postgres"
	"herald/shared/testkit"
)

// link returns the link of the mail to an address.
func (w world) link(to string) string {
	w.TB.Helper()
	return regexp.MustCompile(`http://\S+`).FindString(w.Mail(to).Text)
}

// click follows a link and returns the heading of where it leads.
func (c chromium) click(selector string) string {
	c.Helper()
	if _, err := chromedp.RunResponse(c.ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		c.Fatal(err)
	}
	return c.arrive()
}

// A person who has forgotten the password during the login for an application chooses another one with the link of a
// mail. After that the browser returns to the application.
func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	shop, c := w.application("Shop"), open(t)
	if got := c.visit(shop.request()); got != "Sign in" {
		t.Fatalf("the application leads to %q", got)
	}
	if got := c.click(".more a"); got != "Forgot your password?" {
		t.Fatalf("the link leads to %q", got)
	}
	c.picture(t, "forgot")
	if got := c.submit("name", "ADA@example.com"); got != "Check your inbox" {
		t.Fatalf("the name leads to %q", got)
	}
	c.picture(t, "sent")
	if got := c.visit(w.link("ada@example.com")); got != "Choose a new password" {
		t.Fatalf("the mail leads to %q", got)
	}
	if got := c.submit("password", "another horse", "confirmation", "another horse"); got !=
		"Your password has been changed" {
		t.Fatalf("the password leads to %q", got)
	}
	c.picture(t, "done")
	if got := c.click("a.button"); got != "Sign in" || c.read(".whose bdi") != "Shop" {
		t.Fatalf("the last page leads to %q", got)
	}
	if got := c.submit("name", "ada", "current", "another horse"); got != "Welcome" {
		t.Fatalf("the new password leads to %q", got)
	}
	if status, id := w.me(shop.token()); status != 200 || id != "ada" {
		t.Errorf("the token is %q's: %d", id, status)
	}
}

// A mail that a stranger asked for on a page is the person's: it is in their notifications, and goes with them.
func TestMailOfAForgottenPasswordGoesWithThePerson(t *testing.T) {
	t.Parallel()
	server := whole.Postgres(t)
	w := start(t, "HERALD_DATABASE_URL="+server.TCP())
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	v := w.visitor()
	v.named(v.submit(v.visit(w.URL+"/ui/login/forgot"), "name", "ada"), "Check your inbox")
	w.Mail("ada@example.com")
	list := w.Must("GET", "/management/v1/users/ada/notifications", "")["result"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["kind"] != "passwordreset" {
		t.Errorf("the notifications are %v", list)
	}
	config, err := pgxpool.ParseConfig(server.TCP())
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Database = postgres.Name("notification")
	db, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if n := testkit.Rows(t, db, "notifications where user_id = 'ada'"); n != 1 {
		t.Errorf("there are %d rows", n)
	}
	w.Must("DELETE", "/management/v1/users/ada", "")
	testkit.Until(t, db, "notifications", "not exists (select from notifications where user_id = 'ada')")
}

// A person who has to activate the account first also sets up an authenticator app, and then returns to the
// application.
func TestInitialPersonLogsIn(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", `{"userId":"bob","userName":"bob",`+
		`"profile":{"firstName":"Bob","lastName":"B"},"email":{"email":"bob@example.com"},"password":"correct horse"}`)
	shop, c := w.application("Shop"), open(t)
	c.visit(shop.request())
	if got := c.submit("name", "bob", "current", "correct horse"); got != "Your account still has to be activated" {
		t.Fatalf("the login leads to %q", got)
	}
	c.picture(t, "initial")
	if got := c.submit("code", "AAAAAAAA"); got != "Activate your account" ||
		!strings.Contains(c.read(".fault"), "wrong") {
		t.Fatalf("a wrong code leads to %q", got)
	}
	code := regexp.MustCompile(`code=(\w+)`).FindStringSubmatch(w.link("bob@example.com"))
	if got := c.submit("code", code[1]); got != "Your account is active" {
		t.Fatalf("the code leads to %q", got)
	}
	if got := c.click("a.button"); got != "Sign in" || c.read(".whose bdi") != "Shop" {
		t.Fatalf("the last page leads to %q", got)
	}
	if got := c.submit("name", "bob", "current", "correct horse"); got != "Protect your account" {
		t.Fatalf("the first login leads to %q", got)
	}
	c.picture(t, "enrol")
	recovery := c.enrol(t)
	if got := c.click("form.next button"); got != "Welcome" {
		t.Fatalf("the recovery codes lead to %q", got)
	}
	if status, _ := w.me(shop.token()); status != 200 {
		t.Errorf("the token gets %d", status)
	}
	second := open(t)
	second.visit(shop.request())
	if got := second.submit("name", "bob", "current", "correct horse"); got != "One more step" {
		t.Fatalf("the next login leads to %q", got)
	}
	if got := second.submit("code", recovery); got != "Welcome" {
		t.Fatalf("a recovery code leads to %q", got)
	}
}

// enrol sets up an authenticator app, with a mistake first, and returns a recovery code.
func (c chromium) enrol(t *testing.T) string {
	t.Helper()
	if got := c.submit(); got != "Scan this code" {
		t.Fatalf("the beginning leads to %q", got)
	}
	c.do(chromedp.Click(chromedp.CSS("details.key summary")))
	key := strings.ReplaceAll(c.read("details.key code"), " ", "")
	c.picture(t, "scan")
	if got := c.submit("code", "000000"); got != "Scan this code" || !strings.Contains(c.read(".fault"), "clock") {
		t.Fatalf("a wrong code leads to %q", got)
	}
	if got := c.submit("code", shownBy(t, key, 0)); got != "Keep these recovery codes" {
		t.Fatalf("the code leads to %q", got)
	}
	c.picture(t, "recovery")
	return c.read(".codes li:nth-child(3) code")
}

// A person with a new address can enter the code of the mail during the login, or at a later login.
func TestVerifyAtLogin(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	w.Must("PUT", "/management/v1/users/ada/email", `{"email":"countess@example.com"}`)
	shop, c := w.application("Shop"), open(t)
	c.visit(shop.request())
	if got := c.submit("name", "ada", "current", "correct horse"); got != "Confirm your email address" {
		t.Fatalf("the login leads to %q", got)
	}
	c.picture(t, "verify")
	if got := c.click("form.next button"); got != "Welcome" {
		t.Fatalf("another time leads to %q", got)
	}
	if status, _ := w.me(shop.token()); status != 200 {
		t.Errorf("the token gets %d", status)
	}
	c.visit(shop.request("prompt", "login"))
	c.submit("current", "correct horse")
	code := regexp.MustCompile(`code=(\w+)`).FindStringSubmatch(w.link("countess@example.com"))
	if got := c.submit("code", code[1]); got != "Welcome" {
		t.Fatalf("the code leads to %q", got)
	}
	if status, _ := w.me(shop.token()); status != 200 {
		t.Errorf("the token gets %d", status)
	}
	user := w.Must("GET", "/management/v1/users/ada", "")["user"].(map[string]any)
	if email := user["human"].(map[string]any)["email"].(map[string]any); email["isEmailVerified"] != true {
		t.Errorf("the address is %v", email)
	}
}
