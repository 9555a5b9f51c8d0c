package mailer

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/language"
)

// A time is written as its language does. A line breaks only between the day and the time of day.
func TestDates(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.July, 5, 16, 30, 59, 0, time.FixedZone("", 2*60*60))
	for tag, want := range map[string]string{
		"en": "5 July 2026, 14:30 (UTC)", "de": "5. Juli 2026, 14:30 Uhr (UTC)",
		"de-CH": "5. Juli 2026, 14:30 Uhr (UTC)",
		"fr":    "5 juillet 2026, 14:30 (UTC)", "es": "5 de julio de 2026, 14:30 (UTC)",
		"hu": "2026. július 5., 14:30 (UTC)",
		"ja": "2026年7月5日 14:30（UTC）", "ko": "2026년 7월 5일 14:30(UTC)", "ru": "5 июля 2026 г., 14:30 (UTC)",
		"bg": "5 юли 2026 г., 14:30 ч. (UTC)", "tlh": "5 July 2026, 14:30 (UTC)",
	} {
		t.Run(tag, func(t *testing.T) {
			got := wordsIn(language.Make(tag)).date(at)
			if strings.ReplaceAll(got, "\u00a0", " ") != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if strings.Count(got, " ") != 1 || oneLine(got) != got {
				t.Errorf("%q breaks elsewhere", got)
			}
		})
	}
}

// Mails show the day only.
func TestDays(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.July, 5, 16, 30, 59, 0, time.UTC)
	for tag, want := range map[string]string{
		"en": "5 July 2026", "de": "5. Juli 2026", "hu": "2026. július 5.", "ja": "2026年7月5日", "ru": "5 июля 2026 г.",
	} {
		t.Run(tag, func(t *testing.T) {
			if got := strings.ReplaceAll(wordsIn(language.Make(tag)).day(at), "\u00a0", " "); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	all := "bg cs de en es fr hu id it ja ko mk nl pl pt ro ru sv tr uk zh"
	if got := strings.Join(slices.Sorted(maps.Keys(wordsOf)), " "); got != all {
		t.Errorf("there are words in %s", got)
	}
	seen, left := map[string]string{}, regexp.MustCompile(`[{}]|%!`)
	for tag, w := range wordsOf {
		for month := time.January; month <= time.December; month++ {
			written := w.date(time.Date(2026, month, 25, 14, 30, 0, 0, time.UTC))
			named := strings.ContainsFunc(strings.ReplaceAll(written, "UTC", ""), unicode.IsLetter)
			if left.MatchString(written) || !named || !strings.Contains(written, "25") ||
				!strings.Contains(written, "14:30") {
				t.Errorf("%s: %q", tag, written)
			}
		}
		for name, text := range map[string]string{
			"self": w.Self, "administrator": w.Administrator, "address": w.Address,
			"help": w.Help, "machine key": w.MachineKey, "app key": w.AppKey, "pat": w.PAT,
			"client secret": w.ClientSecret, "provider secret": w.ProviderSecret, "further": w.Further,
		} {
			t.Run(name, func(t *testing.T) {
				if text == "" || text != strings.TrimSpace(text) {
					t.Errorf("%s %s: %q", tag, name, text)
				}
				if other := seen[name+text]; other != "" && (name == "address" || name == "help") {
					t.Errorf("%s and %s: %s is %q in both", tag, other, name, text)
				}
				seen[name+text] = tag
			})
		}
	}
}
