package main

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"plain {\"a\":1}":   "plain {\"a\":1}",
		"Zoë 寿限無":           "Zoë 寿限無",
		"\x1b[2Jgone":       `\x1b[2Jgone`,
		"a\r\nb\tc":         `a\r\nb\tc`,
		"\u202eabc\u200b":   `\u202eabc\u200b`,
		"\x9b31m \xff":      "�31m �",
		"\u009b31m":         `\u009b31m`,
		"it's \\ a ' quote": "it's \\ a ' quote",
	} {
		if got := visible(given); got != want {
			t.Errorf("%q is written %q, want %q", given, got, want)
		}
	}
}

func TestGap(t *testing.T) {
	t.Parallel()
	seen := counts{}
	for _, c := range []struct {
		source, number, missing string
	}{
		{"/herald/users", "5", ""}, // what was before is not known
		{"/herald/users", "6", ""},
		{"/herald/projects", "1", ""},
		{"/herald/users", "9", "7 to 8"},
		{"/herald/users", "7", ""}, // late
		{"/herald/users", "10", ""},
		{"/herald/users", "12", "11 to 11"},
		{"/herald/projects", "2", ""},
		{"/herald/users", "", ""},
		{"/herald/users", "-", ""},
	} {
		got := seen.gap(&nats.Msg{Header: nats.Header{"ce-source": {c.source}, "ce-sequence": {c.number}}})
		if (got == "") != (c.missing == "") || !strings.Contains(got, c.missing) ||
			got != "" && !strings.Contains(got, c.source) {
			t.Errorf("%s %s: %q, want %q", c.source, c.number, got, c.missing)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("ce-time", "2026-11-21T09:00:00Z", []byte(`{"userId":"u"}`))
	f.Add("ce-subject", "\x1b[31m", []byte("\x00\n"))
	f.Fuzz(func(t *testing.T, name, value string, data []byte) {
		m := &nats.Msg{Subject: value, Data: data, Header: nats.Header{name: {value}}}
		concerns(m, value)
		if got := line(m); strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("%q moves the cursor", got)
		}
	})
}
