package login

import (
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// maxCode is a limit in bytes. Every code is shorter.
const maxCode = 64

// withLogin returns a handler that gets the login that the browser has begun. A browser without one is sent to the
// first page.
func (p Pages) withLogin(next func(http.ResponseWriter, visit, domain.Login)) func(http.ResponseWriter, visit) {
	return func(w http.ResponseWriter, v visit) {
		l, err := p.Sessions.Login(v.Request)
		switch {
		case errors.Is(err, authfault.ErrLoginGone):
			redirect(w, v, v.address(Path))
		case err != nil:
			p.failed(w, v, err)
		case step(l) != v.URL.Path:
			redirect(w, v, v.address(step(l)))
		default:
			next(w, v.branded(l.OrgID), l)
		}
	}
}

func (p Pages) askFactor(w http.ResponseWriter, v visit, _ domain.Login) {
	p.factorForm(w, v, http.StatusOK, v.kept())
}

func (p Pages) factorForm(w http.ResponseWriter, v visit, status int, k kept) {
	p.Frame.Write(w, v.Request, frame.Page{Status: status, Name: "factor", Body: factorBody, Data: k,
		Faulty: k.Wrong != "", Language: v.Language, InLanguage: v.in(factorPath)})
}

// factor checks a code of an authenticator app or a recovery code.
func (p Pages) factor(w http.ResponseWriter, v visit, l domain.Login) {
	code := v.Values.Get("code")
	again := func() {
		k := v.kept()
		k.Wrong = factorWrong
		p.factorForm(w, v, http.StatusBadRequest, k)
	}
	if len(code) > maxCode || !domain.Plain(code) || strings.TrimSpace(code) == "" {
		again()
		return
	}
	_, err := p.Users.CheckFactor(v.Context(), &usersv1.CheckFactorRequest{
		UserId: l.UserID, Generation: uint64(l.UserGeneration), Code: code,
	})
	switch f := fault.From(err); {
	case err == nil:
		p.proceed(w, v, l.WithFactor(p.Now()))
	case f.ID == usersfault.ErrCodeWrong.ID:
		again()
	case f.ID == usersfault.ErrLoginOver.ID:
		redirect(w, v, v.address(Path))
	default:
		p.failed(w, v, err)
	}
}

func (p Pages) askNext(w http.ResponseWriter, v visit, _ domain.Login) {
	p.nextForm(w, v, http.StatusOK, v.kept())
}

func (p Pages) nextForm(w http.ResponseWriter, v visit, status int, k kept) {
	p.Frame.Write(w, v.Request, frame.Page{Status: status, Name: "newpassword", Body: nextBody, Data: k,
		Faulty: k.Wrong != "", Language: v.Language, InLanguage: v.in(nextPath)})
}

// next sets the new password if the old one must be changed.
func (p Pages) next(w http.ResponseWriter, v visit, l domain.Login) {
	typed := v.Values.Get("password")
	again := func(wrong, otherwise string) {
		k := v.kept()
		k.Wrong, k.Otherwise = wrong, otherwise
		p.nextForm(w, v, http.StatusBadRequest, k)
	}
	switch {
	case typed == "":
		again(usersfault.ErrPasswordRequired.ID, "")
		return
	case !utf8.ValidString(typed):
		again(usersfault.ErrPasswordNotText.ID, "")
		return
	case typed != v.Values.Get("confirmation"):
		again("PASSWORD_MISMATCH", "")
		return
	}
	chosen, err := p.Users.ChooseNextPassword(v.Context(), &usersv1.ChooseNextPasswordRequest{
		UserId: l.UserID, Generation: uint64(l.UserGeneration), Password: typed,
	})
	switch f := fault.From(err); {
	case err == nil:
		p.proceed(w, v, l.WithPassword(int64(chosen.Generation), p.Now()))
	case f.Code == fault.Invalid:
		again(f.ID, f.Message)
	case f.ID == usersfault.ErrLoginOver.ID:
		redirect(w, v, v.address(Path))
	default:
		p.failed(w, v, err)
	}
}

// proceed continues a login after one of its steps.
func (p Pages) proceed(w http.ResponseWriter, v visit, l domain.Login) {
	p.Posts.Return(v.RemoteAddr)
	s, opened, err := p.Sessions.Proceed(w, v.Request, l)
	switch {
	case errors.Is(err, authfault.ErrLoginGone):
		redirect(w, v, v.address(Path))
	case err != nil:
		p.failed(w, v, err)
	case opened:
		p.opened(w, v, s)
	default:
		redirect(w, v, v.address(step(l)))
	}
}
