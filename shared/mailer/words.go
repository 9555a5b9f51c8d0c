package mailer

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"

	heraldv1 "herald/shared/gen/herald/v1"
)

//go:embed words.json
var wordsJSON []byte

// words holds the fixed words of all mails in one language.
type words struct {
	// Day and Time are patterns for a time. {d} is the day, {m} the month's name, {n} the month's number, {y} the
	// year and {t} the time of day.
	Day, Time string
	// Months are the twelve names of months in the form that is used beside a day, with spaces between them. Empty if
	// Day does not use them.
	Months string
	// Self and Administrator say who made a change.
	Self, Administrator string
	// Address is the text that explains the link below the button. Help stands before the address for help.
	Address, Help string
	// MachineKey and those after it are what ends soon. Further says how many more there are, with {n} for the number.
	MachineKey, AppKey, PAT, ClientSecret, ProviderSecret, Further string
}

// kind returns the word for a kind of what ends soon.
func (w words) kind(k heraldv1.ExpirationKind) string {
	switch k {
	case heraldv1.ExpirationKind_EXPIRATION_KIND_MACHINE_KEY:
		return w.MachineKey
	case heraldv1.ExpirationKind_EXPIRATION_KIND_APPLICATION_KEY:
		return w.AppKey
	case heraldv1.ExpirationKind_EXPIRATION_KIND_CLIENT_SECRET:
		return w.ClientSecret
	case heraldv1.ExpirationKind_EXPIRATION_KIND_PROVIDER_SECRET:
		return w.ProviderSecret
	}
	return w.PAT
}

// wordsOf holds the words by language.
var wordsOf = readWords()

func readWords() (all map[string]words) {
	if err := json.Unmarshal(wordsJSON, &all); err != nil {
		panic(fmt.Errorf("words.json: %w", err)) // the file is embedded, so every test finds this
	}
	return all
}

// wordsIn returns the words of a language. If it has none, wordsIn returns those of a more general language, or else
// of English.
func wordsIn(tag language.Tag) words {
	for name := tag.String(); name != ""; name = name[:max(strings.LastIndexByte(name, '-'), 0)] {
		if w, ok := wordsOf[name]; ok {
			return w
		}
	}
	return wordsOf["en"]
}

// Date formats a time for a page in a language. tag is a BCP 47 tag.
func Date(tag string, at time.Time) string { return wordsIn(language.Make(tag)).date(at) }

// day formats the day of a time in the language of w. Mails show no time of day, because nobody knows the time zone in
// which they are read.
func (w words) day(at time.Time) string { return strings.TrimSuffix(w.fill(w.Day, at), ",") }

// date formats a time in the language of w. A line can break only between the day and the time.
func (w words) date(at time.Time) string { return w.fill(w.Day, at) + " " + w.fill(w.Time, at) }

func (w words) fill(pattern string, at time.Time) string {
	at = at.UTC()
	month := ""
	if names := strings.Fields(w.Months); len(names) == 12 {
		month = names[at.Month()-1]
	}
	return strings.NewReplacer(" ", "\u00a0", "{d}", strconv.Itoa(at.Day()), "{m}", month,
		"{n}", strconv.Itoa(int(at.Month())), "{y}", strconv.Itoa(at.Year()),
		"{t}", at.Format("15:04")).Replace(pattern)
}
