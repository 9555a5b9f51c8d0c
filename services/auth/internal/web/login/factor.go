package login

import (
	"errors"
	"net/http"
	"strings"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// factorWrong is the key of the text for a wrong code of a second factor.
const factorWrong = "FACTOR_WRONG"

// maxCode is a limit in bytes. Every code is shorter.
const maxCode = 64

// withLogin returns a handler that gets the login that the browser has begun. A browser without one gets a page that
// says so, or is sent to the first page if its person has logged in.
func (p Pages) withLogin(next func(http.ResponseWriter, *visit, domain.Login) error) handler {
	return func(w http.ResponseWriter, v *visit) error {
		l, err := p.Sessions.Login(v.Request)
		switch {
		case err == nil && step(l) != v.URL.Path:
			redirect(w, v, v.address(step(l)))
		case err == nil:
			v.brand(p.Cached, l.OrgID)
			err = next(w, v, l)
		}
		if errors.Is(err, authfault.ErrLoginGone) || errors.Is(err, usersfault.ErrLoginOver) {
			return p.loginOver(w, v)
		}
		return err
	}
}

func (p Pages) loginOver(w http.ResponseWriter, v *visit) error {
	_, there, err := p.Sessions.Session(v.Request)
	switch {
	case err != nil:
		return err
	case there:
		redirect(w, v, v.address(Path))
	default:
		p.notice(w, v, http.StatusBadRequest, "loginover", v.address(Path))
	}
	return nil
}

// stepForm writes the form of a step of the login, in which a value may be wrong.
func (p Pages) stepForm(w http.ResponseWriter, v *visit, shown frame.Page, k kept) {
	if k.Wrong != "" {
		shown.Status, shown.Faulty = http.StatusBadRequest, true
	}
	shown.Data = k
	p.write(w, v, v.URL.Path, shown)
}

func (p Pages) askFactor(w http.ResponseWriter, v *visit, _ domain.Login) error {
	p.factorForm(w, v, "")
	return nil
}

func (p Pages) factorForm(w http.ResponseWriter, v *visit, wrong string) {
	k := v.kept()
	k.Wrong = wrong
	p.stepForm(w, v, frame.Page{Name: "factor", Body: factorBody}, k)
}

// factor checks a code of an authenticator app or a recovery code.
func (p Pages) factor(w http.ResponseWriter, v *visit, l domain.Login) error {
	code := v.Values.Get("code")
	if len(code) > maxCode || !domain.Plain(code) || strings.TrimSpace(code) == "" {
		p.factorForm(w, v, factorWrong)
		return nil
	}
	_, err := p.Users.CheckFactor(v.Context(), &usersv1.CheckFactorRequest{
		UserId: l.UserID, Generation: uint64(l.UserGeneration), Code: code,
	})
	switch {
	case err == nil:
		return p.proceed(w, v, l.WithFactor(p.Now()))
	case errors.Is(err, usersfault.ErrCodeWrong):
		p.factorForm(w, v, factorWrong)
		return nil
	}
	return err
}

func (p Pages) askNext(w http.ResponseWriter, v *visit, l domain.Login) error {
	return p.nextForm(w, v, l, frame.Wrong{})
}

func (p Pages) nextForm(w http.ResponseWriter, v *visit, l domain.Login, wrong frame.Wrong) error {
	u, err := p.Cached.Profile(v.Context(), l.UserID, l.Credential)
	if err != nil {
		return err
	}
	k := v.kept()
	k.Wrong, k.Otherwise, k.PasswordOf = wrong.Key, wrong.Otherwise, u.Profile.UserName
	p.stepForm(w, v, frame.Page{Name: "newpassword", Body: nextBody}, k)
	return nil
}

// next sets the new password if the old one must be changed.
func (p Pages) next(w http.ResponseWriter, v *visit, l domain.Login) error {
	typed, wrong := v.NewPassword()
	if wrong != (frame.Wrong{}) {
		return p.nextForm(w, v, l, wrong)
	}
	chosen, err := p.Users.ChooseNextPassword(v.Context(), &usersv1.ChooseNextPasswordRequest{
		UserId: l.UserID, Generation: uint64(l.UserGeneration), Password: typed,
	})
	switch f := fault.From(err); {
	case err == nil:
		return p.proceed(w, v, l.WithPassword(int64(chosen.Generation), p.Now()))
	case f.Code == fault.Invalid:
		return p.nextForm(w, v, l, frame.Wrong{Key: f.ID, Otherwise: f.Message})
	}
	return err
}

// proceed continues a login after one of its steps.
func (p Pages) proceed(w http.ResponseWriter, v *visit, l domain.Login) error {
	p.Posts.Return(v.RemoteAddr)
	s, opened, err := p.Sessions.Proceed(w, v.Request, l)
	switch {
	case err != nil:
		return err
	case opened:
		return p.opened(w, v, s)
	}
	redirect(w, v, v.address(step(l)))
	return nil
}
