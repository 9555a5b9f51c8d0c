package api_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/testkit"
)

func (w world) setDefault(language string) *textv1.SetDefaultLanguageResponse {
	w.Helper()
	r, err := w.gateway.SetDefaultLanguage(w.inInstance("IAM_OWNER"),
		&textv1.SetDefaultLanguageRequest{Language: language})
	w.Must(r, err)
	return r
}

func (w world) setAllowed(languages ...string) *textv1.SetAllowedLanguagesResponse {
	w.Helper()
	r, err := w.gateway.SetAllowedLanguages(w.inInstance("IAM_OWNER"),
		&textv1.SetAllowedLanguagesRequest{Languages: languages})
	w.Must(r, err)
	return r
}

func (w world) defaultLanguage() *textv1.GetDefaultLanguageResponse {
	w.Helper()
	r, err := w.gateway.GetDefaultLanguage(w.As("o1"), &textv1.GetDefaultLanguageRequest{})
	w.Must(r, err)
	return r
}

func (w world) allowed() *textv1.GetAllowedLanguagesResponse {
	w.Helper()
	r, err := w.gateway.GetAllowedLanguages(w.As("o1"), &textv1.GetAllowedLanguagesRequest{})
	w.Must(r, err)
	return r
}

func (w world) supported() []string {
	w.Helper()
	r, err := w.gateway.ListLanguages(w.As("o1"), &textv1.ListLanguagesRequest{})
	w.Must(r, err)
	return r.Languages
}

// language returns the language of the mail to a reader.
func (w world) language(preferred string) string {
	w.Helper()
	r, err := w.mailer.ResolveMessageText(w.Context(), &textv1.ResolveMessageTextRequest{
		OrgId: "o1", Kind: "init", PreferredLanguage: preferred,
	})
	w.Must(r, err)
	return r.Language
}

func TestDefaultLanguageIsChanged(t *testing.T) {
	t.Parallel()
	w := open(t)
	before := w.unchanged("")
	testkit.Equal(t, w.defaultLanguage(), &textv1.GetDefaultLanguageResponse{Language: "fr", Details: before})
	if got := w.setDefault("FR"); got.Details.Sequence != 0 || len(w.events()) != 0 {
		t.Errorf("the same language: %v, %v", got, w.events())
	}
	set := w.setDefault("It")
	later(t, set.Details, before)
	want := proto.CloneOf(set.Details)
	want.CreationDate = before.CreationDate
	testkit.Equal(t, w.defaultLanguage(), &textv1.GetDefaultLanguageResponse{Language: "it", Details: want})
	testkit.Equal(t, w.setDefault("it"), set)
	for _, language := range []string{"tlh", "it-CH", "!"} {
		_, err := w.gateway.SetDefaultLanguage(w.inInstance("IAM_OWNER"),
			&textv1.SetDefaultLanguageRequest{Language: language})
		refused(t, err, textfault.ErrLanguageNotSupported, "language")
	}
	events := []event{{"languages", "instance", "default_changed", "", "admin", `{"language": "it"}`}}
	if got := w.events(); !slices.Equal(got, events) {
		t.Errorf("events %v", got)
	}
	// The default is used for languages that are not supported and for readers without a language.
	if got := w.read("o1", "tlh"); got.Subject != w.read("o1", "it").Subject {
		t.Errorf("an unsupported language is answered with %q", got.Subject)
	}
	if got := w.language(""); got != "it" {
		t.Errorf("a reader without a language gets %s", got)
	}
}

func TestAllowedLanguagesAreChanged(t *testing.T) {
	t.Parallel()
	w := open(t)
	supported, before := w.supported(), w.unchanged("")
	all := &textv1.GetAllowedLanguagesResponse{Languages: supported, Details: before}
	testkit.Equal(t, w.allowed(), all)
	w.setAllowed(supported...)
	if got := w.events(); len(got) != 0 {
		t.Errorf("allowing all languages again has the events %v", got)
	}
	set := w.setAllowed("FR", "de", "fr", "De")
	later(t, set.Details, before)
	want := proto.CloneOf(set.Details)
	want.CreationDate = before.CreationDate
	testkit.Equal(t, w.allowed(), &textv1.GetAllowedLanguagesResponse{Languages: []string{"de", "fr"}, Details: want})
	testkit.Equal(t, w.setAllowed("fr", "de"), set)
	events := []event{{"languages", "instance", "allowed_changed", "", "admin", `{"languages": ["de", "fr"]}`}}
	if got := w.events(); !slices.Equal(got, events) {
		t.Errorf("events %v", got)
	}
	if got := w.supported(); !slices.Equal(got, supported) {
		t.Errorf("supported are %v, want %v", got, supported)
	}
	w.setAllowed()
	if got := w.allowed(); !slices.Equal(got.Languages, supported) || w.defaultLanguage().Language != "fr" {
		t.Errorf("all again: %v", got)
	}
}

func TestDefaultLanguageThatIsNotAllowedIsRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.setAllowed("fr", "de")
	admin := w.inInstance("IAM_OWNER")
	for name, c := range map[string]struct {
		languages []string
		want      *fault.Fault
		fields    []string
	}{
		"not supported": {[]string{"fr", "tlh", "", "de-CH"}, textfault.ErrLanguageNotSupported,
			[]string{"languages[1]", "languages[2]", "languages[3]"}},
		"without the default": {[]string{"de", "en"}, textfault.ErrDefaultLanguageNotAllowed, []string{"languages"}},
		"too many":            {make([]string, 101), fault.ErrInvalidArgument, []string{"languages"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.gateway.SetAllowedLanguages(admin, &textv1.SetAllowedLanguagesRequest{Languages: c.languages})
			refused(t, err, c.want, c.fields...)
		})
	}
	_, err := w.gateway.SetDefaultLanguage(admin, &textv1.SetDefaultLanguageRequest{Language: "en"})
	refused(t, err, textfault.ErrLanguageNotAllowed, "language")
	if status := fault.From(err).HTTPStatus(); status != http.StatusBadRequest {
		t.Errorf("the status is %d", status)
	}
}

func TestMailsAndPagesAreInAllowedLanguages(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.setAllowed("fr", "de")
	for preferred, want := range map[string]string{"de-CH": "de", "en": "fr", "fr": "fr", "ja": "fr", "": "fr"} {
		t.Run("reader of "+preferred, func(t *testing.T) {
			if got := w.language(preferred); got != want {
				t.Errorf("gets %s, want %s", got, want)
			}
		})
	}
	pages, err := w.pages.ResolveLanguages(t.Context(), &textv1.ResolveLanguagesRequest{})
	w.Must(pages, err)
	testkit.Equal(t, pages, &textv1.ResolveLanguagesResponse{
		DefaultLanguage: "fr", AllowedLanguages: []string{"de", "fr"},
	})
	// Texts can still be written in every language.
	w.set("o1", &textv1.SetMessageTextRequest{Kind: "init", Language: "ja", Title: "題"})
	if got := w.read("o1", "ja"); got.Title != "題" {
		t.Errorf("a text in a language that is not allowed: %v", got)
	}
}

// After simultaneous changes the default language is an allowed one.
func TestDefaultLanguageStaysAllowed(t *testing.T) {
	t.Parallel()
	w := open(t)
	admin := w.inInstance("IAM_OWNER")
	for range 10 {
		w.setAllowed()
		w.setDefault("fr")
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

// The setting is in use until languages are chosen. After that it cannot make a language the
// default that is not allowed.
func TestSettingIsUsedUntilLanguagesAreChosen(t *testing.T) {
	t.Parallel()
	g, database := testkit.Ground(t), kit.Database(t)
	with := func(setting string) world { return newWorld(t, g, start(t, g, database, setting)) }
	w := with("fr")
	w.setAllowed()
	w.Service.Close()
	if w = with("de"); w.defaultLanguage().Language != "de" {
		t.Error("the setting is not used although nothing was chosen")
	}
	w.setAllowed("de", "fr")
	w.Service.Close()
	if w = with("en"); w.defaultLanguage().Language != "de" {
		t.Error("the setting is used in place of what was chosen")
	}
	w.Service.Close()
}
