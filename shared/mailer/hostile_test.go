package mailer

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// payloads come from the usual collections of markup, mail and template attacks.
var payloads = []string{
	`<script>alert(1)</script>`,
	`</title><script>alert(1)</script>`,
	`</style><script>alert(1)</script>`,
	`</p></td></tr></table><h1>Your account is locked</h1>`,
	`<img src=x onerror=alert(1)>`,
	`<img src="https://evil.example/pixel.gif">`,
	`<a href="https://evil.example">Click</a>`,
	`<a href='javascript:alert(1)'>x</a>`,
	`<svg/onload=alert(1)>`,
	`<svg><script>alert(1)</script></svg>`,
	`<math><mi xlink:href="data:x,<script>alert(1)</script>">`,
	`<iframe src=//evil.example>`,
	`<iframe srcdoc="<script>alert(1)</script>">`,
	`<object data="data:text/html,x">`,
	`<embed src=x>`,
	`<form action=https://evil.example><input name=password>`,
	`<button formaction=javascript:alert(1)>`,
	`<link rel=stylesheet href=//evil.example/x.css>`,
	`<meta http-equiv=refresh content="0;url=//evil.example">`,
	`<base href=//evil.example/>`,
	`<style>body{display:none}</style>`,
	`<style>@import "//evil.example/x.css";</style>`,
	`<body onload=alert(1)>`,
	`<html lang=x>`,
	`<!-- hidden -->`,
	`<!--[if mso]><script>alert(1)</script><![endif]-->`,
	`--><script>alert(1)</script>`,
	`<![CDATA[<script>alert(1)</script>]]>`,
	`<?php echo 1 ?>`,
	`<!DOCTYPE html>`,
	`"><script>alert(1)</script>`,
	`'><script>alert(1)</script>`,
	`" onmouseover="alert(1)`,
	`' onmouseover='alert(1)`,
	"` onmouseover=`alert(1)",
	`" style="position:fixed;top:0`,
	`&lt;script&gt;alert(1)&lt;/script&gt;`,
	`&#60;script&#62;alert(1)`,
	`&#x3c;img src=x&#x3e;`,
	`&nbsp;&zwnj;&amp;`,
	`%3Cscript%3Ealert(1)%3C/script%3E`,
	`\u003cscript\u003ealert(1)`,
	`\x3cscript\x3e`,
	`<scr<script>ipt>alert(1)</scr</script>ipt>`,
	`<<script>script>alert(1)`,
	`<script`,
	`<`,
	`</`,
	"<scr\x00ipt>alert(1)</scr\x00ipt>",
	"<scr\x1aipt>alert(1)",
	"<\x0bimg\x0csrc=x>",
	`＜script＞alert(1)＜/script＞`,
	"+ADw-script+AD4-alert(1)",
	"\xc0\xbcscript\xc0\xbe",
	"\xff\xfe<script>",
	"x\u202etpircs\u202c\u2066y\u2069",
	"Ada\r\nBcc: victim@example.com",
	"Ada\r\n\r\n<script>alert(1)</script>",
	"Ada\u2028Bcc: victim@example.com\u0085x",
	"=?utf-8?q?=0D=0ABcc:_victim@example.com?=",
	`{{.Password}}`,
	`{{printf "%s" .}}`,
	`{{range .}}{{end}}{{template "lines" .}}`,
	`{{.Cod{{.Code}`,
	`${7*7} #{7*7} <%= 7*7 %> {% x %}`,
	`javascript:alert(1)`,
	strings.Repeat("<b>", 500),
}

var places = map[string]func(*Message, string){
	"title":      func(m *Message, s string) { m.Texts.Title = s },
	"preHeader":  func(m *Message, s string) { m.Texts.PreHeader = s },
	"subject":    func(m *Message, s string) { m.Texts.Subject = s },
	"greeting":   func(m *Message, s string) { m.Texts.Greeting = s },
	"text":       func(m *Message, s string) { m.Texts.Text = s },
	"buttonText": func(m *Message, s string) { m.Texts.ButtonText = s },
	"footerText": func(m *Message, s string) { m.Texts.FooterText = s },
	"value":      func(m *Message, s string) { m.Value = func(string) string { return s } },
}

func TestHostileTextsAndValues(t *testing.T) {
	t.Parallel()
	plain := shape(parse(t, render(t, message()).HTML))
	for place, put := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			for _, payload := range payloads {
				m := message()
				put(&m, payload)
				r := render(t, m)
				checkEscaped(t, r, plain)
				if literal := oneLine(clean(payload)); !strings.Contains(visible(parse(t, r.HTML)), literal) {
					t.Errorf("%q is not shown as it is written", payload)
				}
			}
		})
	}
}

// checkEscaped fails if a rendered mail has other elements or attributes than a harmless one has,
// or characters that could end a header.
func checkEscaped(t *testing.T, r Rendered, plain []string) {
	t.Helper()
	if got := shape(parse(t, r.HTML)); !slices.Equal(got, plain) {
		t.Errorf("elements\n%q\nwant\n%q", got, plain)
	}
	if strings.ContainsFunc(r.Subject, unicode.IsControl) || strings.ContainsAny(r.Subject, "\u2028\u2029") {
		t.Errorf("subject %q", r.Subject)
	}
	inText := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && string(c) != codeMark }
	if strings.ContainsFunc(r.Text, inText) {
		t.Errorf("text part %q", r.Text)
	}
	if n := strings.Count(r.HTML, codeMark); n != 4 { // two links, the link's own text, the code
		t.Errorf("%d marks", n)
	}
}

func FuzzRender(f *testing.F) {
	for _, payload := range payloads {
		f.Add(payload, "Ada")
		f.Add("Hello {{.FirstName}}", payload)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		m := message()
		plain := shape(parse(t, render(t, m).HTML))
		text = strings.ReplaceAll(clean(text), "Code", "FirstName")
		m.Texts.Greeting, m.Texts.Subject = "x"+text, text
		m.Value = func(string) string { return value }
		if r, err := m.Render(); err == nil {
			checkEscaped(t, r, plain)
		}
	})
}
