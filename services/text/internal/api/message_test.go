package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/testkit"
)

func (w world) set(organizationID string, r *textv1.SetMessageTextRequest) *textv1.SetMessageTextResponse {
	w.Helper()
	got, err := w.gateway.SetMessageText(w.As(organizationID, "ORG_SETTINGS_MANAGER"), r)
	w.Must(nil, err)
	return got
}

// An organization writes its own text, changes it and removes it.
func TestOwnTextIsWrittenChangedAndRemoved(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.As("o1", "ORG_OWNER")
	standard := w.read("o1", "de")
	own := &textv1.SetMessageTextRequest{
		Kind: "init", Language: "DE", Subject: " Servus, {{.FirstName}} ", Text: "eins\r\nzwei\tdrei\n",
	}
	first := w.set("o1", own)
	later(t, first.Details, standard.Details)
	want := proto.CloneOf(standard)
	want.Subject, want.Text, want.IsDefault = own.Subject, "eins\nzwei\tdrei\n", false
	want.Details = since(first.Details, first.Details)
	testkit.Equal(t, w.read("o1", "de"), want)
	testkit.Equal(t, w.set("o1", own), first)

	// PUT replaces all parts: those that are not sent have their default texts again.
	second := w.set("o1", &textv1.SetMessageTextRequest{
		Kind: "init", Language: "de", Subject: own.Subject, ButtonText: "Los",
	})
	later(t, second.Details, first.Details)
	want.Text, want.ButtonText, want.Details = standard.Text, "Los", since(first.Details, second.Details)
	testkit.Equal(t, w.read("o1", "de"), want)

	this := &textv1.RemoveMessageTextRequest{Kind: "init", Language: "de"}
	removed, err := w.gateway.RemoveMessageText(owner, this)
	w.Must(removed, err)
	later(t, removed.Details, second.Details)
	testkit.Equal(t, w.read("o1", "de"), standard)
	_, err = w.gateway.RemoveMessageText(owner, this)
	refused(t, err, textfault.ErrCustomTextNotFound)
	events := []event{
		{"message", "o1/init/de", "changed", "o1", "user-o1",
			`{"kind": "init", "changed": ["subject", "text"], "language": "de"}`},
		{"message", "o1/init/de", "changed", "o1", "user-o1",
			`{"kind": "init", "changed": ["text", "buttonText"], "language": "de"}`},
		{"message", "o1/init/de", "removed", "o1", "user-o1", `{"kind": "init", "language": "de"}`},
	}
	if got := w.events(); !slices.Equal(got, events) {
		t.Errorf("events %+v\nwant %+v", got, events)
	}
}

// Texts whose parts are all empty are the default ones, whether or not there were others before.
func TestEmptyTextIsDefault(t *testing.T) {
	t.Parallel()
	w := open(t)
	standard := w.read("o1", "en")
	empty := &textv1.SetMessageTextRequest{Kind: "init", Language: "en"}
	unwritten := w.set("o1", empty)
	if unwritten.Details.Sequence != 0 || len(w.events()) != 0 {
		t.Errorf("an empty text in place of the default one: %v, %v", unwritten, w.events())
	}
	testkit.Equal(t, w.read("o1", "en"), standard)
	w.set("o1", &textv1.SetMessageTextRequest{Kind: "init", Language: "en", Title: "Mine"})
	if last := w.set("o1", empty); last.Details.Sequence == 0 {
		t.Errorf("the change has no number: %v", last)
	}
	testkit.Equal(t, w.read("o1", "en"), standard)
	testkit.Equal(t, w.set("o1", empty), unwritten)
	_, err := w.gateway.RemoveMessageText(w.As("o1", "ORG_OWNER"),
		&textv1.RemoveMessageTextRequest{Kind: "init", Language: "en"})
	refused(t, err, textfault.ErrCustomTextNotFound)
}

// Each organization, message and language has texts of its own.
func TestEachOrganizationKindAndLanguageHasItsOwnText(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.set("o1", &textv1.SetMessageTextRequest{Kind: "verifyemail", Language: "de", Title: "o1 verifyemail de"})
	resolve := func(organizationID, kind, language string) *textv1.CustomText {
		r, err := w.mailer.ResolveMessageText(t.Context(), &textv1.ResolveMessageTextRequest{
			OrgId: organizationID, Kind: kind, PreferredLanguage: language,
		})
		w.Must(r, err)
		return r.CustomText
	}
	for _, organizationID := range []string{"o1", "o2"} {
		for _, kind := range []string{"init", "verifyemail", "passwordreset"} {
			for _, language := range []string{"de", "en"} {
				own := organizationID+kind+language == "o1verifyemailde"
				if got := resolve(organizationID, kind, language); got.IsDefault == own ||
					(got.Title == "o1 verifyemail de") != own {
					t.Errorf("%s %s %s: %v", organizationID, kind, language, got)
				}
			}
		}
	}
	_, err := w.gateway.RemoveMessageText(w.As("o2", "ORG_OWNER"),
		&textv1.RemoveMessageTextRequest{Kind: "verifyemail", Language: "de"})
	refused(t, err, textfault.ErrCustomTextNotFound)
	standard, err := w.gateway.GetDefaultMessageText(w.As("o1", "ORG_OWNER"),
		&textv1.GetMessageTextRequest{Kind: "verifyemail", Language: "de-CH"})
	w.Must(standard, err)
	want := resolve("o2", "verifyemail", "de")
	want.Details.ResourceOwner = "o1"
	testkit.Equal(t, standard.CustomText, want)
}

// After a simultaneous removal and change the later one counts.
func TestLaterOfSimultaneousRemovalAndChangeCounts(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.As("o1", "ORG_OWNER")
	for round := range 10 {
		w.set("o1", &textv1.SetMessageTextRequest{Kind: "init", Language: "en", Title: fmt.Sprint("before ", round)})
		var reset *textv1.RemoveMessageTextResponse
		var written *textv1.SetMessageTextResponse
		var all sync.WaitGroup
		all.Go(func() {
			var err error
			if reset, err = w.gateway.RemoveMessageText(owner, &textv1.RemoveMessageTextRequest{Kind: "init",
				Language: "en"}); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			written = w.set("o1", &textv1.SetMessageTextRequest{
				Kind: "init", Language: "en", Title: fmt.Sprint("after ", round),
			})
		})
		all.Wait()
		if got := w.read("o1", "en"); got.IsDefault != (reset.GetDetails().GetSequence() > written.GetDetails().
			GetSequence()) {
			t.Errorf("reset %v, written %v, read %v", reset, written, got)
		}
	}
}

func TestWrongTextIsRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.As("o1", "ORG_OWNER")
	long := strings.Repeat("x", 40001)
	for _, test := range []struct {
		name   string
		r      *textv1.SetMessageTextRequest
		want   *fault.Fault
		fields []string
	}{
		{"no such kind", &textv1.SetMessageTextRequest{Kind: "nope", Language: "xx", Title: "{{"},
			textfault.ErrMessageKindNotFound, nil},
		{"not listed", &textv1.SetMessageTextRequest{Kind: "init", Language: "de-CH", Title: "{{"},
			textfault.ErrLanguageNotSupported, []string{"language"}},
		{"no tag", &textv1.SetMessageTextRequest{Kind: "init", Language: "!"}, textfault.ErrLanguageNotSupported,
			[]string{"language"}},
		{"too long", &textv1.SetMessageTextRequest{
			Kind: "init", Language: "de", Title: long[:2001], PreHeader: long[:2001], Subject: long[:2001],
			Greeting: long[:4001], Text: long, ButtonText: long[:4001], FooterText: long[:8001],
		},
			fault.ErrInvalidArgument, []string{
				"title", "preHeader", "subject", "greeting", "text", "buttonText", "footerText",
			}},
		{"all faulty", &textv1.SetMessageTextRequest{
			Kind: "init", Language: "de", Title: "{{.Nope}}", PreHeader: "a\tb", Subject: "a\r\nBcc: b@example.com",
			Greeting: "}}", Text: "{{printf}}", ButtonText: " ", FooterText: "\x00",
		},
			textfault.ErrMessageTextInvalid, []string{"title", "preHeader", "subject", "greeting", "text", "buttonText",
				"footerText"}},
		{"the code in the subject", &textv1.SetMessageTextRequest{Kind: "init", Language: "de", Subject: "{{.Code}}",
			Text: "{{.Code}}"}, textfault.ErrMessageTextInvalid, []string{"subject"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := w.gateway.SetMessageText(owner, test.r)
			refused(t, err, test.want, test.fields...)
			_, err = w.gateway.PreviewMessageText(owner, test.r)
			refused(t, err, test.want, test.fields...)
		})
	}
	longest := &textv1.SetMessageTextRequest{
		Kind: "init", Language: "ja", Title: long[:2000], PreHeader: long[:2000], Subject: long[:2000],
		Greeting: long[:4000], Text: long[:40000], ButtonText: long[:4000], FooterText: long[:8000],
	}
	if _, err := w.gateway.PreviewMessageText(owner, longest); err != nil {
		t.Errorf("the longest texts: %v", err)
	}
	for _, kind := range []string{"", "nope", "Init"} {
		_, err := w.gateway.RemoveMessageText(owner,
			&textv1.RemoveMessageTextRequest{Kind: kind, Language: "!"})
		refused(t, err, textfault.ErrMessageKindNotFound)
		_, err = w.gateway.GetDefaultMessageText(owner,
			&textv1.GetMessageTextRequest{Kind: kind, Language: "!"})
		refused(t, err, textfault.ErrMessageKindNotFound)
	}
	_, err := w.gateway.RemoveMessageText(owner,
		&textv1.RemoveMessageTextRequest{Kind: "init", Language: "de-CH"})
	refused(t, err, textfault.ErrLanguageNotSupported, "language")
	_, err = w.gateway.GetDefaultMessageText(owner,
		&textv1.GetMessageTextRequest{Kind: "init", Language: "!"})
	refused(t, err, textfault.ErrLanguageInvalid, "language")
	if n := w.Rows("custom_texts") + w.Rows("events"); n != 0 {
		t.Errorf("refused texts left %d rows", n)
	}
}

// An earlier version accepted the text. The organization can read it, and nobody gets it.
func TestTextThatIsRefusedTodayIsNotSent(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.exec(`insert into custom_texts (
			org_id, kind, language, sequence, created_at, changed_at, title, pre_header, subject,
		greeting, text, button_text, footer_text) values ('o1', 'init', 'en', 1, now(), now(), 'Own', '', '', '',
		'https://evil.example/?c={{.Code}}', '', '')`)
	own, err := w.gateway.GetMessageText(w.inInstance("IAM_OWNER"),
		&textv1.GetMessageTextRequest{Kind: "init", Language: "en"})
	w.Must(own, err)
	resolved, err := w.mailer.ResolveMessageText(w.Context(), &textv1.ResolveMessageTextRequest{
		Kind: "init", OrgId: "o1", PreferredLanguage: "en"})
	w.Must(resolved, err)
	read, sent := own.CustomText, resolved.CustomText
	if read.Title != "Own" || read.IsDefault || sent.Title == "Own" || strings.Contains(sent.Text, "evil") ||
		!sent.IsDefault || !strings.Contains(sent.Text, "{{.Expiry}}") {
		t.Errorf("read %v, sent %v", read, sent)
	}
}

// What each role may do with texts and languages.
func TestRolesLimitWhatIsDoneWithTexts(t *testing.T) {
	t.Parallel()
	w := open(t)
	calls := map[string]func(context.Context) error{
		"read": func(ctx context.Context) error {
			_, err := w.gateway.GetMessageText(ctx, &textv1.GetMessageTextRequest{Kind: "init", Language: "de"})
			return err
		},
		"read default": func(ctx context.Context) error {
			_, err := w.gateway.GetDefaultMessageText(ctx, &textv1.GetMessageTextRequest{Kind: "init", Language: "de"})
			return err
		},
		"preview": func(ctx context.Context) error {
			_, err := w.gateway.PreviewMessageText(ctx, &textv1.SetMessageTextRequest{Kind: "init", Language: "de"})
			return err
		},
		"write": func(ctx context.Context) error {
			_, err := w.gateway.SetMessageText(ctx, &textv1.SetMessageTextRequest{
				Kind: "init", Language: "de", Title: "x",
			})
			return err
		},
		"reset": func(ctx context.Context) error {
			w.set("o1", &textv1.SetMessageTextRequest{Kind: "init", Language: "de", Title: "y"})
			_, err := w.gateway.RemoveMessageText(ctx, &textv1.RemoveMessageTextRequest{Kind: "init", Language: "de"})
			return err
		},
		"read languages": func(ctx context.Context) error {
			if _, err := w.gateway.GetDefaultLanguage(ctx, &textv1.GetDefaultLanguageRequest{}); err != nil {
				return err
			}
			_, err := w.gateway.GetAllowedLanguages(ctx, &textv1.GetAllowedLanguagesRequest{})
			return err
		},
		"set default": func(ctx context.Context) error {
			_, err := w.gateway.SetDefaultLanguage(ctx, &textv1.SetDefaultLanguageRequest{Language: "de"})
			return err
		},
		"set allowed": func(ctx context.Context) error {
			_, err := w.gateway.SetAllowedLanguages(ctx, &textv1.SetAllowedLanguagesRequest{})
			return err
		},
	}
	read, change := "read, read default, preview", "write, reset"
	for who, test := range map[string]struct {
		ctx context.Context
		may string
	}{
		"ORG_USER_MANAGER": {w.As("o1", "ORG_USER_MANAGER"), "read languages"},
		"ORG_SETTINGS_MANAGER": {w.As("o1", "ORG_SETTINGS_MANAGER"),
			read + ", " + change + ", read languages"},
		"IAM_OWNER_VIEWER":      {w.inInstance("IAM_OWNER_VIEWER"), read + ", read languages"},
		"IAM role in the wrong": {w.As("o1", "IAM_OWNER"), "read languages"},
	} {
		may := map[string]bool{}
		for call := range strings.SplitSeq(test.may, ", ") {
			may[call] = true
		}
		for name, call := range calls {
			t.Run(who+" "+name, func(t *testing.T) {
				err := call(test.ctx)
				if may[name] && err != nil {
					t.Error(err)
				} else if !may[name] {
					refused(t, err, fault.ErrPermissionDenied)
				}
			})
		}
	}
}
