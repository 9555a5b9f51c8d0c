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
	// Change is the address of the page on which it is changed.
	Change   string
	Verified bool
	// Resent reports that a new mail was asked for.
	Resent bool
	// Wrong is the key of the text that says what is wrong with the code.
	Wrong string
}

func (p *Pages) email(w http.ResponseWriter, v visit) { p.emailForm(w, v, "") }

func (p *Pages) emailForm(w http.ResponseWriter, v visit, wrong string) {
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	has := me.User.GetHuman().GetEmail()
	e := email{base: v.base(), Address: has.GetEmail(), Verified: has.GetIsEmailVerified(), Wrong: wrong,
		Change: v.address("email/change"), Resent: v.Values.Get("resent") != ""}
	shown := frame.Page{Name: "email", Body: emailBody, Data: e, Faulty: wrong != ""}
	if shown.Faulty {
		shown.Status = http.StatusBadRequest
	}
	p.write(w, v, shown)
}

// verifyEmail checks the code of the mail, or requests a new mail.
func (p *Pages) verifyEmail(w http.ResponseWriter, v visit) {
	if v.Values.Get("again") != "" {
		p.resend(w, v)
		return
	}
	code := v.Text("code", maxCode)
	if code == "" {
		p.emailForm(w, v, "CODE_REQUIRED")
		return
	}
	_, err := p.Credentials.VerifyMyEmail(v.as(), &usersv1.VerifyMyEmailRequest{Code: code})
	switch f := fault.From(err); {
	case err == nil, f.ID == usersfault.ErrEmailAlreadyVerified.ID:
		p.done(w, v, "email")
	case f.ID == usersfault.ErrCodeWrong.ID:
		p.emailForm(w, v, usersfault.ErrCodeWrong.ID)
	case f.ID == usersfault.ErrCodeExpired.ID:
		p.emailForm(w, v, "expired.title")
	case f.ID == usersfault.ErrCodeLocked.ID:
		p.emailForm(w, v, "locked.text")
	default:
		p.failed(w, v, err)
	}
}

func (p *Pages) resend(w http.ResponseWriter, v visit) {
	_, err := p.Credentials.ResendMyEmailVerification(v.as(), &usersv1.ResendMyEmailVerificationRequest{})
	switch f := fault.From(err); {
	case err == nil, f.ID == usersfault.ErrEmailAlreadyVerified.ID:
		http.Redirect(w, v.Request, v.address("email", "resent", "true"), http.StatusSeeOther)
	case f.ID == usersfault.ErrTooManyMails.ID:
		p.emailForm(w, v, usersfault.ErrTooManyMails.ID)
	default:
		p.failed(w, v, err)
	}
}

func (p *Pages) askEmail(w http.ResponseWriter, v visit) { p.changeForm(w, v, "", "") }

func (p *Pages) changeForm(w http.ResponseWriter, v visit, typed, wrong string) {
	p.writeForm(w, v, "changeemail", form{Submit: "changeemail.title", Fields: []field{{
		Name: "email", Label: "changeemail.new", Type: "email", Autocomplete: "email", Required: true, Value: typed,
		Wrong: wrong,
	}}})
}

// changeEmail changes the address. The service users sends a code to the new address, and a notice to the old one.
func (p *Pages) changeEmail(w http.ResponseWriter, v visit) {
	typed := v.Text("email", maxAddress)
	_, err := p.Credentials.UpdateMyEmail(v.as(), &usersv1.UpdateMyEmailRequest{Email: typed})
	switch f := fault.From(err); {
	case err == nil:
		p.done(w, v, "email")
	case f.Code == fault.Invalid:
		p.changeForm(w, v, typed, usersfault.ErrEmailInvalid.ID)
	case f.ID == usersfault.ErrTooManyMails.ID:
		p.changeForm(w, v, typed, usersfault.ErrTooManyMails.ID)
	default:
		p.failed(w, v, err)
	}
}
