package login

import (
	"net/http"

	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

// factorWrong is the key of the text for a wrong code of a second factor.
const factorWrong = "FACTOR_WRONG"

// notice writes a page that has only its texts.
func (p Pages) notice(w http.ResponseWriter, v visit, status int, name string) {
	p.Frame.Write(w, v.Request, frame.Page{Status: status, Name: name, Body: frame.NoticeBody, Data: "",
		Language: v.Language, InLanguage: v.in(Path)})
}

// inactive writes the page for a user who may not log in, with a link back to the login.
func (p Pages) inactive(w http.ResponseWriter, v visit) {
	p.Frame.Write(w, v.Request, frame.Page{Status: http.StatusForbidden, Name: "inactive", Body: sentBody,
		Data: v.address(Path), Language: v.Language, InLanguage: v.in(Path)})
}

// failed writes the page for a fault after which the person can only wait.
func (p Pages) failed(w http.ResponseWriter, v visit, err error) {
	f := fault.From(err)
	if f.ID != usersfault.ErrPasswordLocked.ID && f.ID != usersfault.ErrOTPLocked.ID {
		p.Frame.Failed(w, v.Request, err, frame.Retry{Address: v.address(Path), Language: v.Language})
		return
	}
	p.Frame.Locked(w, v.Request, f.RetryAfter, v.Language)
}
