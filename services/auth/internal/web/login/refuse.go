package login

import (
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
)

// Faults of users that have a page or a text of their own, by their stable ids.
const (
	loginWrong    = "LOGIN_WRONG"
	loginOver     = "LOGIN_OVER"
	factorWrong   = "FACTOR_WRONG"
	linkLimit     = "IDP_LINK_LIMIT"
	nameTaken     = "USER_NAME_TAKEN"
	linkDiffers   = "IDP_LINK_OTHER_TENANT"
	tenantRefused = "IDP_TENANT_REFUSED"
	idpOff        = "IDP_NOT_ACTIVE"
	idpGone       = "IDP_NOT_FOUND"
)

// notice writes a page that has only its texts.
func (p Pages) notice(w http.ResponseWriter, v visit, status int, name string) {
	p.Frame.Write(w, v.Request, frame.Page{Status: status, Name: name, Body: frame.NoticeBody, Data: "",
		Language: v.Language, InLanguage: v.in(Path)})
}

// inactive writes the page for somebody who may not log in, with a way back to the login.
func (p Pages) inactive(w http.ResponseWriter, v visit) {
	p.Frame.Write(w, v.Request, frame.Page{Status: http.StatusForbidden, Name: "inactive", Body: sentBody,
		Data: v.address(Path), Language: v.Language, InLanguage: v.in(Path)})
}

// failed writes the page for a fault about which the person can do nothing but wait.
func (p Pages) failed(w http.ResponseWriter, v visit, err error) {
	f := fault.From(err)
	if f.ID != domain.PasswordLocked && f.ID != domain.FactorLocked {
		p.Frame.Failed(w, v.Request, err, frame.Retry{Address: v.address(Path), Language: v.Language})
		return
	}
	p.Frame.Locked(w, v.Request, f.RetryAfter, v.Language)
}
