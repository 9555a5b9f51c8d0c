package smtp

import (
	"bytes"
	"mime"
	netmail "net/mail"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"

	"herald/shared/mail"
	"herald/shared/testkit/outside"
)

func sample() Mail {
	return Mail{
		MessageID: "0193a1b2@id.example.com",
		From:      "Herald Grüße <no-reply@example.com>",
		ReplyTo:   "Hilfe für alle <help@example.com>",
		To:        "ada@example.com",
		Subject:   "Konto für Ada einrichten",
		Text: "Grüße, Ada\n.\n" + strings.Repeat("long ", 300) +
			"\n\nhttps://id.example.com/?a=1&code=K7MPX4RD\n",
		HTML:     "<p>Grüße, Ada</p>\n<p>アカウント</p>\n",
		Language: "de",
		Date:     time.Date(2026, 1, 30, 14, 5, 6, 789, time.FixedZone("", 3600)),
		Seed:     "0193a1b2",
	}
}

func build(t *testing.T, m Mail) envelope {
	t.Helper()
	e, err := m.build()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEqualMailsAreEqualBytes(t *testing.T) {
	t.Parallel()
	first := build(t, sample()).data
	for range 100 {
		if again := build(t, sample()).data; !bytes.Equal(again, first) {
			t.Fatalf("built\n%s\nthen\n%s", first, again)
		}
	}
	for name, change := range map[string]func(*Mail){
		"seed": func(m *Mail) { m.Seed = "other" },
		"date": func(m *Mail) { m.Date = m.Date.Add(time.Second) },
		"text": func(m *Mail) { m.Text += "." },
	} {
		m := sample()
		change(&m)
		if bytes.Equal(build(t, m).data, first) {
			t.Errorf("another %s makes the same mail", name)
		}
	}
}

func TestMailReadsBack(t *testing.T) {
	t.Parallel()
	data := build(t, sample()).data
	got, err := outside.Delivery{Data: data}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	if got.Subject != sample().Subject || got.Text != sample().Text || got.HTML != sample().HTML {
		t.Errorf("parsed %+v", got)
	}
	for name, want := range map[string]string{
		"Message-Id": "<0193a1b2@id.example.com>", "Date": "Fri, 30 Jan 2026 13:05:06 +0000", "To": "<ada@example.com>",
		"Reply-To": "=?utf-8?q?Hilfe_f=C3=BCr_alle?= <help@example.com>", "Auto-Submitted": "auto-generated",
		"Content-Language": "de", "Mime-Version": "1.0",
		"From": "=?utf-8?q?Herald_Gr=C3=BC=C3=9Fe?= <no-reply@example.com>",
	} {
		if value := got.Header[name]; len(value) != 1 || value[0] != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	if len(got.Header) != 10 { // the ones above, Subject and Content-Type
		t.Errorf("headers %v", got.Header)
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte("\r\n")), []byte("\r\n")) {
		if len(line) > 78 || bytes.ContainsAny(line, "\r\n") {
			t.Errorf("line %q", line)
		}
	}
}

func TestTextCannotEndItsPart(t *testing.T) {
	t.Parallel()
	m := sample()
	m.Text = "--" + m.boundary() + "\n\n<b>another part</b>\n--" + m.boundary() + "--\n"
	got, err := outside.Delivery{Data: build(t, m).data}.Parse()
	if err != nil || got.Text != m.Text || got.HTML != m.HTML {
		t.Errorf("parsed %+v, %v", got, err)
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Mail){
		"two recipients":          func(m *Mail) { m.To = "a@example.com,b@example.com" },
		"recipient with a header": func(m *Mail) { m.To = "a@example.com\r\nBcc: b@example.com" },
		"no recipient":            func(m *Mail) { m.To = "" },
		"recipient with a name":   func(m *Mail) { m.To = "A <a@example.com>" },
		"sender list":             func(m *Mail) { m.From = "A <a@example.com>, B <b@example.com>" },
		"sender with a header":    func(m *Mail) { m.From = "A\r\nBcc: b@example.com\r\nX: <a@example.com>" },
		"encoded line break":      func(m *Mail) { m.From = "=?utf-8?q?A=0D=0AB?= <a@example.com>" },
		"no sender":               func(m *Mail) { m.From = "" },
		"long name":               func(m *Mail) { m.From = strings.Repeat("A", 201) + " <a@example.com>" },
		"reply with a header":     func(m *Mail) { m.ReplyTo = "A\r\nBcc: b@example.com\r\nX: <a@example.com>" },
		"reply list":              func(m *Mail) { m.ReplyTo = "a@example.com;b@example.com" },
		"subject with a header":   func(m *Mail) { m.Subject = "x\r\nBcc: b@example.com" },
		"subject with a bare LF":  func(m *Mail) { m.Subject = "x\nBcc: b@example.com" },
		"subject with NUL":        func(m *Mail) { m.Subject = "x\x00" },
		"subject not UTF-8":       func(m *Mail) { m.Subject = "\xff" },
		"no Message-ID":           func(m *Mail) { m.MessageID = "" },
		"Message-ID in brackets":  func(m *Mail) { m.MessageID = "<a@example.com>" },
		"Message-ID with header":  func(m *Mail) { m.MessageID = "a@example.com>\r\nBcc: b@example.com" },
		"language with a header":  func(m *Mail) { m.Language = "de\r\nBcc: b@example.com" },
		"no date":                 func(m *Mail) { m.Date = time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			m := sample()
			change(&m)
			if e, err := m.build(); err == nil {
				t.Errorf("built\n%s", e.data)
			}
		})
	}
}

// go-mail accepts every address that our rule accepts, and a mail has one recipient.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"ada@example.com", "a,b@c", "アダ@例え.テスト", "a\r\n@b", "a@b>", `"a"@b`, "a@xn--0", "a@b.ch,c@d.ch",
		"o'neil+x@bücher.example",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		to, err := mail.ParseAddress(text)
		if err != nil {
			return
		}
		if again, err := mail.ParseAddress(to); again != to || err != nil {
			t.Fatalf("%q = %q, and again %q, %v", text, to, again, err)
		}
		ends := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("<>,;", r) }
		if strings.ContainsFunc(to, ends) || len(to) > 254 {
			t.Fatalf("%q = %q, which can end the line of RCPT TO", text, to)
		}
		msg := gomail.NewMsg()
		if err := msg.To(to); err != nil {
			t.Fatalf("%q = %q, which go-mail refuses: %v", text, to, err)
		}
		if list, err := msg.GetRecipients(); err != nil || len(list) != 1 || list[0] != "<"+to+">" {
			t.Fatalf("%q = %q, of which go-mail makes %q, %v", text, to, list, err)
		}
		m := sample()
		m.To = text
		e, err := m.build()
		if err != nil || e.to != to {
			t.Fatalf("%q = %q, but its mail goes to %q, %v", text, to, e.to, err)
		}
		read, err := netmail.ReadMessage(bytes.NewReader(e.data))
		if err != nil || len(read.Header) != 10 {
			t.Fatalf("%q: %v, %v", text, read, err)
		}
		if list, err := read.Header.AddressList("To"); err != nil || len(list) != 1 || list[0].Address != to {
			t.Fatalf("%q = %q, in a header %v, %v", text, to, list, err)
		}
	})
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		"":                    "",
		"Initialize user":     "Initialize user",
		"Größe":               "=?utf-8?b?R3LDtsOfZQ==?=",
		"=?utf-8?q?=0D=0AX?=": "=?utf-8?b?PT91dGYtOD9xPz0wRD0wQVg/PQ==?=",
	} {
		t.Run(subject, func(t *testing.T) {
			if got := encodeSubject(subject); got != want {
				t.Errorf("%q = %q, want %q", subject, got, want)
			}
		})
	}
}

func FuzzSubject(f *testing.F) {
	for _, seed := range []string{"", "Hello", strings.Repeat("a", 2000), strings.Repeat("漢", 600),
		"a" + strings.Repeat("漢", 60), "=?utf-8?q?x?=", " a  b ", "a =?x", strings.Repeat("ab ", 60)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		m := sample()
		m.Subject = subject
		e, err := m.build()
		if err != nil {
			return
		}
		for word := range strings.SplitSeq(encodeSubject(subject), " ") {
			if decoded, err := new(mime.WordDecoder).Decode(word); err == nil && !utf8.ValidString(decoded) {
				t.Fatalf("subject %q is cut within a character: %q", subject, word)
			}
		}
		header, _, _ := strings.Cut(string(e.data), "\r\n\r\n")
		for line := range strings.SplitSeq(header, "\r\n") {
			if len(line) > 78 || !isASCII(line) || line == "Subject:" {
				t.Fatalf("subject %q makes the line %q", subject, line)
			}
		}
		read, err := netmail.ReadMessage(bytes.NewReader(e.data))
		if err != nil || len(read.Header) != 10 {
			t.Fatalf("subject %q: %v, %v", subject, read, err)
		}
		decoded, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
		if err != nil || decoded != subject || !utf8.ValidString(decoded) {
			t.Fatalf("subject %q is read as %q, %v", subject, decoded, err)
		}
	})
}
