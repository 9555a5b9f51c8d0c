package account

import (
	"net/http"
	"unicode/utf8"

	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

func (p *Pages) password(w http.ResponseWriter, v visit) error {
	return p.passwordForm(w, v, frame.Wrong{})
}

// passwordForm asks for the old password and the new one twice. One of the fields may be wrong. A person without a
// password sees how they log in instead.
func (p *Pages) passwordForm(w http.ResponseWriter, v visit, wrong frame.Wrong) error {
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	if err != nil {
		return err
	}
	if !me.HasPassword {
		return p.noPassword(w, v)
	}
	fields := []field{
		{Name: "current", Label: "login.password", Autocomplete: "current-password"},
		{Name: "password", Label: "password", Autocomplete: "new-password", Hint: "password.hint"},
		{Name: "confirmation", Label: "confirmation", Autocomplete: "new-password"},
	}
	for i := range fields {
		fields[i].Type, fields[i].Required = "password", true
		if fields[i].Name == wrong.Field {
			fields[i].Wrong, fields[i].Otherwise = wrong.Key, wrong.Otherwise
		}
	}
	return p.writeForm(w, v, "changepassword", form{Fields: fields, Submit: "changepassword.title",
		UserName: me.GetUser().GetPreferredLoginName()})
}

// noPassword writes the page that says how a person without a password logs in.
func (p *Pages) noPassword(w http.ResponseWriter, v visit) error {
	return p.writeList(w, v, "nopassword", list{Address: v.address("idplinks"), ActionKey: "idplinks.title"}, nil)
}

// changePassword ends all logins of the person. This browser stays logged in, if possible.
func (p *Pages) changePassword(w http.ResponseWriter, v visit) error {
	old := v.Values.Get("current")
	if old == "" || !utf8.ValidString(old) {
		return p.passwordForm(w, v, frame.Wrong{Field: "current", Key: usersfault.ErrPasswordWrong.ID})
	}
	chosen, wrong := v.NewPassword()
	if wrong != (frame.Wrong{}) {
		return p.passwordForm(w, v, wrong)
	}
	_, err := p.Credentials.UpdateMyPassword(v.as(), &usersv1.UpdateMyPasswordRequest{OldPassword: old,
		NewPassword: chosen})
	switch f := fault.From(err); {
	case err == nil:
		return p.done(w, v, "", p.Sessions.Renew(w, v.Request, v.session))
	case f.ID == usersfault.ErrPasswordWrong.ID:
		return p.passwordForm(w, v, frame.Wrong{Field: "current", Key: f.ID, Otherwise: f.Message})
	case f.Code == fault.Invalid:
		return p.passwordForm(w, v, frame.Wrong{Field: "password", Key: f.ID, Otherwise: f.Message})
	}
	return err
}
