package mailer

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
)

func mailOf(kind mail.Kind) Mail {
	return Mail{
		PublicURL: "https://id.example.com", Kind: kind, UserID: "u&1", Language: "de",
		Reader: &usersv1.PrepareMailResponse{
			Code: "NEVER", OrgId: "o 1", OrgName: "Ada & Co", DisplayName: "{{.Code}}", UserName: "ada",
			Recipient: "ada@example.com",
			Expiry:    timestamppb.New(time.Date(2026, 11, 24, 9, 0, 59, 0, time.UTC)), PasswordSet: true,
		},
		Text: &textv1.CustomText{
			Title: "t", PreHeader: "p", Subject: "s {{.OrgName}}", Greeting: "{{.DisplayName}}", ButtonText: "b",
			FooterText: "f",
			Text:       "{{.PreferredLoginName}} {{.LoginNames}} {{.LastEmail}} {{.UserID}} {{.Expiry}} {{.Code}}",
		},
	}
}

// Each kind leads to its own page, with what the page needs to know.
func TestMail(t *testing.T) {
	t.Parallel()
	for kind, link := range map[mail.Kind]string{
		"init": "https://id.example.com/ui/login/user/init?userID=u%261&code=K7MPX4RD&orgID=o+1&" +
			"passwordset=true&lang=de",
		"verifyemail": "https://id.example.com/ui/login/mail/verification?userID=u%261&code=K7MPX4RD&orgID=o+1&" +
			"lang=de",
		"passwordreset": "https://id.example.com/ui/login/password/reset?userID=u%261&code=K7MPX4RD&orgID=o+1&lang=de",
	} {
		r, err := mailOf(kind).Render()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Subject+r.Text+r.HTML, "NEVER") {
			t.Errorf("%s: the reader's code is in what is kept", kind)
		}
		if r, err = r.Fill("K7MPX4RD"); err != nil {
			t.Fatal(err)
		}
		want := "t\n\n{{.Code}}\n\nada ada ada@example.com u&1 24. November 2026 K7MPX4RD\n\nb\n" +
			link + "\n\nK7MPX4RD\n\nf\n"
		if r.Subject != "s Ada & Co" || r.Text != want || !strings.Contains(r.HTML, `<html lang="de"`) {
			t.Errorf("%s: subject %q, text\n%s\nwant\n%s", kind, r.Subject, r.Text, want)
		}
	}
	if _, err := mailOf("test").Render(); err == nil {
		t.Error("a mail that is no kind is rendered")
	}
}

// A mail has the color of its organization, with a text on the button that is readable, and ends with the address for
// help. What is no color leaves Herald's. Outlook, which ignores max-width, gets a table of its own.
func TestBrandedMail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ color, fill, on string }{
		{"#ffcc00", "#ffcc00", "#000000"}, {"#0b6e4f", "#0b6e4f", "#ffffff"}, {"", "#2f56d9", "#ffffff"},
		{"red;}", "#2f56d9", "#ffffff"},
	} {
		m := mailOf(mail.Init)
		m.Branding = &textv1.ResolveBrandingResponse{PrimaryColor: c.color, SupportEmail: "<help>@example.com"}
		r, err := m.Render()
		if err != nil {
			t.Fatal(err)
		}
		for part, times := range map[string]int{
			`bgcolor="` + c.fill + `"`: 1, "background-color:" + c.fill: 2, ";color:" + c.on + ";": 1,
			"Fragen? Schreiben Sie an: <span dir=\"ltr\">&lt;help&gt;@example.com</span>": 1, "mailto": 0,
			`<!--[if mso]><table role="presentation" width="560"`: 1, "<!--[if mso]></td></tr></table><![endif]-->": 1,
		} {
			if got := strings.Count(r.HTML, part); got != times {
				t.Errorf("%q: the HTML part has %s %d times, want %d:\n%s", c.color, part, got, times, r.HTML)
			}
		}
		if !strings.HasSuffix(r.Text, "\nFragen? Schreiben Sie an: <help>@example.com\n") {
			t.Errorf("the text part ends with %q", r.Text)
		}
	}
	r, err := mailOf(mail.Init).Render()
	if err != nil || strings.Contains(r.HTML+r.Text, "Fragen?") {
		t.Errorf("without an address for help: %v %s", err, r.Text)
	}
}

// Somebody else may have chosen the names of the reader and of the organization.
func TestNamesAreNoLinks(t *testing.T) {
	t.Parallel()
	for _, kind := range mail.Kinds() {
		for _, evil := range []string{
			"https://evil.example/?c=", "www.evil.example", "eve@evil.example",
			"evil.\u200bexample", "evil\v.example", "evil.",
		} {
			m := mailOf(kind)
			m.Text.Text += " {{.FirstName}}example {{.VerifiedEmail}}"
			m.Reader.DisplayName, m.Reader.OrgName, m.Reader.FirstName = evil, evil, evil
			m.Reader.UserName, m.Reader.VerifiedEmail = "ada@example.org", "ada@example.net"
			r, err := m.Render()
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{r.Subject, r.Text, r.HTML} {
				seen := strings.ReplaceAll(part, "\u200b", "")
				if strings.Contains(seen, "evil.example") || strings.Contains(seen, "https://evil") {
					t.Errorf("%s: %s", kind, part)
				}
			}
			for _, own := range []string{"ada@example.com", "ada@example.net", "ada@example.org"} {
				if !strings.Contains(r.Text, own) {
					t.Errorf("%s: %s is not in %s", kind, own, r.Text)
				}
			}
		}
	}
}

// A notice has no code, and says who made the change. It has no link and no button, but for that about what ends soon,
// which leads to a page.
func TestNotice(t *testing.T) {
	t.Parallel()
	for _, kind := range mail.Kinds() {
		if !kind.Notice() {
			continue
		}
		for own, by := range map[bool]string{true: "von Ihnen selbst", false: "von der Administration"} {
			m := mailOf(kind)
			m.Text.Text, m.Reader.ChangedByReader = "{{.ChangedBy}} {{.LastEmail}} {{.Code}}.", own
			r, err := m.Render()
			if err != nil {
				t.Fatal(err)
			}
			button, page := "", ""
			if kind == mail.Expiring {
				page = "https://id.example.com/ui/account/tokens"
				button = "b\n" + page + "\n\n"
			}
			if want := "t\n\n{{.Code}}\n\n" + by + " ada@example.com .\n\n" + button + "f\n"; r.Text != want {
				t.Errorf("%s: text\n%s\nwant\n%s", kind, r.Text, want)
			}
			for n := range parse(t, r.HTML).Descendants() {
				for _, a := range n.Attr {
					if a.Key == "href" && a.Val != page {
						t.Errorf("%s has a link: %v", kind, n.Attr)
					}
				}
			}
			if strings.Contains(r.Text+r.HTML+r.Subject, codeMark) {
				t.Errorf("%s has the mark of a code", kind)
			}
		}
	}
}
