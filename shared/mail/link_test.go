package mail

import (
	"strings"
	"testing"
	"time"
)

func TestLink(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"see https://evil.example/?c= {{.Code}}": "https://evil.example/?c=",
		"HTTPS://EVIL/":                          "HTTPS://EVIL/", "(www.evil.example)": "(www.evil.example)",
		"at evil.example/x now": "evil.example/x", "evil.example": "evil.example", "evil.example.": "evil.example.",
		"bücher.example": "bücher.example", "例え.テスト": "例え.テスト", "a-1.example": "a-1.example",
		"evil。com": "evil。com", "テスト。com": "テスト。com", "evil．com": "evil.com", "evil｡com": "evil。com",
		"evil․com": "evil.com", "ｅｖｉｌ.ｃｏｍ": "evil.com", "evil\u00ad.com": "evil.com",
		"evil.\u200bcom": "evil.com", "evil\v.com": "evil.com",
		"ada@example.com": "ada@example.com", "ada@localhost": "ada@localhost", "ada＠localhost": "ada@localhost",
		"mailto:ada": "mailto:ada", "tel:+41": "tel:+41", "javascript:alert(1)": "javascript:alert(1)",
		"x-my.app+1:go": "x-my.app+1:go", "https：//evil": "https://evil", `\\evil\share`: `\\evil\share`,
		"_192.0.2.1/?c= {{.Code}}": "_192.0.2.1/?c=", "²192.0.2.1": "2192.0.2.1", "①192.0.2.1x": "1192.0.2.1x",
		"例・.com": "例・.com", "ג׳.com": "ג׳.com", "http:[2001:470::1]/": "http:[2001:470::1]/",
		`<http:\/3221226219/>`: `<http:\/3221226219/>`, "tel:({{.Code}})": "tel:({…})", "mailto:<ada>": "mailto:<ada>",
		"192.0.2.1": "192.0.2.1", "http://[::1]/": "http://[::1]/",
		"i❤.ws": "i❤.ws", "i❤️.ws": "i❤.ws", "😀.ws": "😀.ws", "👍🏽。ws": "👍🏽。ws", "₿.{{.OrgName}}": "₿.{…}",
		"evil。中国": "evil。中国", "evil｡中國/a": "evil。中國/a", "evil．中国": "evil.中国", "例え。コム": "例え。コム",
		"go to evil。公司, now": "evil。公司,", "{{.OrgName}}。中国": "{…}。中国",
		"{{.OrgName}}.com": "{…}.com", "evil.{{ .OrgName }}": "evil.{…}", "evil。{{.OrgName}}": "evil。{…}",
		"evil.c{{.OrgName}}": "evil.c{…}", "evil。c{{.OrgName}}": "evil。c{…}",
		"{{.FirstName}}.{{.LastName}}": "{…}.{…}", "x{{.UserName}}@y": "x{…}@y",
		strings.Repeat("x", 100) + ".com": strings.Repeat("x", 59) + "…",

		"": "", "Welcome to {{.OrgName}}. Your code: {{.Code}}.": "", "z.B. um 14.30 Uhr am 24.11.2026": "",
		"e.g. 1.5 or 1.2.3": "", "Wait... then": "", "warte…dann": "", "9:30": "", "Code: {{.Code}}": "",
		"验证码。如果没有，{{.OrgName}}。请": "", "これは Herald。次": "", "请用 Herald。中国用户请看": "",
		"谢谢。 中国": "", "5 €. Das": "", "a → b. So": "", "注意：请": "", "a @ b": "", "Note :-)": "",
		"and/or {{.FirstName}}/{{.LastName}}": "", "(Code {{.Code}})": "", "+41 44 123 45 67": "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := Link(text); got != want {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
		})
	}
}

func FuzzWithoutLinks(f *testing.F) {
	for _, name := range []string{"Ada", "ada.lovelace", "https://evil.example/?c=", "www.evil.example", "evil。com",
		`\\evil\x`, "⒈com", "a.b.c.d.ef", "x@y@z", "192.0.2.1", "ada@example.com",
		"evil.", ".com", "{{.Code}}", "evil\u200b.com", "evil.\u200bcom", "http:", "x:/", "。中国"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		name = strings.ToValidUTF8(name, "")
		got := WithoutLinks(name)
		if AsTyped(got) != AsTyped(name) {
			t.Fatalf("%q became %q, and that %q", name, got, AsTyped(got))
		}
		for _, text := range []string{got, "x" + got + "y", got + "{{.OrgName}}"} {
			if link := Link(text); link != "" {
				t.Fatalf("%q became %q, in which %q is a link", name, text, link)
			}
		}
	})
}

func TestLinkOfLongTextsIsQuick(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{".", "a.", "a:", "x", "。", "\u200b", "{{.Code}}", "ﷺ"} {
		began := time.Now()
		Link(strings.Repeat(unit, 40_000/len(unit)))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%q took %v", unit, took)
		}
	}
}
