package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
)

func (w world) set(
	t *testing.T, organizationID string, r *textv1.SetMessageTextRequest,
) *textv1.SetMessageTextResponse {
	t.Helper()
	got, err := w.gateway.SetMessageText(w.as(t.Context(), organizationID, "ORG_SETTINGS_MANAGER"), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// An organization writes its own text, changes it and removes it.
func TestOwnText(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.as(t.Context(), "o1", "ORG_OWNER")
	standard := w.read(t, "o1", "de")
	own := &textv1.SetMessageTextRequest{
		Kind: "init", Language: "DE", Subject: " Servus, {{.FirstName}} ", Text: "eins\r\nzwei\tdrei\n",
	}
	first := w.set(t, "o1", own)
	got := w.read(t, "o1", "de")
	if d := first.Details; d.Sequence == 0 || d.CreationDate != nil || d.ResourceOwner != "o1" ||
		got.Details.Sequence != d.Sequence ||
		!proto.Equal(got.Details.ChangeDate, d.ChangeDate) || !proto.Equal(got.Details.CreationDate, d.ChangeDate) {
		t.Errorf("written %v, read %v", d, got.Details)
	}
	want := proto.CloneOf(standard)
	want.Subject, want.Text, want.IsDefault, want.Details = own.Subject, "eins\nzwei\tdrei\n", false, got.Details
	if !proto.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if again := w.set(t, "o1", own); !proto.Equal(again, first) {
		t.Errorf("the same again answered %v, want %v", again, first)
	}

	// PUT replaces all parts: those that are not sent have their default texts again.
	second := w.set(t, "o1", &textv1.SetMessageTextRequest{
		Kind: "init", Language: "de", Subject: own.Subject, ButtonText: "Los",
	})
	got = w.read(t, "o1", "de")
	if got.Text != standard.Text || got.ButtonText != "Los" || got.Details.Sequence != second.Details.Sequence ||
		second.Details.Sequence <= first.Details.Sequence ||
		!proto.Equal(got.Details.CreationDate, first.Details.ChangeDate) || !proto.Equal(got.Details.ChangeDate,
		second.Details.ChangeDate) {
		t.Errorf("replaced by %v, read %v", second, got)
	}

	reset, err := w.gateway.RemoveMessageText(owner, &textv1.RemoveMessageTextRequest{Kind: "init", Language: "de"})
	if err != nil || reset.Details.Sequence <= second.Details.Sequence || reset.Details.ResourceOwner != "o1" {
		t.Errorf("%v, %v", reset, err)
	}
	if got := w.read(t, "o1", "de"); !proto.Equal(got, standard) {
		t.Errorf("after the reset %v, want %v", got, standard)
	}
	_, err = w.gateway.RemoveMessageText(owner, &textv1.RemoveMessageTextRequest{Kind: "init", Language: "de"})
	refused(t, err, textfault.ErrCustomTextNotFound)

	events := w.events(t)
	about := event{Aggregate: "message", AggregateID: "o1/init/de", OrganizationID: "o1", Actor: "u1"}
	for i, want := range []struct{ name, data string }{
		{"changed", `{"kind": "init", "changed": ["subject", "text"], "language": "de"}`},
		{"changed", `{"kind": "init", "changed": ["text", "buttonText"], "language": "de"}`},
		{"removed", `{"kind": "init", "language": "de"}`},
	} {
		about.Name, about.Data = want.name, want.data
		if len(events) != 3 || events[i] != about {
			t.Fatalf("event %d of %+v\nwant %+v", i, events, about)
		}
	}
}

// Texts whose parts are all empty are the default ones, whether or not there were others before.
func TestEmptyText(t *testing.T) {
	t.Parallel()
	w := open(t)
	standard := w.read(t, "o1", "en")
	empty := &textv1.SetMessageTextRequest{Kind: "init", Language: "en"}
	if got := w.set(t, "o1", empty); got.Details.Sequence != 0 ||
		!got.Details.ChangeDate.AsTime().Equal(w.firstStart(t)) || len(w.events(t)) != 0 {
		t.Errorf("nothing instead of nothing: %v, %v", got, w.events(t))
	}
	if got := w.read(t, "o1", "en"); !proto.Equal(got, standard) {
		t.Errorf("got %v, want %v", got, standard)
	}
	w.set(t, "o1", &textv1.SetMessageTextRequest{Kind: "init", Language: "en", Title: "Mine"})
	if last := w.set(t, "o1", empty); last.Details.Sequence == 0 {
		t.Errorf("the change has no number: %v", last)
	}
	if got := w.read(t, "o1", "en"); !proto.Equal(got, standard) {
		t.Errorf("got %v, want %v", got, standard)
	}
	if again := w.set(t, "o1", empty); again.Details.Sequence != 0 {
		t.Errorf("nothing instead of nothing again: %v", again)
	}
	_, err := w.gateway.RemoveMessageText(w.as(t.Context(), "o1", "ORG_OWNER"),
		&textv1.RemoveMessageTextRequest{Kind: "init", Language: "en"})
	refused(t, err, textfault.ErrCustomTextNotFound)
}

// Each organization, message and language has texts of its own.
func TestTextsAreApart(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.set(t, "o1", &textv1.SetMessageTextRequest{Kind: "verifyemail", Language: "de", Title: "o1 verifyemail de"})
	resolve := func(organizationID, kind, language string) *textv1.CustomText {
		r, err := w.mailer.ResolveMessageText(t.Context(), &textv1.ResolveMessageTextRequest{
			OrgId: organizationID, Kind: kind, PreferredLanguage: language,
		})
		if err != nil {
			t.Fatal(err)
		}
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
	_, err := w.gateway.RemoveMessageText(w.as(t.Context(), "o2", "ORG_OWNER"),
		&textv1.RemoveMessageTextRequest{Kind: "verifyemail", Language: "de"})
	refused(t, err, textfault.ErrCustomTextNotFound)
	standard, err := w.gateway.GetDefaultMessageText(w.as(t.Context(), "o1", "ORG_OWNER"),
		&textv1.GetMessageTextRequest{Kind: "verifyemail", Language: "de-CH"})
	if err != nil {
		t.Fatal(err)
	}
	want := resolve("o2", "verifyemail", "de")
	want.Details.ResourceOwner = "o1"
	if !proto.Equal(standard.CustomText, want) {
		t.Errorf("the default text is %v, want %v", standard.CustomText, want)
	}
}

// After simultaneous writes one of the texts is stored, whole, with one event for each change, in
// order.
func TestTextsAtOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	const writers = 20
	sequences := make([]uint64, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			word := fmt.Sprint("writer ", i)
			sequences[i] = w.set(t, "o1", &textv1.SetMessageTextRequest{Kind: "init", Language: "en", Title: word,
				Text: word, FooterText: word}).Details.Sequence
		})
	}
	all.Wait()
	last, at := uint64(0), 0
	seen := map[uint64]bool{}
	for i, s := range sequences {
		seen[s] = true
		if s > last {
			last, at = s, i
		}
	}
	got, word := w.read(t, "o1", "en"), fmt.Sprint("writer ", at)
	if got.Title != word || got.Text != word || got.FooterText != word || got.Details.Sequence != last {
		t.Errorf("%v, want that of %s with %d", got, word, last)
	}
	if n := len(w.events(t)); n != writers || len(seen) != writers {
		t.Errorf("%d events and %d sequences of %d changes", n, len(seen), writers)
	}
	var made, first time.Time
	if err := w.service.DB.QueryRow(t.Context(), `select c.created_at, e.time from custom_texts c, events e order by `+
		`e.position limit 1`).Scan(&made, &first); err != nil {
		t.Fatal(err)
	}
	if !made.Equal(first) {
		t.Errorf("made at %v, first written at %v", made, first)
	}
}

// After a simultaneous removal and change the later one counts.
func TestResetAndWriteAtOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.as(t.Context(), "o1", "ORG_OWNER")
	for round := range 10 {
		w.set(t, "o1", &textv1.SetMessageTextRequest{Kind: "init", Language: "en", Title: fmt.Sprint("before ", round)})
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
			written = w.set(t, "o1", &textv1.SetMessageTextRequest{
				Kind: "init", Language: "en", Title: fmt.Sprint("after ", round),
			})
		})
		all.Wait()
		if got := w.read(t, "o1", "en"); got.IsDefault != (reset.GetDetails().GetSequence() > written.GetDetails().
			GetSequence()) {
			t.Errorf("reset %v, written %v, read %v", reset, written, got)
		}
	}
}

func TestTextRefusals(t *testing.T) {
	t.Parallel()
	w := open(t)
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
			t.Parallel()
			owner := w.as(t.Context(), "o1", "ORG_OWNER")
			_, err := w.gateway.SetMessageText(owner, test.r)
			refused(t, err, test.want, test.fields...)
			_, err = w.gateway.PreviewMessageText(owner, test.r)
			refused(t, err, test.want, test.fields...)
		})
	}
	t.Cleanup(func() {
		var n int
		if err := w.service.DB.QueryRow(context.WithoutCancel(t.Context()), `select (select count(*) from `+
			`custom_texts) + (select count(*) from events)`).Scan(&n); err != nil || n != 0 {
			t.Errorf("refused texts left %d rows, %v", n, err)
		}
	})
	longest := &textv1.SetMessageTextRequest{
		Kind: "init", Language: "ja", Title: long[:2000], PreHeader: long[:2000], Subject: long[:2000],
		Greeting: long[:4000], Text: long[:40000], ButtonText: long[:4000], FooterText: long[:8000],
	}
	if _, err := w.gateway.PreviewMessageText(w.as(t.Context(), "o1", "ORG_OWNER"), longest); err != nil {
		t.Errorf("the longest texts: %v", err)
	}
	for _, kind := range []string{"", "nope", "Init"} {
		_, err := w.gateway.RemoveMessageText(w.as(t.Context(), "o1", "ORG_OWNER"),
			&textv1.RemoveMessageTextRequest{Kind: kind, Language: "!"})
		refused(t, err, textfault.ErrMessageKindNotFound)
		_, err = w.gateway.GetDefaultMessageText(w.as(t.Context(), "o1", "ORG_OWNER"),
			&textv1.GetMessageTextRequest{Kind: kind, Language: "!"})
		refused(t, err, textfault.ErrMessageKindNotFound)
	}
	_, err := w.gateway.RemoveMessageText(w.as(t.Context(), "o1", "ORG_OWNER"),
		&textv1.RemoveMessageTextRequest{Kind: "init", Language: "de-CH"})
	refused(t, err, textfault.ErrLanguageNotSupported, "language")
	_, err = w.gateway.GetDefaultMessageText(w.as(t.Context(), "o1", "ORG_OWNER"),
		&textv1.GetMessageTextRequest{Kind: "init", Language: "!"})
	refused(t, err, textfault.ErrLanguageInvalid, "language")
}

// What each role may do with texts and languages.
func TestPermissionsOfTexts(t *testing.T) {
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
			w.set(t, "o1", &textv1.SetMessageTextRequest{Kind: "init", Language: "de", Title: "y"})
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
		"ORG_USER_MANAGER": {w.as(t.Context(), "o1", "ORG_USER_MANAGER"), "read languages"},
		"ORG_SETTINGS_MANAGER": {w.as(t.Context(), "o1", "ORG_SETTINGS_MANAGER"),
			read + ", " + change + ", read languages"},
		"IAM_OWNER_VIEWER":      {w.inInstance(t.Context(), "IAM_OWNER_VIEWER"), read + ", read languages"},
		"IAM role in the wrong": {w.as(t.Context(), "o1", "IAM_OWNER"), "read languages"},
	} {
		may := map[string]bool{}
		for call := range strings.SplitSeq(test.may, ", ") {
			may[call] = true
		}
		for name, call := range calls {
			err := call(test.ctx)
			if may[name] && err != nil {
				t.Errorf("%s, %s: %v", who, name, err)
			} else if !may[name] {
				refused(t, err, fault.ErrPermissionDenied)
			}
		}
	}
}
