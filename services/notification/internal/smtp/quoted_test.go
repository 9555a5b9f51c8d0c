package smtp

import (
	"context"
	"net/textproto"
	"strings"
	"testing"

	"herald/shared/testkit/outside"
)

// Whoever reads the replies could otherwise use the code or the link of the mail.
func TestReplyHasNothingOfTheMail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ says, kept string }{
		"plain":                     {"mailbox full (try later)", "mailbox full (try later)"},
		"id of the mail":            {"queued as 4XyZ1k2m3nz5tfX", "queued as 4XyZ1k2m3nz5tfX"},
		"other language":            {"Empfänger unbekannt", "Empfänger unbekannt"},
		"enhanced code in lines":    {"no such\n5.7.1 user", "no such user"},
		"code":                      {"spam: K7MPX4RD", "…"},
		"code in small letters":     {"spam: k7mpx4rd", "…"},
		"code in spaces":            {"spam: K 7 M P X 4 R D", "…"},
		"code in lines":             {"spam: K7M\n5.7.1 PX4\n5.7.1 RD", "…"},
		"code with words between":   {"spam: K7M then PX4 then RD", "…"},
		"code with many words":      {"spam: K is 7 and (M) or PX by 4 on RD", "…"},
		"some pieces of the code":   {"7 of 4 rows in RD", "7 of 4 rows in RD"},
		"code with hyphens":         {"spam: K7-MP-X4-RD", "…"},
		"code with other marks":     {"spam: [K7](MP)X4_RD", "…"},
		"code with a soft hyphen":   {"spam: K7MP\u00adX4RD", "spam: …"},
		"part of the code":          {"spam: xPX4R", "…"},
		"code in percent-encoding":  {"spam: %4B7%4D%50X4RD", "spam: …"},
		"code in quoted-printable":  {"spam: =4B7MPX4RD", "spam: …"},
		"code over a soft break":    {"spam: K7M=\r\nPX4RD", "…"},
		"code in entities":          {"spam: &#75;&#55;&#x4D;PX4RD", "spam: …"},
		"code in elements":          {"spam: K<b>7</b>M<i>P</i>X4RD", "spam: …"},
		"code in Base64":            {"spam: SzdNUFg0UkQ= in it", "spam: … in it"},
		"code in bare Base64":       {"spam: SzdNUFg0UkQ in it", "…"},
		"code within Base64":        {"spam: AAASzdNUFg0UkQAA in it", "…"},
		"code in divided Base64":    {"spam: SzdN UFg0 UkQ in it", "…"},
		"code in Base64 with marks": {"spam: -_-_K-SzdNUFg0UkQ", "…"},
		"code in hexadecimal":       {"spam: 4b374D5058345244 in it", "…"},
		"code in hexadecimal bytes": {"spam: 0x4B, 0x37, 0x4D, 0x50, 0x58", "…"},
		"code in fullwidth letters": {"spam: Ｋ７ＭＰＸ４ＲＤ", "…"},
		"code doubled":              {"spam: KK77MMPPXX44RRDD", "…"},
		"code trebled in spaces":    {"spam: KKK 777 MMM PPP", "…"},
		"address in bare Base64":    {"spam: YWRhQGV4YW1wbGUuY29t", "…"},
		"doubled letters":           {"mailbox full, too bad", "mailbox full, too bad"},
		"line in Base64":            {"spam: " + strings.Repeat("Szd", 20) + " in it", "spam: … in it"},
		"link":                      {"spam: https://id.example.com/?a=1&code=K7MPX4RD in it", "spam: … in it"},
		"link without code":         {"see https://example.com/policy#5 or www.example.com/p", "see … or …"},
		"link in spaces":            {"https : / / id.example.com / ? code = K7 MP X4 RD", "…"},
		"address":                   {"<ada@example.com> unknown", "… unknown"},
		"address in capitals":       {"ADA@EXAMPLE.COM unknown", "… unknown"},
		"address in another script": {"ada＠example.com unknown", "… unknown"},
		"address in xtext":          {"rfc822;ada+40example.com unknown", "… unknown"},
		"address in percents":       {"ada%40example.com unknown", "… unknown"},
		"address in entities":       {"ada&commat;example.com unknown", "… unknown"},
		"address in spaces":         {"a d a @ example . com unknown", "…"},
		"address over lines":        {"a-\nda example.com", "…"},
		"name of the address":       {"user Ada unknown in Canada", "user … unknown in Canada"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := strings.TrimSpace("554 5.7.1 " + test.kept)
			reply := &textproto.Error{Code: 554, Msg: "5.7.1 " + test.says}
			if got := (private{"K7MPX4RD", "ada@example.com"}).words(reply); got != want {
				t.Errorf("kept %q, want %q", got, want)
			}
		})
	}
}

func TestLongNameIsFoundHoweverDivided(t *testing.T) {
	t.Parallel()
	mail := private{to: "ada.lovelace@example.com"}
	if got := mail.words(&textproto.Error{Code: 550, Msg: "Ada Lovelace unknown"}); got != "550 …" {
		t.Errorf("kept %q", got)
	}
}

// The relay quotes the mail at each step at which it knows it, also in a line that is no reply.
func TestResultHasNothingOfTheMail(t *testing.T) {
	t.Parallel()
	const quote = "ada@example.com https://id.example.com/?a=1&code=K7MPX4RD K7MP X4RD"
	for _, at := range []outside.Verb{outside.MAIL, outside.RCPT, outside.DATA, outside.Dot} {
		for _, class := range []string{"250 ", "354 ", "450 4.2.0 ", "554 5.7.1 ", "530 ", "999 ", ""} {
			t.Run(string(at)+" "+class, func(t *testing.T) {
				t.Parallel()
				s := outside.StartMailServer(t, outside.MailConfig{}, outside.MailFault{At: at, Reply: class + quote})
				m := sample()
				m.Code = "K7MPX4RD"
				result := newRelay(t, s.URL()).Send(t.Context(), m, func(context.Context) error { return nil })
				for _, text := range []string{result.Reply, result.Log} {
					for _, of := range []string{"K7MP", "X4RD", "example", "code="} {
						if strings.Contains(text, of) {
							t.Errorf("%s is in %q", of, text)
						}
					}
				}
			})
		}
	}
}
