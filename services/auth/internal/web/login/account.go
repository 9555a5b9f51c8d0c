package login

import (
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
)

// account is the data that a page shows of a person who has logged in.
type account struct {
	kept
	DisplayName, LoginName string
	// Other is the address for a login with another account.
	Other string
	// Return are the hidden fields of the logout form, which lead back to the client.
	Return []field
}

type field struct{ Name, Value string }

func (p Pages) account(v visit, s domain.Session) (account, error) {
	u, err := p.Cached.Profile(v.Context(), s.UserID, s.Credential)
	if err != nil {
		return account{}, err
	}
	return account{kept: v.kept(), LoginName: u.Profile.UserName, Other: v.address(Path, "other", "true"),
		DisplayName: u.Profile.Name}, nil
}

// choose writes the page that asks whether to continue with the account of the browser.
func (p Pages) choose(w http.ResponseWriter, v visit, s domain.Session) {
	v = v.branded(s.OrgID)
	a, err := p.account(v, s)
	if err != nil {
		p.failed(w, v, err)
		return
	}
	p.Frame.Write(w, v.Request, frame.Page{Status: http.StatusOK, Name: "choose", Body: chooseBody, Data: a,
		Language: v.Language, InLanguage: v.in(Path)})
}

// goOn continues with the account of the browser, if its login is recent enough.
func (p Pages) goOn(w http.ResponseWriter, v visit) {
	s, there, err := p.Sessions.Session(v.Request)
	switch {
	case err != nil:
		p.failed(w, v, err)
	case !there || v.ID == "":
		redirect(w, v, v.address(Path))
	case !v.asked.Satisfied(s, p.Now()):
		p.again(w, v, s)
	default:
		p.finish(w, v, s)
	}
}

// session writes the page that shows the account with which the browser is logged in.
func (p Pages) session(w http.ResponseWriter, v visit, s domain.Session, back ...field) {
	a, err := p.account(v, s)
	if err != nil {
		p.failed(w, v, err)
		return
	}
	if a.Return = back; v.ID == "" {
		v.Request = frame.Branded(v.Request, s.OrgID)
	}
	p.Frame.Write(w, v.Request, frame.Page{Status: http.StatusOK, Name: "session", Body: sessionBody, Data: a,
		Language: v.Language, InLanguage: v.in(Path)})
}

// logout ends the session of the browser.
func (p Pages) logout(w http.ResponseWriter, v visit) {
	if err := p.Sessions.End(w, v.Request); err != nil {
		p.failed(w, v, err)
		return
	}
	redirect(w, v, v.address(domain.SignedOutPath))
}

func (p Pages) ended(w http.ResponseWriter, v visit) {
	p.Frame.Write(w, v.Request, frame.Page{Status: http.StatusOK, Name: "signedout", Body: sentBody,
		Data: v.address(Path), Language: v.Language, InLanguage: v.in(domain.SignedOutPath)})
}
