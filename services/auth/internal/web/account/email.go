package account

import (
	"net/http"

	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// maxCode and maxAddress are limits in bytes. Every code and every e-mail address is shorter.
const maxCode, maxAddress = 64, 1000

// email is the content of the page with the person's address. For an address that is not verified the page asks for a
// code.
type email struct {
	base
	Address string
	// Pending is the address that takes its place when the code of the mail is typed; empty for none.
	Pending string
	// Change is the address of the page on which it is changed.
	Change   string
	Verified bool
	// Resent reports that a new mail was asked for.
	Resent bool
	// Wrong is the key of the text that says what is wrong with the code.
	Wrong string
}

func (p *Pages) email(w http.ResponseWriter, v visit) error { return p.emailForm(w, v, "") }

func (p *Pages) emailForm(w http.ResponseWriter, v visit, wrong string) error {
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	has := me.GetUser().GetHuman().GetEmail()
	e := email{base: v.base(), Address: has.GetEmail(), Verified: has.GetIsEmailVerified(), Wrong: wrong,
		Pending: me.GetUser().GetHuman().GetPendingEmail(),
		Change:  v.address("email/change"), Resent: v.Values.Get("resent") != ""}
	shown := frame.Page{Name: "email", Body: emailBody, Data: e, Faulty: wrong != ""}
	if shown.Faulty {
		shown.Status = http.StatusBadRequest
	}
	return p.write(w, v, shown, err)
}

// verifyEmail checks the code of the mail, or requests a new mail.
func (p *Pages) verifyEmail(w http.ResponseWriter, v visit) error {
	if v.Values.Get("again") != "" {
		return p.resend(w, v)
	}
	code := v.Text("code", maxCode)
	if code == "" {
		return p.emailForm(w, v, "CODE_REQUIRED")
	}
	_, err := p.Credentials.VerifyMyEmail(v.as(), &usersv1.VerifyMyEmailRequest{Code: code})
	if wrong := frame.WrongCode(err); wrong != "" {
		return p.emailForm(w, v, wrong)
	}
	return p.done(w, v, "email", unlessVerified(err))
}

// unlessVerified returns nil for the fault of an address that is verified already, because nothing is left to do.
func unlessVerified(err error) error {
	if fault.From(err).ID == usersfault.ErrEmailAlreadyVerified.ID {
		return nil
	}
	return err
}

func (p *Pages) resend(w http.ResponseWriter, v visit) error {
	_, err := p.Credentials.ResendMyEmailVerification(v.as(), &usersv1.ResendMyEmailVerificationRequest{})
	if fault.From(err).ID == usersfault.ErrTooManyMails.ID {
		return p.emailForm(w, v, usersfault.ErrTooManyMails.ID)
	}
	if err = unlessVerified(err); err == nil {
		http.Redirect(w, v.Request, v.address("email", "resent", "true"), http.StatusSeeOther)
	}
	return err
}

func (p *Pages) askEmail(w http.ResponseWriter, v visit) error { return p.changeForm(w, v, "", "") }

func (p *Pages) changeForm(w http.ResponseWriter, v visit, typed, wrong string) error {
	return p.writeForm(w, v, "changeemail", form{Submit: "changeemail.title", Fields: []field{{
		Name: "email", Label: "changeemail.new", Type: "email", Autocomplete: "email", Required: true, Value: typed,
		Wrong: wrong,
	}}})
}

// cancelEmail keeps the address, so that the pending one is forgotten.
func (p *Pages) cancelEmail(w http.ResponseWriter, v visit) error {
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	if err == nil && me.GetUser().GetHuman().GetPendingEmail() != "" {
		_, err = p.Credentials.UpdateMyEmail(v.as(), &usersv1.UpdateMyEmailRequest{
			Email: me.GetUser().GetHuman().GetEmail().GetEmail(),
		})
	}
	return p.done(w, v, "email", err)
}

// changeEmail changes the address. The service users sends a code to the new address.
func (p *Pages) changeEmail(w http.ResponseWriter, v visit) error {
	typed := v.Text("email", maxAddress)
	_, err := p.Credentials.UpdateMyEmail(v.as(), &usersv1.UpdateMyEmailRequest{Email: typed})
	switch f := fault.From(err); {
	case f.ID == usersfault.ErrTooManyMails.ID:
		return p.changeForm(w, v, typed, f.ID)
	case f.Code == fault.Invalid:
		return p.changeForm(w, v, typed, usersfault.ErrEmailInvalid.ID)
	}
	return p.done(w, v, "email", err)
}
