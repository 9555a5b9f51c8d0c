package account

import (
	"net/http"
	"unicode/utf8"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

func (p *Pages) password(w http.ResponseWriter, v visit) { p.passwordForm(w, v, "", "", "") }

// passwordForm asks for the old password and the new one twice. One of the fields may be marked as wrong. A person
// without a password sees how they log in instead.
func (p *Pages) passwordForm(w http.ResponseWriter, v visit, name, wrong, otherwise string) {
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	switch {
	case err != nil:
		p.failed(w, v, err)
		return
	case !me.HasPassword:
		p.noPassword(w, v)
		return
	}
	fields := []field{
		{Name: "current", Label: "login.password", Autocomplete: "current-password"},
		{Name: "password", Label: "password", Autocomplete: "new-password", Hint: "password.hint"},
		{Name: "confirmation", Label: "confirmation", Autocomplete: "new-password"},
	}
	for i := range fields {
		fields[i].Type, fields[i].Required = "password", true
		if fields[i].Name == name {
			fields[i].Wrong, fields[i].Otherwise = wrong, otherwise
		}
	}
	p.writeForm(w, v, "changepassword", form{Fields: fields, Submit: "changepassword.title"})
}

// noPassword writes the page that says how a person without a password logs in.
func (p *Pages) noPassword(w http.ResponseWriter, v visit) {
	p.writeList(w, v, "nopassword", list{Address: v.address("idplinks"), ActionKey: "idplinks.title"})
}

// changePassword ends all logins of the person. This browser stays logged in.
func (p *Pages) changePassword(w http.ResponseWriter, v visit) {
	old, chosen := v.Values.Get("current"), v.Values.Get("password")
	switch {
	case old == "", !utf8.ValidString(old):
		p.passwordForm(w, v, "current", usersfault.ErrPasswordWrong.ID, "")
		return
	case chosen == "":
		p.passwordForm(w, v, "password", usersfault.ErrPasswordRequired.ID, "")
		return
	case !utf8.ValidString(chosen):
		p.passwordForm(w, v, "password", usersfault.ErrPasswordNotText.ID, "")
		return
	case chosen != v.Values.Get("confirmation"):
		p.passwordForm(w, v, "confirmation", "PASSWORD_MISMATCH", "")
		return
	}
	_, err := p.Credentials.UpdateMyPassword(v.as(), &usersv1.UpdateMyPasswordRequest{OldPassword: old,
		NewPassword: chosen})
	switch f := fault.From(err); {
	case err == nil:
		p.stay(w, v)
	case f.ID == usersfault.ErrPasswordWrong.ID:
		p.passwordForm(w, v, "current", f.ID, f.Message)
	case f.Code == fault.Invalid:
		p.passwordForm(w, v, "password", f.ID, f.Message)
	default:
		p.failed(w, v, err)
	}
}

// stay keeps the browser logged in after a change of the password. If it cannot, the person has to log in again.
func (p *Pages) stay(w http.ResponseWriter, v visit) {
	if err := p.Sessions.Renew(w, v.Request, v.session); err != nil {
		p.failed(w, v, err)
		return
	}
	p.done(w, v, "")
}
