package domain

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/language"

	"herald/shared/mail"
)

// `make check` runs the tests whose names begin with TestTexts. They check the default texts only.

// needed lists the placeholders that the texts of a kind must have. A mail to an address that nobody has verified
// names neither the user nor the login name, because its reader may be a stranger. In a notice to such an address
// {{.PreferredLoginName}} is the address.
var needed = map[mail.Kind][]string{
	mail.Init:             {"Expiry", "OrgName", "PreferredLoginName", "DisplayName"}, // the code is below the button
	mail.VerifyEmail:      {"Expiry", "OrgName", "LastEmail"},
	mail.PasswordReset:    {"OrgName", "PreferredLoginName", "DisplayName"}, // an hour is no date
	mail.EmailChanged:     {"OrgName", "PreferredLoginName", "LastEmail", "ChangeDate", "ChangedBy"},
	mail.PasswordChanged:  {"OrgName", "PreferredLoginName", "ChangeDate", "ChangedBy"},
	mail.OTPAdded:         {"OrgName", "PreferredLoginName", "ChangeDate", "ChangedBy"},
	mail.OTPRemoved:       {"OrgName", "PreferredLoginName", "ChangeDate", "ChangedBy"},
	mail.RecoveryCodeUsed: {"OrgName", "PreferredLoginName", "ChangeDate"}, // who used it is not known
	mail.PATAdded:         {"OrgName", "PreferredLoginName", "ChangeDate", "ChangedBy"},
	mail.IdpLinkAdded:     {"OrgName", "PreferredLoginName", "ChangeDate", "ChangedBy"},
	mail.Expiring:         {"OrgName"}, // what ends is in a list below the text
}

// says is what the texts of a language must say, by its tag.
var says = map[string]struct {
	// never is in each mail with a code: it must not be shared.
	never string
	// orders are words of a sentence that gives an order. A subject must not have them, because a mail that nobody
	// asked for and that gives an order looks like fraud.
	orders []string
	// button is the word for a button, which a mail in plain text does not have.
	button string
	// self is words by which a notice would say that its reader made the change. It may have been an administrator.
	self string
}{
	"bg": {"Никога не давайте", []string{"Активирайте", "Потвърдете", "Задайте", "Изберете"}, "бутон",
		"сте били Вие"},
	"cs": {"nikdy nikomu nesdělujte", []string{"Aktivujte", "Potvrďte", "Nastavte", "Zvolte"}, "lačítk",
		"to byli Vy"},
	"de": {"niemals weiter", []string{"Aktivieren Sie", "Bestätigen Sie", "Setzen Sie", "Wählen Sie"}, "chaltfläche",
		"selbst waren"},
	"en": {"Never share this code", []string{"Activate", "Confirm your", "Reset your", "Choose", "Set "}, "button",
		"was you"},
	"es": {"No comparta nunca", []string{"Active", "Confirme", "Restablezca", "Elija"}, "botón", "sido usted"},
	"fr": {"Ne communiquez jamais", []string{"Activez", "Confirmez", "Réinitialisez", "Choisissez"}, "bouton",
		"c’est vous"},
	"hu": {"soha ne adja meg", []string{"aktiválja", "erősítse meg", "adjon meg"}, "gomb", "Ön volt"},
	"id": {"Jangan pernah memberikan kode", []string{"Aktifkan", "Atur", "Buat"}, "tombol", "Anda yang melakukan"},
	"it": {"Non comunichi mai", []string{"Attivi", "Confermi", "Reimposti", "Scelga"}, "pulsante", "una sua scelta"},
	"ja": {"絶対に他の人に教えないで", []string{"ください"}, "ボタン", "ご自身による"},
	"ko": {"절대 다른 사람에게 알려 주지", []string{"주십시오"}, "버튼", "본인이 변경"},
	"mk": {"не го давајте", []string{"Активирајте", "Потврдете", "Поставете", "Изберете"}, "копче", "бевте Вие"},
	"nl": {"nooit", []string{"Activeer", "Bevestig ", "Stel ", "Kies"}, "knop", "zelf gedaan"},
	"pl": {"Nigdy nikomu nie podawaj", []string{"Aktywuj", "Potwierdź", "Ustaw"}, "przycisk", "Twoja zmiana"},
	"pt": {"Nunca informe", []string{"Ative", "Confirme", "Redefina", "Crie"}, "botão", "foi você"},
	"ro": {"niciodată nimănui", []string{"Activați", "Confirmați", "Resetați", "Alegeți"}, "buton",
		"fost dumneavoastră"},
	"ru": {"никому не сообщайте", []string{"ктивируйте", "одтвердите", "адайте", "ридумайте"}, "кнопк", "сделали Вы"},
	"sv": {"aldrig", []string{"Aktivera", "Bekräfta ", "Återställ", "Välj"}, "knapp", "var du"},
	"tr": {"kimseyle paylaşmayın", []string{"etkinleştirin", "doğrulayın", "sıfırlayın", "belirleyin"}, "düğme",
		"siz yap"},
	"uk": {"нікому не повідомляйте", []string{"ктивуйте", "ідтвердьте", "творіть"}, "кнопк", "зробили Ви"},
	"zh": {"告诉任何人", []string{"请"}, "按钮", "本人操作"},
}

// catalog returns the default texts with a default language.
func catalog(t testing.TB, setting string) Catalog {
	t.Helper()
	c, err := NewCatalog(setting)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTextsAreThere(t *testing.T) {
	t.Parallel()
	c := catalog(t, "en")
	for _, tag := range listed {
		if !slices.Contains(c.Languages(), tag) {
			t.Errorf("there are no texts in %s", tag)
		}
	}
	for tag, texts := range c.texts {
		if parsed, err := language.Parse(tag); err != nil || parsed.String() != tag {
			t.Errorf("%s is not a tag in its usual spelling", tag)
		}
		for kind, text := range texts {
			for _, p := range text.parts() {
				if *p.text == "" && p.name == "buttonText" && mail.Kind(kind).Notice() {
					continue // it has no link
				}
				lint(t, tag+" "+kind+" "+p.name, *p.text)
			}
			if _, err := text.Accept(mail.Kind(kind)); err != nil {
				t.Errorf("%s %s: %v", tag, kind, err)
			}
			if n := utf8.RuneCountInString(text.Subject); n >= 60 {
				t.Errorf("%s %s: the subject has %d characters", tag, kind, n)
			}
		}
	}
}

func lint(t *testing.T, name, part string) {
	t.Helper()
	if part == "" || part != strings.TrimSpace(part) || strings.ContainsAny(part, "\t\r") {
		t.Errorf("%s: %q is empty, or has tabs or white space around it", name, part)
	}
}

func TestTextsNameWhatTheirReaderNeeds(t *testing.T) {
	t.Parallel()
	for tag, texts := range catalog(t, "en").texts {
		for kind, text := range texts {
			for _, name := range []string{"Code", "Expiry", "OrgName", "PreferredLoginName", "DisplayName", "LastEmail",
				"ChangeDate", "ChangedBy"} {
				named := slices.Contains(placeholders(text.Greeting+text.Text), name)
				if named != slices.Contains(needed[mail.Kind(kind)], name) {
					t.Errorf("%s %s names {{.%s}}: %t", tag, kind, name, named)
				}
			}
			if n := strings.Count(text.Greeting, "{{.DisplayName}}"); slices.Contains(needed[mail.Kind(kind)],
				"DisplayName") != (n == 1) {
				t.Errorf("%s %s greets with %q", tag, kind, text.Greeting)
			}
			if named := slices.Contains(placeholders(text.FooterText+text.Title+text.PreHeader), "DisplayName"); named {
				t.Errorf("%s %s names its reader outside of the greeting", tag, kind)
			}
		}
	}
}

func TestTextsAreOfTheirLanguage(t *testing.T) {
	t.Parallel()
	for tag, texts := range catalog(t, "en").texts {
		rules, ok := says[tag]
		if !ok {
			t.Errorf("nothing says what the texts in %s must say", tag)
		}
		for name, text := range texts {
			kind := mail.Kind(name)
			if never := strings.Contains(text.FooterText, rules.never); never == kind.Notice() {
				t.Errorf("%s %s says that its code must not be shared: %t", tag, kind, never)
			}
			for _, order := range rules.orders {
				if strings.Contains(text.Subject, order) {
					t.Errorf("%s %s: the subject %q orders something", tag, kind, text.Subject)
				}
			}
			if whole := text.Text + text.FooterText + text.PreHeader; strings.Contains(whole, rules.button) {
				t.Errorf("%s %s speaks of a button, which plain text lacks: %q", tag, kind, whole)
			}
			if kind.Notice() && (strings.Contains(text.Text+text.PreHeader, rules.self) ||
				!strings.Contains(text.Text, text.PreHeader)) {
				t.Errorf("%s %s says %q and %q, also if an administrator made the change", tag, kind, text.PreHeader,
					text.Text)
			}
			if strings.Contains(text.Text, "UTC") {
				t.Errorf("%s %s names a time zone, which its date says", tag, kind)
			}
			hours := map[mail.Kind]string{
				mail.Init: "72", mail.VerifyEmail: "72", mail.PasswordReset: "1",
			}[kind]
			if !strings.Contains(placeholderless(text.Text), hours) {
				t.Errorf("%s %s does not say that its code is valid for %s hours", tag, kind, hours)
			}
			if tag == "bg" && strings.Contains(text.Subject+text.Text, "в {{.OrgName}}") {
				t.Errorf("%s %s: в becomes във before some names", tag, kind)
			}
		}
	}
}

func placeholderless(text string) string {
	return mail.ExpandPlaceholders(text, func(string) string { return "" })
}

// No part of a text is the same in two languages, because such a part was probably not translated.
func TestTextsDifferInEachLanguage(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for tag, texts := range catalog(t, "en").texts {
		for kind, text := range texts {
			for _, p := range text.parts() {
				if *p.text == "" {
					continue
				}
				if other := seen[kind+p.name+*p.text]; other != "" {
					t.Errorf("%s and %s: %s %s are both %q", tag, other, kind, p.name, *p.text)
				}
				seen[kind+p.name+*p.text] = tag
			}
		}
	}
}
