package login

import (
	"net/http"
	"strings"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
)

const (
	forgotPath = Path + "forgot"
	sentPath   = Path + "forgot/sent"
)

var (
	forgotBody = frame.Body(files, "forgot.html", "kept.html")
	goBody     = frame.Body(files, "go.html")
)

// askForgot writes the page that asks for the login name of a forgotten password.
func (p Pages) askForgot(w http.ResponseWriter, v *visit) error {
	p.write(w, v, forgotPath, frame.Page{Name: "forgot", Body: forgotBody,
		Data: nameForm{kept: v.kept(), LoginName: v.asked.LoginHint}})
	return nil
}

// forgot requests a mail for the user with the name. The answer and its time are the same for an unknown name, because
// the mail is requested after the answer.
func (p Pages) forgot(w http.ResponseWriter, v *visit) error {
	name := strings.TrimSpace(v.Values.Get("name"))
	if name != "" && len(name) <= maxName && domain.Plain(name) && !p.Mails.AskReset(name, v.RemoteAddr) {
		return fault.ErrOverloaded.After(time.Second)
	}
	p.keepRequest(w, v)
	redirect(w, v, v.address(sentPath))
	return nil
}

// keepRequest stores the id of the client's request in the browser, until a person comes back with a link of a mail or
// of a page.
func (p Pages) keepRequest(w http.ResponseWriter, v *visit) {
	if v.ID != "" {
		p.Sessions.KeepRequest(w, v.ID)
	}
}

func (p Pages) sent(w http.ResponseWriter, v *visit) error {
	p.leads(w, v, sentPath, frame.Page{Name: "passwordreset.resent"}, onward{v.address(Path), "login.back"})
	return nil
}

// back leads a person who comes from a mail to the login. If the browser has a client's request that still waits, the
// login is for that request. After an activation the browser is marked.
func (p Pages) back(w http.ResponseWriter, v *visit) error {
	var other []string
	if v.Values.Get("new") != "" { // another person may be logged in at this browser
		p.Sessions.MarkNew(w)
		other = []string{"other", "true"}
	}
	if kept := p.waiting(v); kept != "" {
		v.ID = kept
	}
	redirect(w, v, v.address(Path, other...))
	return nil
}

// waiting returns the id of the client's request that the browser keeps, if it still waits for a login; else "".
func (p Pages) waiting(v *visit) string {
	kept := p.Sessions.KeptRequest(v.Request)
	if kept == "" {
		return ""
	}
	if _, _, err := p.Destinations.Request(v.Context(), kept); err != nil {
		return ""
	}
	return kept
}
