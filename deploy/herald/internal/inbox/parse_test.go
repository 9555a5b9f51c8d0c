package inbox

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestParseHeader(t *testing.T) {
	t.Parallel()
	m := parse(crlf(`Return-Path: <bounce@example.com>
Delivered-To: ada@example.com
Delivered-To: hidden@example.com
From: =?UTF-8?B?5bGx55Sw?= <yamada@example.com>
To: Ada <Ada@example.com>
Cc: "Bell, Bob" <bob@example.com>, carl@example.com
Reply-To: not an address
Subject: =?UTF-8?B?44Ki44Kr44Km44Oz44OI44Gu?=
 =?ISO-2022-JP?B?GyRCPWk0fDI9GyhC?=
Message-ID: <1.2@example.com>
Date: Mon, 02 Jan 2006 15:04:05 -0700

Hello
`))
	want := Summary{
		MessageID: "1.2@example.com", Subject: "アカウントの初期化",
		From: &Address{"山田", "yamada@example.com"}, To: []Address{{"Ada", "Ada@example.com"}},
		Cc:  []Address{{"Bell, Bob", "bob@example.com"}, {"", "carl@example.com"}},
		Bcc: []Address{{"", "hidden@example.com"}}, ReplyTo: []Address{{"not an address", ""}},
		Tags: []string{}, Size: m.Size, Snippet: "Hello",
	}
	if !reflect.DeepEqual(m.Summary, want) {
		t.Errorf("got  %+v\nwant %+v", m.Summary, want)
	}
	if m.ReturnPath != "bounce@example.com" || !m.Date.Equal(time.Date(2006, 1, 2, 22, 4, 5, 0, time.UTC)) {
		t.Errorf("return path %q, date %s", m.ReturnPath, m.Date)
	}
	if got := m.header["Delivered-To"]; len(got) != 2 {
		t.Errorf("Delivered-To: %q", got)
	}
}

func TestParseBody(t *testing.T) {
	t.Parallel()
	image := base64.StdEncoding.EncodeToString([]byte("not really"))
	m := parse(crlf(`Subject: parts
Content-Type: multipart/mixed; boundary=a

--a
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe
--b
Content-Type: text/html; charset=utf-8

<p>Grüße</p>
--b--
--a
Content-Type: image/png; name="=?UTF-8?Q?l=C3=B6go.png?="
Content-ID: <logo>
Content-Transfer-Encoding: base64

` + image + `
--a
Content-Type: text/plain
Content-Disposition: attachment; filename=notes.txt

notes
--a--
`))
	if m.Text != "Grüße" || m.HTML != "<p>Grüße</p>" || m.Snippet != "Grüße" {
		t.Errorf("text %q, HTML %q, snippet %q", m.Text, m.HTML, m.Snippet)
	}
	if want := []Part{{"2", "lögo.png", "image/png", "logo", 10}}; !reflect.DeepEqual(m.Inline, want) {
		t.Errorf("inline %+v", m.Inline)
	}
	if want := []Part{{"3", "notes.txt", "text/plain", "", 5}}; !reflect.DeepEqual(m.Attachments, want) ||
		m.Summary.Attachments != 1 {
		t.Errorf("attachments %+v, counted %d", m.Attachments, m.Summary.Attachments)
	}
}

// A malformed mail is shown unchanged, as far as it can be parsed.
func TestParseMalformed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ raw, text string }{
		"nothing":          {"", ""},
		"no header":        {"just\nwords", "just\nwords"},
		"invalid UTF-8":    {"Subject: x\n\na\xffb", "ab"},
		"unknown charset":  {"Content-Type: text/plain; charset=klingon\n\nnuqneH", "nuqneH"},
		"broken base64":    {"Content-Transfer-Encoding: base64\n\naGVsbG8=!!!!", "hello"},
		"unknown encoding": {"Content-Transfer-Encoding: rot13\n\nuryyb", "uryyb"},
		"broken type":      {"Content-Type: text/plain; charset\n\nhello", "hello"},
		"open multipart":   {"Content-Type: multipart/mixed; boundary=a\n\n--a\n\nhello", "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parse([]byte(test.raw)).Text; got != test.text {
				t.Errorf("%q, want %q", got, test.text)
			}
		})
	}
}

func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	var deep strings.Builder
	for range 8_000 {
		deep.WriteString("Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n")
	}
	for name, raw := range map[string]string{
		"depth":      deep.String(),
		"parts":      "Content-Type: multipart/mixed; boundary=a\r\n\r\n" + strings.Repeat("--a\r\n\r\n\r\n", 90_000),
		"recipients": "To: " + strings.Repeat("a@b.c,", 150_000) + "a@b.c\r\n\r\n",
		"subject": "Subject: " + strings.Repeat("日", 300_000) + "\r\nMessage-ID: <" + strings.Repeat("x", 2000) +
			">\r\n\r\n",
		"tags": "Content-Type: text/html\r\n\r\n" + strings.Repeat("<style", 170_000),
	} {
		t.Run(name, func(t *testing.T) {
			checkBounds(t, name, parse([]byte(raw)))
		})
	}
}

func checkBounds(t *testing.T, name string, m Mail) {
	t.Helper()
	if len(m.To) > maxRecipients || len(m.Cc) > maxRecipients || len(m.Bcc) > 2*maxRecipients ||
		len(m.ReplyTo) > maxRecipients {
		t.Errorf("%s: %d, %d, %d, %d addresses", name, len(m.To), len(m.Cc), len(m.Bcc), len(m.ReplyTo))
	}
	for _, text := range []string{m.Subject, m.MessageID, m.ReturnPath} {
		if len(text) > maxLine || !utf8.ValidString(text) {
			t.Errorf("%s: %d bytes, valid %v", name, len(text), utf8.ValidString(text))
		}
	}
	if len(m.Snippet) > maxSnippet {
		t.Errorf("%s: snippet of %d bytes", name, len(m.Snippet))
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		letter("1"), "", "\n\n", "Content-Type: multipart/mixed; boundary=\"\"\n\n--\n\nx",
		"Subject: =?UTF-8?B?5bGx55Sw?=\nTo: a@b, <c@d>\n\n.", "To: =?x?q?y?= <\xff@b>\nDelivered-To: \x01\n\n",
		"Content-Type: multipart/alternative; boundary=a\n\n--a\nContent-Type: text/html\nContent-Transfer-Encoding: " +
			"quoted-printable\n\n<b =3D\n--a\nContent-Disposition: attachment; " +
			"filename*=utf-8''%e4\nContent-Transfer-Encoding: base64\n\nYQ\n--a--",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := parse(raw)
		checkBounds(t, "fuzzed", m)
		text, err := json.Marshal(m)
		if err != nil || strings.Contains(string(text), `\ufffd`) && !strings.Contains(string(raw), "\ufffd") &&
			utf8.Valid(raw) {
			t.Errorf("JSON %s, %v", text, err)
		}
		if !utf8.ValidString(m.Text) || !utf8.ValidString(m.HTML) {
			t.Error("invalid UTF-8")
		}
		if err := pages.ExecuteTemplate(io.Discard, "mail.html", m); err != nil {
			t.Error(err)
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{`to:"x@y" subject:a b`, `"`, `to:`, `TO:X`, "to:\"\"", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, term := range parseQuery(query) {
			if term.text == "" || term.field != strings.ToLower(term.field) {
				t.Errorf("%q gives %+v", query, term)
			}
		}
	})
}
