package main_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"herald/shared/testkit/browser"
)

// The first journey: a person is imported, gets a mail in her language, clicks its
// button, chooses a password and is active. Everything is done as a user would.
func TestJourney(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.start()
	status, languages := i.call("GET", "/admin/v1/languages", "")
	if list, _ := languages["languages"].([]any); status != http.StatusOK || len(list) < 4 {
		t.Errorf("languages: %d %v", status, languages)
	}
	status, text := i.call("GET", "/management/v1/text/message/init/de", "")
	custom, _ := text["customText"].(map[string]any)
	if status != http.StatusOK || custom["isDefault"] != true || custom["subject"] == "" {
		t.Errorf("text: %d %v", status, text)
	}
	body, err := os.ReadFile("../../examples/user.json")
	if err != nil {
		t.Fatal(err)
	}
	status, imported := i.call("POST", "/management/v1/users/human/_import", string(body))
	if status != http.StatusOK || imported["userId"] != "mini-mouse" || imported["initMail"] != "INIT_MAIL_QUEUED" {
		t.Fatalf("import: %d %v", status, imported)
	}
	if state := i.state("mini-mouse"); state != "USER_STATE_INITIAL" {
		t.Errorf("state %s", state)
	}
	mail := i.mail("mini@example.com")
	if subject, _ := custom["subject"].(string); mail.Subject != strings.ReplaceAll(subject, "{{.OrgName}}",
		"Herald") || !strings.Contains(mail.Text, "Mini Mouse") {
		t.Errorf("the mail is not the German one: %q\n%s", mail.Subject, mail.Text)
	}
	link := regexp.MustCompile(`http://\S+`).FindString(mail.Text)
	u, err := url.Parse(link)
	if err != nil || !strings.HasPrefix(link, i.url+"/ui/login/user/init?") ||
		u.Query().Get("userID") != "mini-mouse" || u.Query().Get("passwordset") != "false" {
		t.Fatalf("link %q in\n%s", link, mail.Text)
	}

	page := browser.Open(t)
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
	if state := i.state("mini-mouse"); state != "USER_STATE_ACTIVE" {
		t.Errorf("state %s", state)
	}
	status, sent := i.call("GET", "/management/v1/users/mini-mouse/notifications", "")
	if list, _ := sent["result"].([]any); status != http.StatusOK || len(list) != 1 ||
		list[0].(map[string]any)["state"] != "NOTIFICATION_STATE_SENT" {
		t.Errorf("notifications: %d %v", status, sent)
	}
}

func (i *instance) state(userID string) any {
	i.t.Helper()
	status, answer := i.call("GET", "/management/v1/users/"+userID, "")
	if status != http.StatusOK {
		i.t.Fatalf("user %s: %d %v", userID, status, answer)
	}
	return answer["user"].(map[string]any)["state"]
}

// letter is a mail as the inbox tells it.
type letter struct{ ID, MessageID, Subject, Text, HTML string }

// mail waits for a mail to an address. The inbox has no way to be told, so this is
// the one place that asks again and again.
func (i *instance) mail(to string) letter {
	i.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 400 {
		var found struct{ Messages []letter }
		i.inbox("/api/v1/search?query="+url.QueryEscape(`to:"`+to+`"`), &found)
		if len(found.Messages) > 0 {
			var whole letter
			i.inbox("/api/v1/message/"+found.Messages[0].ID, &whole)
			return whole
		}
		<-tick.C
	}
	i.t.Fatalf("no mail to %s within 20 s", to)
	return letter{}
}

func (i *instance) inbox(path string, answer any) {
	i.t.Helper()
	r, err := http.Get(i.mails + path)
	if err != nil {
		i.t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(answer); err != nil {
		i.t.Fatalf("%s: %v", path, err)
	}
}
