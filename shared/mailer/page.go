package mailer

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed mail.html
var mailHTML string

var frame = template.Must(template.New("mail.html").Funcs(template.FuncMap{
	"lines": func(text string) []string { return strings.Split(text, "\n") },
	// mso is for Outlook on Windows only, which ignores max-width. The template would remove a comment of its own.
	"mso": func(markup string) template.HTML { return template.HTML("<!--[if mso]>" + markup + "<![endif]-->") },
}).Parse(mailHTML))

// standardFill is the color of Herald's buttons.
const standardFill = "#2f56d9"

// paint sets the color of the button.
func (p *page) paint(chosen string) {
	fill, ok := ParseColor(chosen)
	if !ok {
		fill, _ = ParseColor(standardFill)
	}
	p.Fill, p.OnFill = template.CSS(fill.String()), template.CSS(fill.OnTop().String())
}

// page is the content of a mail. It contains codeMark instead of the code.
type page struct {
	Language, Direction                       string
	Title, PreHeader, Subject, Greeting, Text string
	ButtonText, FooterText                    string
	// List are the lines of a list below Text.
	List       []string
	Link, Code string
	// Support is the address for help; empty for none. Help stands before it.
	Support, Help string
	// Fill is the color of the button, and OnFill that of its text.
	Fill, OnFill template.CSS
	// Address explains the link below the button. It is empty if there is no button.
	Address string
	// Href is Link as an attribute, because the URL escaper of the template would percent-encode the mark.
	Href template.HTMLAttr
}

func (p page) size() int {
	return len(p.Title) + len(p.PreHeader) + len(p.Subject) + len(p.Greeting) + len(p.Text) +
		len(p.ButtonText) + len(p.FooterText) + len(p.Link) + len(p.list())
}

func (p page) html() (string, error) {
	var out strings.Builder
	if err := frame.Execute(&out, p); err != nil {
		return "", fmt.Errorf("render the HTML part: %w", err)
	}
	return out.String(), nil
}

// help returns the line with the address for help, or "" if there is none.
func (p page) help() string {
	if p.Support == "" {
		return ""
	}
	return p.Help + " " + p.Support
}

// list returns the list as it stands in the text part.
func (p page) list() string {
	if len(p.List) == 0 {
		return ""
	}
	return "- " + strings.Join(p.List, "\n- ")
}

// plain returns the text part, with an empty line between paragraphs. The link and the code each have their own line,
// so that every mail program recognizes them.
func (p page) plain() string {
	button := p.Link
	if p.ButtonText != "" && p.Link != "" {
		button = p.ButtonText + "\n" + p.Link
	}
	var out strings.Builder
	for _, paragraph := range []string{p.Title, p.Greeting, p.Text, p.list(), button, p.Code, p.FooterText, p.help()} {
		if paragraph == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(paragraph + "\n")
	}
	return out.String()
}
