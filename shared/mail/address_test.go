package mail_test

import (
	netmail "net/mail"
	"strings"
	"testing"

	"herald/shared/mail"
)

var long = strings.Repeat("a", 64)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ada@example.com": "ada@example.com", "Ada.L+x/y=z'o@Example.COM": "Ada.L+x/y=z'o@example.com",
		"ada@localhost":       "ada@localhost",
		long + "@example.com": long + "@example.com",
		// Outside ASCII: the domain is written in ASCII, the local part as it is.
		"ada@bücher.example": "ada@xn--bcher-kva.example", "mïni@exämple.com": "mïni@xn--exmple-cua.com",
		"アダ@例え.テスト": "アダ@xn--r8jz45g.xn--zckzah",
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := mail.ParseAddress(text); got != want || err != nil {
				t.Errorf("%q = %q, %v, want %q", text, got, err, want)
			}
		})
	}
}

// net/mail alone, which people's addresses were once checked with, takes each of these. No mail
// could be sent to any.
func TestParseAddressRefusesWhatCannotBeDelivered(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"a local part of more than 64 octets": {long + "a@example.com"},
		"a label of more than 63 octets":      {"a@" + long + ".com"},
		"too long once it is in ASCII": {
			"a@ü" + strings.Repeat("a", 60) + ".com", "a@" + strings.Repeat("bücher.", 24) + "com",
		},
		"a character that no host name has": {
			"a@exa_mple.com", "a@exam%ple.com", "a@example.com/x", "a@exa'mple.com",
		},
		"a hyphen at the end of a label":           {"a@-example.com", "a@example-.com", "a@ab--c.com"},
		"a label that only looks encoded":          {"a@xn--0.com"},
		"a dot at the end, as another script's is": {"a@example.com。"},
		"two directions of writing in one label":   {"a@אa.com"},
		"a character that cannot be seen": {
			"a\u0085@example.com", "a\u2028@example.com", "a\u202e@example.com", "a\u200b@example.com",
			"a\u00a0@example.com", "a\u034f@example.com", "a\u115f@example.com", "a\u3164@example.com",
			"a\ufe0f@example.com", "a\u2800@example.com",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range texts {
				if parsed, err := netmail.ParseAddress(text); err != nil || parsed.Address != text {
					t.Errorf("%q does not belong here: %v", text, err)
				}
				if got, err := mail.ParseAddress(text); err == nil {
					t.Errorf("%q = %q", text, got)
				}
			}
		})
	}
}

func TestParseAddressRefusesWhatIsNotOneAddress(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "@", "ada", "ada@", "@example.com", "a@b@example.com", "a@example.com@",
		"a b@example.com", " a@example.com", "a@example.com ", "a@example.com,b@example.com", "a@b.ch;c@d.ch",
		"a,b@example.com", "<a@example.com>", "a@<example.com>", "A <a@example.com>",
		`"a b"@example.com`, `"a"@example.com`, "a(x)@example.com", "a@example.com(x)",
		"a:b@example.com", "a;b@example.com", `a\b@example.com`, "[a]@example.com", "a@[127.0.0.1]",
		".a@example.com", "a.@example.com", "a..b@example.com", "a@.example.com", "a@example..com", "a@example.com.",
		"a@example.com\r\nRCPT TO:<b@example.com>", "a@b.ch\r\nBcc: c@d.ch",
		"a\n@example.com", "a\x00@example.com", "a\x7f@example.com", "\xff@example.com", "a@\xff.com",
		"a@example.com> SIZE=1", "a@" + strings.Repeat("abcdefg.", 32) + "com",
	} {
		if got, err := mail.ParseAddress(text); err == nil {
			t.Errorf("%q = %q", text, got)
		}
	}
}
