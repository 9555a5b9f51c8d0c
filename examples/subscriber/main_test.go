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
		t.Run(given, func(t *testing.T) {
			if got := visible(given); got != want {
				t.Errorf("%q is written %q, want %q", given, got, want)
			}
		})
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
