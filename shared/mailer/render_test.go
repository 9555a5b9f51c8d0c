package mailer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const link = "https://id.example.com/ui/login/user/init?userID=7&code={{.Code}}&orgID=8&passwordset=false"

func message() Message {
	return Message{
		Language: "en",
		Link:     link,
		Texts: Texts{
			Title: "Welcome", PreHeader: "Set a password", Subject: "Welcome, {{.FirstName}}",
			Greeting: "Hello {{ .FirstName }},", Text: "first line\r\nsecond line",
			ButtonText: "Go on", FooterText: "Bye",
		},
		Value: func(name string) string { return map[string]string{"FirstName": "Ada"}[name] },
	}
}

func render(t *testing.T, m Message) Rendered {
	t.Helper()
	r, err := m.Render()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func parse(t *testing.T, text string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// shape lists the elements with their attributes, line breaks left out.
func shape(root *html.Node) (elements []string) {
	for n := range root.Descendants() {
		if n.Type == html.TextNode || n.Data == "br" {
			continue
		}
		element := n.Data
		for _, a := range n.Attr {
			element += " " + a.Key + "=" + a.Val
		}
		elements = append(elements, element)
	}
	return elements
}

// visible joins the text nodes, white space made single.
func visible(root *html.Node) string {
	var out strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			out.WriteString(n.Data)
		}
		if n.Data == "br" {
			out.WriteByte(' ')
		}
	}
	return oneLine(out.String())
}

func TestRender(t *testing.T) {
	t.Parallel()
	r, err := render(t, message()).Fill("K7MPX4RD")
	if err != nil {
		t.Fatal(err)
	}
	if r.Subject != "Welcome, Ada" {
		t.Errorf("subject %q", r.Subject)
	}
	address := strings.ReplaceAll(link, "{{.Code}}", "K7MPX4RD")
	want := "Welcome\n\nHello Ada,\n\nfirst line\nsecond line\n\nGo on\n" + address + "\n\nK7MPX4RD\n\nBye\n"
	if r.Text != want {
		t.Errorf("text part\n%s\nwant\n%s", r.Text, want)
	}
	if hint := "If the button does not work, open this address in your browser:"; !strings.Contains(r.HTML, hint) ||
		strings.Contains(r.Text, hint) {
		t.Error("the bare link is not explained, or in the text part")
	}
	if !strings.Contains(r.HTML, "first line<br>second line") {
		t.Error("the line break is lost")
	}
	for _, element := range shape(parse(t, r.HTML)) {
		name, attributes, _ := strings.Cut(element, " ")
		if name == "a" && !strings.Contains(attributes, "href="+address) {
			t.Errorf("the link is %q", element)
		}
		if strings.Contains(attributes, "src=") ||
			slices.Contains([]string{"img", "link", "script", "object", "iframe"}, name) {
			t.Errorf("loads something: %q", element)
		}
	}
}

func TestCodeIsNotKept(t *testing.T) {
	t.Parallel()
	m := message()
	m.Texts.Subject, m.Texts.Text = "Code {{.Code}}", "Your code: {{.Code}}\x1a"
	m.Value = func(name string) string { t.Fatalf("asked for %s", name); return "" }
	m.Texts.Greeting = ""
	kept, err := json.Marshal(render(t, m))
	if err != nil {
		t.Fatal(err)
	}
	var r Rendered
	if err := json.Unmarshal(kept, &r); err != nil {
		t.Fatal(err)
	}
	filled, err := r.Fill("K7MPX4RD")
	if err != nil {
		t.Fatal(err)
	}
	if filled.Subject != "Code K7MPX4RD" || !strings.Contains(filled.Text, "Your code: K7MPX4RD\n") {
		t.Errorf("filled %q, %q", filled.Subject, filled.Text)
	}
	if n := strings.Count(filled.HTML, "K7MPX4RD"); n != 6 { // title, text, two links, the link's own text, the code
		t.Errorf("the code stands %d times in the HTML part", n)
	}
	if strings.Contains(filled.Subject+filled.Text+filled.HTML, codeMark) {
		t.Error("a mark is left")
	}
}

func TestFillRefusesStrangeCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "a b", "a&b", "<b>", "a\r\nb", "ü", codeMark, strings.Repeat("A", 201)} {
		if _, err := render(t, message()).Fill(code); err == nil {
			t.Errorf("Fill(%q) went through", code)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"javascript:alert(1)", "JavaScript://x/%0aalert(1)", "data:text/html,x", "//id.example.com/", "/ui",
		"id.example.com",
		"mailto:a@example.com", "https:///ui", "https://id.example.com/a b", "https://id.example.com/\n",
		"https://id.example.com/\x1a", "ftp://id.example.com/",
	} {
		m := message()
		m.Link = bad
		if _, err := m.Render(); err == nil {
			t.Errorf("%q is taken for a link", bad)
		}
	}
	m := message()
	m.Link = `https://id.example.com/?a="onclick="x&b='<i>&code={{.Code}}`
	want := strings.ReplaceAll(m.Link, "{{.Code}}", codeMark)
	hrefs := 0
	for n := range parse(t, render(t, m).HTML).Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" && a.Val == want {
				hrefs++
			}
		}
	}
	if hrefs != 2 {
		t.Errorf("%d links lead to %q", hrefs, want)
	}
}

func TestEmptyPartsAreLeftOut(t *testing.T) {
	t.Parallel()
	m := Message{Texts: Texts{Subject: "Test", Text: "It works."}, Language: "en"}
	r := render(t, m)
	if r.Text != "It works.\n" {
		t.Errorf("text part %q", r.Text)
	}
	for _, element := range shape(parse(t, r.HTML)) {
		switch name, _, _ := strings.Cut(element, " "); name {
		case "h1", "a", "div":
			t.Errorf("an empty %q", element)
		}
	}
}

func TestLanguageAndDirection(t *testing.T) {
	t.Parallel()
	for language, want := range map[string]string{
		"en": `lang="en" dir="ltr"`, "de-ch": `lang="de-CH" dir="ltr"`, "ja": `lang="ja" dir="ltr"`,
		"ar": `lang="ar" dir="rtl"`,
		"he": `lang="he" dir="rtl"`, "uz-Arab": `lang="uz-Arab" dir="rtl"`, `"><script>`: `lang="und" dir="ltr"`,
	} {
		t.Run(language, func(t *testing.T) {
			m := message()
			m.Language = language
			if r := render(t, m); !strings.Contains(r.HTML, "<html "+want+">") {
				t.Errorf("no %s", want)
			}
		})
	}
}

func TestTextsThatGrow(t *testing.T) {
	t.Parallel()
	m := message()
	m.Texts.Text = strings.Repeat("{{.FirstName}}", 2000)
	m.Value = func(string) string { return strings.Repeat("x", 200) }
	if _, err := m.Render(); err == nil {
		t.Error("a text of 400 kB went through")
	}
}
