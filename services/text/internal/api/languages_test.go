package api_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/text"
	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/testkit"
)

func (w world) setDefault(t *testing.T, language string) *textv1.SetDefaultLanguageResponse {
	t.Helper()
	r, err := w.gateway.SetDefaultLanguage(w.inInstance(t.Context(), "IAM_OWNER"),
		&textv1.SetDefaultLanguageRequest{Language: language})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w world) setAllowed(t *testing.T, languages ...string) *textv1.SetAllowedLanguagesResponse {
	t.Helper()
	r, err := w.gateway.SetAllowedLanguages(w.inInstance(t.Context(), "IAM_OWNER"),
		&textv1.SetAllowedLanguagesRequest{Languages: languages})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w world) defaultLanguage(t *testing.T) *textv1.GetDefaultLanguageResponse {
	t.Helper()
	r, err := w.gateway.GetDefaultLanguage(w.as(t.Context(), "o1"), &textv1.GetDefaultLanguageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w world) allowed(t *testing.T) *textv1.GetAllowedLanguagesResponse {
	t.Helper()
	r, err := w.gateway.GetAllowedLanguages(w.as(t.Context(), "o1"), &textv1.GetAllowedLanguagesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// language returns the language of the mail to a reader.
func (w world) language(t *testing.T, preferred string) string {
	t.Helper()
	r, err := w.mailer.ResolveMessageText(t.Context(), &textv1.ResolveMessageTextRequest{
		OrgId: "o1", Kind: "init", PreferredLanguage: preferred,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Language
}

func TestDefaultLanguageIsChanged(t *testing.T) {
	t.Parallel()
	w := open(t)
	before, began := w.defaultLanguage(t), w.firstStart(t)
	if d := before.Details; before.Language != "fr" || d.Sequence != 0 || d.ResourceOwner != "" ||
		!d.CreationDate.AsTime().Equal(began) || !d.ChangeDate.AsTime().Equal(began) {
		t.Errorf("before any change %v, first start %v", before, began)
	}
	if got := w.setDefault(t, "FR"); got.Details.Sequence != 0 || len(w.events(t)) != 0 {
		t.Errorf("the same language: %v, %v", got, w.events(t))
	}
	set := w.setDefault(t, "It")
	got := w.defaultLanguage(t)
	if d := set.Details; got.Language != "it" || d.Sequence == 0 || d.CreationDate != nil ||
		got.Details.Sequence != d.Sequence ||
		!proto.Equal(got.Details.ChangeDate, d.ChangeDate) || !got.Details.CreationDate.AsTime().Equal(began) {
		t.Errorf("set %v, read %v", set, got)
	}
	if again := w.setDefault(t, "it"); !proto.Equal(again, set) {
		t.Errorf("the same again answered %v, want %v", again, set)
	}
	for _, language := range []string{"tlh", "it-CH", "!"} {
		_, err := w.gateway.SetDefaultLanguage(w.inInstance(t.Context(), "IAM_OWNER"),
			&textv1.SetDefaultLanguageRequest{Language: language})
		refused(t, err, textfault.ErrLanguageNotSupported, "language")
	}
	if want := []event{{"languages", "instance", "default_changed", "", "admin", `{"language": "it"}`}}; !slices.Equal(
		w.events(t), want) {
		t.Errorf("events %v", w.events(t))
	}
	// The default is used for specification 4.3 and for readers without a language.
	if got := w.read(t, "o1", "tlh"); got.Subject != w.read(t, "o1", "it").Subject {
		t.Errorf("an unsupported language is answered with %q", got.Subject)
	}
	if got := w.language(t, ""); got != "it" {
		t.Errorf("a reader without a language gets %s", got)
	}
}

func TestReadersGetAllowedLanguages(t *testing.T) {
	t.Parallel()
	w := open(t)
	supported, err := w.gateway.ListLanguages(w.as(t.Context(), "o1"), &textv1.ListLanguagesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.allowed(t); !slices.Equal(got.Languages, supported.Languages) || got.Details.Sequence != 0 ||
		!got.Details.CreationDate.AsTime().Equal(w.firstStart(t)) {
		t.Errorf("before any change %v", got)
	}
	w.setAllowed(t, supported.Languages...)
	if len(w.events(t)) != 0 {
		t.Errorf("all instead of all is news: %v", w.events(t))
	}
	set := w.setAllowed(t, "FR", "de", "fr", "De")
	got := w.allowed(t)
	if !slices.Equal(got.Languages, []string{"de", "fr"}) || got.Details.Sequence != set.Details.Sequence ||
		!proto.Equal(got.Details.ChangeDate, set.Details.ChangeDate) {
		t.Errorf("set %v, read %v", set, got)
	}
	if again := w.setAllowed(t, "fr", "de"); !proto.Equal(again, set) {
		t.Errorf("the same again answered %v, want %v", again, set)
	}
	admin := w.inInstance(t.Context(), "IAM_OWNER")
	_, err = w.gateway.SetAllowedLanguages(admin,
		&textv1.SetAllowedLanguagesRequest{Languages: []string{"fr", "tlh", "", "de-CH"}})
	refused(t, err, textfault.ErrLanguageNotSupported, "languages[1]", "languages[2]", "languages[3]")
	_, err = w.gateway.SetAllowedLanguages(admin, &textv1.SetAllowedLanguagesRequest{Languages: []string{"de", "en"}})
	refused(t, err, textfault.ErrDefaultLanguageNotAllowed, "languages")
	_, err = w.gateway.SetAllowedLanguages(admin, &textv1.SetAllowedLanguagesRequest{Languages: make([]string, 101)})
	refused(t, err, fault.ErrInvalidArgument, "languages")
	_, err = w.gateway.SetDefaultLanguage(admin, &textv1.SetDefaultLanguageRequest{Language: "en"})
	refused(t, err, textfault.ErrLanguageNotAllowed, "language")
	if f, ok := errors.AsType[*fault.Fault](err); !ok || f.HTTPStatus() != 400 || f.Code != fault.Precondition {
		t.Errorf("%v", err)
	}
	for preferred, want := range map[string]string{"de-CH": "de", "en": "fr", "fr": "fr", "ja": "fr", "": "fr"} {
		t.Run("reader of "+preferred, func(t *testing.T) {
			if got := w.language(t, preferred); got != want {
				t.Errorf("gets %s, want %s", got, want)
			}
		})
	}
	pages, err := w.pages.ResolveLanguages(t.Context(), &textv1.ResolveLanguagesRequest{})
	if err != nil || pages.DefaultLanguage != "fr" || !slices.Equal(pages.AllowedLanguages, []string{"de", "fr"}) {
		t.Errorf("pages are told %v, %v", pages, err)
	}
	// Texts can still be written in every language, and the list of languages is the same.
	w.set(t, "o1", &textv1.SetMessageTextRequest{Kind: "init", Language: "ja", Title: "題"})
	if got := w.read(t, "o1", "ja"); got.Title != "題" {
		t.Errorf("a text in a language that is not allowed: %v", got)
	}
	if now, err := w.gateway.ListLanguages(admin, &textv1.ListLanguagesRequest{}); err != nil ||
		!proto.Equal(now, supported) {
		t.Errorf("supported are %v, %v", now, err)
	}
	w.setAllowed(t)
	if got := w.allowed(t); !slices.Equal(got.Languages, supported.Languages) || w.defaultLanguage(t).Language != "fr" {
		t.Errorf("all again: %v", got)
	}
	if e := w.events(t)[0]; e != (event{
		"languages", "instance", "allowed_changed", "", "admin", `{"languages": ["de", "fr"]}`,
	}) {
		t.Errorf("event %v", e)
	}
}

// After simultaneous changes the default language is an allowed one.
func TestDefaultLanguageStaysAllowed(t *testing.T) {
	t.Parallel()
	w := open(t)
	admin := w.inInstance(t.Context(), "IAM_OWNER")
	for range 10 {
		w.setAllowed(t)
		w.setDefault(t, "fr")
		var all sync.WaitGroup
		for _, language := range []string{"de", "en", "it"} {
			all.Go(func() {
				if _, err := w.gateway.SetDefaultLanguage(
					admin, &textv1.SetDefaultLanguageRequest{Language: language}); err != nil {
					refused(t, err, textfault.ErrLanguageNotAllowed, "language")
				}
			})
			all.Go(func() {
				if _, err := w.gateway.SetAllowedLanguages(
					admin, &textv1.SetAllowedLanguagesRequest{Languages: []string{"fr", language}}); err != nil {
					refused(t, err, textfault.ErrDefaultLanguageNotAllowed, "languages")
				}
			})
		}
		all.Wait()
		if r, err := w.pages.ResolveLanguages(t.Context(), &textv1.ResolveLanguagesRequest{}); err != nil ||
			!slices.Contains(r.AllowedLanguages, r.DefaultLanguage) {
			t.Fatalf("%v, %v", r, err)
		}
	}
}

// Simultaneous changes of the default and of the allowed languages are both kept.
func TestSimultaneousChangesOfLanguagesAreKept(t *testing.T) {
	t.Parallel()
	w := open(t)
	admin := w.inInstance(t.Context(), "IAM_OWNER")
	tx, err := w.service.DB.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select from languages for update`); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := w.gateway.SetDefaultLanguage(
			admin, &textv1.SetDefaultLanguageRequest{Language: "de"}); err != nil {
			t.Error(err)
		}
	})
	all.Go(func() {
		if _, err := w.gateway.SetAllowedLanguages(
			admin, &textv1.SetAllowedLanguagesRequest{Languages: []string{"de", "fr"}}); err != nil {
			t.Error(err)
		}
	})
	testkit.Waiting(t, w.service.DB, 2)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if got := w.allowed(t); w.defaultLanguage(t).Language != "de" ||
		!slices.Equal(got.Languages, []string{"de", "fr"}) {
		t.Errorf("the default language is %v, allowed are %v", w.defaultLanguage(t), got)
	}
}

// The setting is in use until languages are chosen. After that it cannot make a language the
// default that is not allowed.
func TestSettingCountsUntilLanguagesAreChosen(t *testing.T) {
	t.Parallel()
	g, database := testkit.Ground(t), kit.Database(t)
	start := func(setting string) world {
		s, err := g.Open(t.Context(), "text", database, text.Migrations)
		if err != nil {
			t.Fatal(err)
		}
		if err := text.New(t.Context(), s, text.Config{DefaultLanguage: setting}); err != nil {
			t.Fatal(err)
		}
		return newWorld(t, g, s)
	}
	w := start("fr")
	w.setAllowed(t)
	w.service.Close()
	if w = start("de"); w.defaultLanguage(t).Language != "de" {
		t.Error("the setting does not count though nothing was chosen")
	}
	w.setAllowed(t, "de", "fr")
	w.service.Close()
	if w = start("en"); w.defaultLanguage(t).Language != "de" {
		t.Error("the setting counts against what was chosen")
	}
	w.service.Close()
}
