package login

import (
	"net/http"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/maillink"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
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
func (p Pages) opened(w http.ResponseWriter, v visit, s domain.Session) {
	email, err := p.unverified(v, s)
	switch {
	case err != nil:
		p.failed(w, v, err)
	case email != "":
		redirect(w, v, v.address(verifyPath))
	default:
		p.finish(w, v, s)
	}
}

// unverified returns a person's address if it is not verified, else "".
func (p Pages) unverified(v visit, s domain.Session) (string, error) {
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
	next func(w http.ResponseWriter, v visit, s domain.Session, email string),
) func(http.ResponseWriter, visit) {
	return func(w http.ResponseWriter, v visit) {
		s, there, err := p.Sessions.Session(v.Request)
		if err == nil && !there {
			redirect(w, v, v.address(Path))
			return
		}
		email := ""
		if err == nil {
			email, err = p.unverified(v, s)
		}
		switch {
		case err != nil:
			p.failed(w, v, err)
		case email == "":
			p.finish(w, v, s)
		default:
			next(w, v.branded(s.OrgID), s, email)
		}
	}
}

func (p Pages) askVerify(w http.ResponseWriter, v visit, _ domain.Session, email string) {
	if v.ID != "" {
		p.Sessions.KeepRequest(w, v.ID) // the person may open the link of the mail instead
	}
	p.verifyForm(w, v, http.StatusOK, verifyForm{kept: v.kept(), Email: email, Sent: v.Values.Get("sent") != ""})
}

func (p Pages) verifyForm(w http.ResponseWriter, v visit, status int, f verifyForm) {
	p.Frame.Write(w, v.Request, frame.Page{Status: status, Name: "verifyemail.confirm", Body: verifyBody, Data: f,
		Faulty: f.Wrong != "", Language: v.Language, InLanguage: v.in(verifyPath)})
}

// verify checks the code of the mail.
func (p Pages) verify(w http.ResponseWriter, v visit, s domain.Session, email string) {
	code := maillink.Tidy(v.Values.Get("code"))
	again := func(status int, wrong string) {
		f := verifyForm{kept: v.kept(), Email: email}
		f.Wrong = wrong
		p.verifyForm(w, v, status, f)
	}
	if code == "" {
		again(http.StatusBadRequest, "CODE_REQUIRED")
		return
	}
	_, err := p.Users.CompleteCode(v.Context(), &usersv1.CompleteCodeRequest{
		Kind: string(mail.VerifyEmail), UserId: s.UserID, Code: code,
	})
	switch f := fault.From(err); {
	case err == nil:
		p.Posts.Return(v.RemoteAddr)
		p.finish(w, v, s)
	case f.ID == usersfault.ErrCodeWrong.ID:
		again(f.HTTPStatus(), usersfault.ErrCodeWrong.ID)
	case f.ID == usersfault.ErrCodeExpired.ID:
		again(f.HTTPStatus(), "expired.title")
	case f.ID == usersfault.ErrCodeLocked.ID:
		again(f.HTTPStatus(), "locked.text")
	default:
		p.failed(w, v, err)
	}
}

// mail requests a new mail.
func (p Pages) mail(w http.ResponseWriter, v visit, s domain.Session, _ string) {
	if !p.Mails.Ask(mail.VerifyEmail, s.UserID, v.RemoteAddr) {
		p.failed(w, v, fault.ErrOverloaded.After(time.Second))
		return
	}
	redirect(w, v, v.address(verifyPath, "sent", "true"))
}
