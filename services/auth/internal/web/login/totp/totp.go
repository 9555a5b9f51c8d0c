// Package totp has the pages on which a person protects the account with an authenticator app: the beginning, the QR
// code with the field for the first code, and the recovery codes. The login and the account pages use them at different
// addresses, and provide the person. A person who stops in between must begin again.
package totp

import (
	"context"
	"embed"
	"net/http"
	"slices"
	"strings"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// enrolWrong is the key of the text for a wrong first code.
const enrolWrong = "ENROL_WRONG"

var (
	//go:embed *.html
	files embed.FS

	beginBody    = frame.Body(files, "begin.html", "parts.html")
	scanBody     = frame.Body(files, "scan.html", "parts.html")
	recoveryBody = frame.Body(files, "recovery.html", "parts.html")
	readyBody    = frame.Body(files, "ready.html", "parts.html")
)

// Field is a hidden field.
type Field struct{ Name, Value string }

// Place is where the pages are.
type Place struct {
	// Path is where their forms are posted to.
	Path string
	// Next is the address to which the person goes at the end, or without setting up an app. A form with that method
	// leads there.
	Next, Method string
	// Fields are in every form.
	Fields []Field
	// Language and InLanguage are those of frame.Page.
	Language   string
	InLanguage func(tag string) string
}

// Pages writes the pages. The context of each request must have the person as the caller of the service users.
type Pages struct {
	Factors usersv1.FactorsClient
	Frame   *frame.Frame
}

// Ready reports whether the person of the context has an app that logins ask for.
func (e Pages) Ready(ctx context.Context) (bool, error) {
	found, err := e.Factors.SearchMyAuthFactors(ctx, &usersv1.SearchMyAuthFactorsRequest{})
	return slices.ContainsFunc(found.GetResult(), func(f *usersv1.AuthFactor) bool {
		return f.State == usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY
	}), err
}

// Show writes the first page, or a page that says that the account is protected already.
func (e Pages) Show(w http.ResponseWriter, r *http.Request, p Place) {
	has, err := e.Ready(r.Context())
	if err != nil {
		e.failed(w, r, p, err)
		return
	}
	page := frame.Page{Name: "enrol", Body: beginBody, Data: shown{Place: p}, InLanguage: p.InLanguage}
	if has {
		page.Name, page.Body = "protected", readyBody
	}
	e.write(w, r, p, page)
}

// Take handles the form of a page. Without a code in the form it makes a secret. Otherwise it checks the first code of
// the app. The secret and the recovery codes are shown in the answer only.
func (e Pages) Take(w http.ResponseWriter, r *http.Request, p Place) {
	address, code := r.PostFormValue("url"), r.PostFormValue("code")
	if address == "" {
		e.begin(w, r, p)
		return
	}
	again := scan(p, address)
	if again.Key == "" {
		e.Frame.Notice(w, r, http.StatusBadRequest, "malformed", "")
		return
	}
	if again.Wrong = enrolWrong; len(code) > maxCode || !domain.Plain(code) || strings.TrimSpace(code) == "" {
		e.scan(w, r, http.StatusBadRequest, again)
		return
	}
	done, err := e.Factors.VerifyMyOtp(r.Context(), &usersv1.VerifyMyOtpRequest{Code: code})
	switch f := fault.From(err); {
	case err == nil:
		e.Codes(w, r, p, done.RecoveryCodes)
	case f.ID == usersfault.ErrCodeWrong.ID:
		e.scan(w, r, http.StatusBadRequest, again)
	case f.ID == usersfault.ErrOTPAlreadyVerified.ID, f.ID == usersfault.ErrOTPNotFound.ID: // changed by another page
		http.Redirect(w, r, p.Path, http.StatusSeeOther)
	default:
		e.failed(w, r, p, err)
	}
}

// Codes writes the page with recovery codes, which are shown once.
func (e Pages) Codes(w http.ResponseWriter, r *http.Request, p Place, codes []string) {
	e.write(w, r, p, frame.Page{Name: "recovery", Body: recoveryBody,
		Data: shown{Place: p, Codes: codes}})
}

// begin makes a new secret. The new secret replaces one that was never confirmed.
func (e Pages) begin(w http.ResponseWriter, r *http.Request, p Place) {
	added, err := e.Factors.AddMyOtp(r.Context(), &usersv1.AddMyOtpRequest{Replace: true})
	switch {
	case err == nil:
		e.scan(w, r, http.StatusOK, scan(p, added.Url))
	case fault.From(err).ID == usersfault.ErrOTPAlreadyReady.ID:
		http.Redirect(w, r, p.Path, http.StatusSeeOther)
	default:
		e.failed(w, r, p, err)
	}
}

func (e Pages) scan(w http.ResponseWriter, r *http.Request, status int, s shown) {
	if status == http.StatusOK {
		s.Wrong = ""
	}
	e.write(w, r, s.Place, frame.Page{
		Status: status, Name: "enrolscan", Body: scanBody, Data: s, Faulty: s.Wrong != "",
	})
}

func (e Pages) write(w http.ResponseWriter, r *http.Request, p Place, page frame.Page) {
	page.Language = p.Language
	e.Frame.Write(w, r, page)
}

func (e Pages) failed(w http.ResponseWriter, r *http.Request, p Place, err error) {
	e.Frame.Failed(w, r, err, frame.Retry{Address: p.Path, Language: p.Language})
}
