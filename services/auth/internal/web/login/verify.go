package login

import (
	"net/http"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/maillink"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
)

const (
	verifyPath = Path + "verify"
	mailPath   = Path + "verify/mail"
)

var verifyBody = frame.Body(files, "verify.html", "kept.html")

// verifyForm is the form for the code of the mail that verifies an address.
type verifyForm struct {
	kept
	Email string
	// Sent reports that a new mail was asked for.
	Sent bool
}

// opened continues after a login that is done. A person whose address was never verified can verify it first.
func (p Pages) opened(w http.ResponseWriter, v *visit, s domain.Session) error {
	email, err := p.unverified(v, s)
	switch {
	case err != nil:
		return err
	case email == "":
		return p.finish(w, v, s)
	}
	redirect(w, v, v.address(verifyPath))
	return nil
}

// unverified returns a person's address if it is not verified, else "".
func (p Pages) unverified(v *visit, s domain.Session) (string, error) {
	found, err := p.Users.ResolveSubject(v.Context(), &usersv1.ResolveSubjectRequest{
		UserId: s.UserID, WithProfile: true,
	})
	if email := found.GetUser().GetHuman().GetEmail(); err == nil && !email.GetIsEmailVerified() {
		return email.GetEmail(), nil
	}
	return "", err
}

// withUnverified returns a handler that gets the session and the address of a person whose address is not verified. For
// others the login continues.
func (p Pages) withUnverified(
	next func(w http.ResponseWriter, v *visit, s domain.Session, email string) error,
) handler {
	return p.withSession(func(w http.ResponseWriter, v *visit, s domain.Session) error {
		email, err := p.unverified(v, s)
		switch {
		case err != nil:
			return err
		case email == "":
			return p.finish(w, v, s)
		}
		v.brand(p.Cached, s.OrgID)
		return next(w, v, s, email)
	})
}

func (p Pages) askVerify(w http.ResponseWriter, v *visit, _ domain.Session, email string) error {
	p.keepRequest(w, v) // the person may open the link of the mail instead
	p.verifyForm(w, v, http.StatusOK, verifyForm{kept: v.kept(), Email: email, Sent: v.Values.Get("sent") != ""})
	return nil
}

func (p Pages) verifyForm(w http.ResponseWriter, v *visit, status int, f verifyForm) {
	p.write(w, v, verifyPath, frame.Page{Status: status, Name: "verifyemail.confirm", Body: verifyBody, Data: f,
		Faulty: f.Wrong != ""})
}

// verify checks the code of the mail.
func (p Pages) verify(w http.ResponseWriter, v *visit, s domain.Session, email string) error {
	again := verifyForm{kept: v.kept(), Email: email}
	code := maillink.Tidy(v.Values.Get("code"))
	if code == "" {
		again.Wrong = "CODE_REQUIRED"
		p.verifyForm(w, v, http.StatusBadRequest, again)
		return nil
	}
	_, err := p.Users.CompleteCode(v.Context(), &usersv1.CompleteCodeRequest{
		Kind: string(mail.VerifyEmail), UserId: s.UserID, Code: code,
	})
	if again.Wrong = frame.WrongCode(err); again.Wrong != "" {
		p.verifyForm(w, v, fault.From(err).HTTPStatus(), again)
		return nil
	}
	if err != nil {
		return err
	}
	p.Posts.Return(v.RemoteAddr)
	return p.finish(w, v, s)
}

// mail requests a new mail.
func (p Pages) mail(w http.ResponseWriter, v *visit, s domain.Session, _ string) error {
	if !p.Mails.Ask(mail.VerifyEmail, s.UserID, v.RemoteAddr) {
		return fault.ErrOverloaded.After(time.Second)
	}
	redirect(w, v, v.address(verifyPath, "sent", "true"))
	return nil
}
