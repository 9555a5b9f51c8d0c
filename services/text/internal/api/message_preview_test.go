package api

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/mailer"
	"herald/shared/resource"
)

// Accepted texts can be sent, also to the reader with the longest names.
func TestAcceptedCanBeSent(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("𠮷", 200)
	long := &usersv1.PrepareMailResponse{
		FirstName: name, LastName: name, NickName: name, DisplayName: name + " " + name, UserName: name, OrgName: name,
		Recipient: name, VerifiedEmail: name, OrgId: name, Expiry: timestamppb.Now(),
	}
	fill := func(text string, size int) string { return text + strings.Repeat("x", size-len(text)) }
	own := domain.Texts{
		Title: fill("", 2000), PreHeader: fill("", 2000), Subject: fill("", 2000), Greeting: fill("", 4000),
		Text: fill("", 40000), ButtonText: fill("", 4000), FooterText: fill("", 8000),
	}
	if _, err := own.Accept(mail.Init); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ { // as many placeholders as are accepted
		more := own
		more.Text = fill(strings.Repeat("{{.DisplayName}}", n), 40000)
		if _, err := more.Accept(mail.Init); err != nil {
			break
		}
		own = more
	}
	c, err := domain.NewCatalog("en")
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range c.Languages() {
		for _, kind := range mail.Kinds() {
			standard, err := c.Default(string(kind), language)
			if err != nil {
				t.Fatal(err)
			}
			defaults := own
			defaults.Title, defaults.PreHeader, defaults.Subject, defaults.Greeting, defaults.ButtonText,
				defaults.FooterText = "", "", "", "", "", ""
			for _, texts := range []domain.Texts{own, defaults} {
				_, err := mailer.Mail{
					PublicURL: "https://id.example.com", Kind: kind, UserID: name, Reader: long, Language: language,
					Text: customText(texts.Or(standard), resource.Record{}, store.Key{}),
				}.Render()
				if err != nil {
					t.Errorf("%s %s: %v", language, kind, err)
				}
			}
		}
	}
}
