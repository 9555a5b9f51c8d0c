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
}

func (p Pages) account(v *visit, s domain.Session) (account, error) {
	u, err := p.Cached.Profile(v.Context(), s.UserID, s.Credential)
	if err != nil {
		return account{}, err
	}
	return account{kept: v.kept(), LoginName: u.Profile.UserName, Other: v.address(Path, "other", "true"),
		DisplayName: u.Profile.Name}, nil
}

// choose writes the page that asks whether to continue with the account of the browser.
func (p Pages) choose(w http.ResponseWriter, v *visit, s domain.Session) error {
	v.brand(p.Cached, s.OrgID)
	a, err := p.account(v, s)
	if err == nil {
		p.write(w, v, Path, frame.Page{Name: "choose", Body: chooseBody, Data: a})
	}
	return err
}

// goOn continues with the account of the browser, if its login is recent enough.
func (p Pages) goOn(w http.ResponseWriter, v *visit, s domain.Session) error {
	switch {
	case v.ID == "":
		redirect(w, v, v.address(Path))
		return nil
	case !v.asked.Satisfied(s, p.Now()):
		return p.again(w, v, s)
	}
	return p.finish(w, v, s)
}

// session writes the page that shows the account with which the browser is logged in.
func (p Pages) session(w http.ResponseWriter, v *visit, s domain.Session) error {
	a, err := p.account(v, s)
	if err == nil {
		v.Request = frame.Branded(v.Request, s.OrgID)
		p.write(w, v, Path, frame.Page{Name: "session", Body: sessionBody, Data: a})
	}
	return err
}

// logout ends the session of the browser.
func (p Pages) logout(w http.ResponseWriter, v *visit) error {
	if err := p.Sessions.End(w, v.Request); err != nil {
		return err
	}
	redirect(w, v, v.address(domain.SignedOutPath))
	return nil
}

func (p Pages) ended(w http.ResponseWriter, v *visit) error {
	p.leads(w, v, domain.SignedOutPath, frame.Page{Name: "signedout"}, onward{v.address(Path), "login.back"})
	return nil
}
