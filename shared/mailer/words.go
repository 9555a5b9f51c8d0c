package mailer

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
)

//go:embed words.json
var wordsJSON []byte

// words is what a mail says in its language apart from its texts.
type words struct {
	// Day and Time are patterns of a time: {d} is the day, {m} the month's name, {n} its number, {y} the year
	// and {t} the time of day.
	Day, Time string
	// Months are twelve names, with spaces between them, as they stand beside a day. Empty if Day has none.
	Months string
	// Self and Administrator say who made a change.
	Self, Administrator string
	// Address says what the link below the button is for.
	Address string
}

// wordsOf holds the words by language.
var wordsOf = readWords()

func readWords() (all map[string]words) {
	if err := json.Unmarshal(wordsJSON, &all); err != nil {
		panic(fmt.Errorf("words.json: %w", err)) // embedded, so that every test notices
	}
	return all
}

// wordsIn returns the words of a language or of a more general one, else the English ones.
func wordsIn(tag language.Tag) words {
	for name := tag.String(); name != ""; name = name[:max(strings.LastIndexByte(name, '-'), 0)] {
		if w, ok := wordsOf[name]; ok {
			return w
		}
	}
	return wordsOf["en"]
}

// Date writes a time in a language, a BCP 47 tag, as mails do.
func Date(tag string, at time.Time) string { return wordsIn(language.Make(tag)).date(at) }

// date writes a time as the language does. Its lines break only between the day and the time.
func (w words) date(at time.Time) string {
	at = at.UTC()
	month := ""
	if names := strings.Fields(w.Months); len(names) == 12 {
		month = names[at.Month()-1]
	}
	fill := func(pattern string) string {
		return strings.NewReplacer(" ", "\u00a0", "{d}", strconv.Itoa(at.Day()), "{m}", month,
			"{n}", strconv.Itoa(int(at.Month())), "{y}", strconv.Itoa(at.Year()),
			"{t}", at.Format("15:04")).Replace(pattern)
	}
	return fill(w.Day) + " " + fill(w.Time)
}
