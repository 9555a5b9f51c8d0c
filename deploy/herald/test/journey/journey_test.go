package journey_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// An imported person gets a mail in her language, clicks its button, chooses a password and is
// active. The test uses a real browser.
func TestJourney(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	status, languages := i.Call("GET", "/admin/v1/languages", "")
	if list, _ := languages["languages"].([]any); status != http.StatusOK || len(list) < 4 {
		t.Errorf("languages: %d %v", status, languages)
	}
	status, text := i.Call("GET", "/management/v1/text/message/init/de", "")
	custom, _ := text["customText"].(map[string]any)
	if status != http.StatusOK || custom["isDefault"] != true || custom["subject"] == "" {
		t.Errorf("text: %d %v", status, text)
	}
	body := whole.File(t, "examples/user.json")
	status, imported := i.Call("POST", "/management/v1/users/human/_import", body)
	if status != http.StatusOK || imported["userId"] != "mini-mouse" || imported["initMail"] != "INIT_MAIL_QUEUED" {
		t.Fatalf("import: %d %v", status, imported)
	}
	if state := i.State("mini-mouse"); state != "USER_STATE_INITIAL" {
		t.Errorf("state %s", state)
	}
	mail := i.Mail("mini@example.com")
	if subject, _ := custom["subject"].(string); mail.Subject != strings.ReplaceAll(subject, "{{.OrgName}}",
		"Herald") || !strings.Contains(mail.Text, "Mini Mouse") {
		t.Errorf("the mail is not the German one: %q\n%s", mail.Subject, mail.Text)
	}
	link := regexp.MustCompile(`http://\S+`).FindString(mail.Text)
	u, err := url.Parse(link)
	if err != nil || !strings.HasPrefix(link, i.URL+"/ui/login/user/init?") ||
		u.Query().Get("userID") != "mini-mouse" || u.Query().Get("passwordset") != "false" {
		t.Fatalf("link %q in\n%s", link, mail.Text)
	}

	page := outside.OpenBrowser(t)
	err = chromedp.Do(page,
		chromedp.Navigate(link),
		chromedp.SendKeys(chromedp.ID("password"), "correct horse battery"),
		chromedp.SendKeys(chromedp.ID("confirmation"), "correct horse battery"),
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.RunResponse(page, chromedp.Click(chromedp.CSS("button[type=submit]"))); err != nil {
		t.Fatal(err)
	}
	name, err := chromedp.Run(page, chromedp.Text(chromedp.CSS("strong.name")))
	if err != nil || name != "mini" {
		t.Fatalf("the page says %q, %v", name, err)
	}
	if state := i.State("mini-mouse"); state != "USER_STATE_ACTIVE" {
		t.Errorf("state %s", state)
	}
	status, sent := i.Call("GET", "/management/v1/users/mini-mouse/notifications", "")
	if list, _ := sent["result"].([]any); status != http.StatusOK || len(list) != 1 ||
		list[0].(map[string]any)["state"] != "NOTIFICATION_STATE_SENT" {
		t.Errorf("notifications: %d %v", status, sent)
	}
}
