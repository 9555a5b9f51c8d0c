package maillink

import (
	"net/http"
	"strings"

	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
)

// passwordPrefix begins the ids of all faults of a password.
const passwordPrefix = "PASSWORD_"

type form struct {
	link
	Path, ResendPath string
	// Password reports that the form asks for a password.
	Password bool
	Wrong    frame.Wrong
	// Holder is the user whose code it is, if the code is right.
	Holder *usersv1.CodeHolder
	// Focus is the name of the field with the focus.
	Focus string
	// Stale reports that the page offers to send a new mail.
	Stale bool
}

// gone is the content of the page for a link whose code is refused: it was used, or a newer mail replaced it. Next is
// where a person goes on who has used it.
type gone struct {
	form
	Next string
}

// form writes the form with the values that were typed, without passwords.
func (p Pages) form(w http.ResponseWriter, r request, status int, faulty frame.Wrong) {
	if faulty.Field == "password" {
		r.PasswordSet = false // users has answered that a password is missing
	}
	f := form{
		link: r.link, Path: r.path(), ResendPath: r.resendPath(), Password: r.asksPassword(r.link),
		Wrong: faulty, Focus: faulty.Field, Stale: faulty.Key == usersfault.ErrCodeWrong.ID, Holder: r.holder,
	}
	name := r.text("confirm")
	if f.Password {
		name = r.text("form")
	}
	switch {
	case f.Focus != "":
	case f.Code == "":
		f.Focus = "code"
	case f.Password:
		f.Focus = "password"
	}
	p.write(w, r, frame.Page{Status: status, Name: name, Body: formBody, Data: f, Faulty: faulty.Field != "",
		InLanguage: r.in})
}

// again writes the form after a mistake. It checks the code once more, so that a wrong code counts as a guess here too.
// If users does not answer, the form names no user.
func (p Pages) again(w http.ResponseWriter, r request, status int, faulty frame.Wrong) {
	if faulty.Field != "code" {
		checked, _ := p.check(r)
		r = r.of(checked.GetHolder())
	}
	p.form(w, r, status, faulty)
}

// offerMail writes a page that explains why the code cannot be used, and offers a new mail.
func (p Pages) offerMail(w http.ResponseWriter, r request, status int, name string) {
	p.write(w, r, frame.Page{Status: status, Name: name, Body: resendBody,
		Data: form{link: r.link, ResendPath: r.resendPath()}})
}

// write writes a page in the language of the form.
func (p Pages) write(w http.ResponseWriter, r request, page frame.Page) {
	page.Language = r.Language
	p.Frame.Write(w, r.Request, page)
}

// refused writes the page for a fault.
func (p Pages) refused(w http.ResponseWriter, r request, err error) {
	f := fault.From(err)
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", fault.RetrySeconds(f.RetryAfter))
	}
	switch {
	case f.ID == usersfault.ErrCodeWrong.ID:
		p.again(w, r, f.HTTPStatus(), frame.Wrong{Field: "code", Key: f.ID, Otherwise: f.Message})
	case f.ID == usersfault.ErrCodeExpired.ID:
		p.offerMail(w, r, f.HTTPStatus(), "expired")
	case f.ID == usersfault.ErrCodeLocked.ID:
		p.offerMail(w, r, f.HTTPStatus(), "locked")
	case f.Code == fault.Invalid && strings.HasPrefix(f.ID, passwordPrefix) && r.page().Password != mail.NeverAsked:
		p.again(w, r, f.HTTPStatus(), frame.Wrong{Field: "password", Key: f.ID, Otherwise: f.Message})
	default:
		p.Frame.Failed(w, r.Request, err, frame.Retry{Address: r.address(r.path()), Language: r.Language})
	}
}
