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
	sentBody   = frame.Body(files, "sent.html")
)

// askForgot asks who has forgotten the password.
func (p Pages) askForgot(w http.ResponseWriter, v visit) {
	p.Frame.Write(w, v.Request, frame.Page{Status: http.StatusOK, Name: "forgot", Body: forgotBody,
		Data:     nameForm{kept: v.kept(), LoginName: v.asked.LoginHint},
		Language: v.Language, InLanguage: v.in(forgotPath)})
}

// forgot requests a mail for whoever has the name. The answer is the same, after the same time, whether there is
// anybody: the mail is requested after it.
func (p Pages) forgot(w http.ResponseWriter, v visit) {
	name := strings.TrimSpace(v.Values.Get("name"))
	if name != "" && len(name) <= maxName && domain.Plain(name) && !p.Mails.AskReset(name, v.RemoteAddr) {
		p.failed(w, v, fault.ErrOverloaded.After(time.Second))
		return
	}
	if v.ID != "" {
		p.Sessions.KeepRequest(w, v.ID)
	}
	redirect(w, v, v.address(sentPath))
}

func (p Pages) sent(w http.ResponseWriter, v visit) {
	p.Frame.Write(w, v.Request, frame.Page{Status: http.StatusOK, Name: "passwordreset.resent", Body: sentBody,
		Data: v.address(Path), Language: v.Language, InLanguage: v.in(sentPath)})
}

// back leads somebody who comes from a mail to the login, for the request for which the browser began it if that still
// waits. It remembers who has just activated the account.
func (p Pages) back(w http.ResponseWriter, v visit) {
	var other []string
	if v.Values.Get("new") != "" { // somebody else may have logged in at this browser before
		p.Sessions.MarkNew(w)
		other = []string{"other", "true"}
	}
	if kept := p.waiting(v); kept != "" {
		v.ID = kept
	}
	redirect(w, v, v.address(Path, other...))
}

// waiting returns the id of the client's request that the browser keeps, if it still waits for a login; else "".
func (p Pages) waiting(v visit) string {
	kept := p.Sessions.KeptRequest(v.Request)
	if kept == "" {
		return ""
	}
	if _, _, err := p.Destinations.Request(v.Context(), kept); err != nil {
		return ""
	}
	return kept
}
