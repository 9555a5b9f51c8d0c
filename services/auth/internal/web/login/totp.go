package login

import (
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/login/totp"
)

const enrolPath = Path + "enrol"

// unprotected reports whether a person who has logged in has no authenticator app. If users does not answer, it reports
// false, so that the login does not fail.
func (p Pages) unprotected(v *visit, s domain.Session) bool {
	person, err := p.OnBehalf.As(v.Context(), s)
	if err != nil {
		return false
	}
	has, err := p.steps().Ready(person.In(v.Context()))
	return err == nil && !has
}

func (p Pages) steps() totp.Pages { return totp.Pages{Factors: p.Factors, Frame: p.Frame} }

// enrolment returns the handler of one of the pages that set up an authenticator app, as the person who has logged in.
func (p Pages) enrolment(
	step func(totp.Pages, http.ResponseWriter, *http.Request, totp.Place),
) func(http.ResponseWriter, *visit, domain.Session) error {
	return func(w http.ResponseWriter, v *visit, s domain.Session) error {
		v.brand(p.Cached, s.OrgID)
		person, err := p.OnBehalf.As(v.Context(), s)
		if err != nil {
			return err
		}
		place := totp.Place{Path: v.address(enrolPath), Next: continuePath, Method: "post", Language: v.Language,
			InLanguage: v.in(enrolPath)}
		if v.ID != "" {
			place.Fields = append(place.Fields, totp.Field{Name: "request", Value: v.ID})
		}
		if v.Picked != "" {
			place.Fields = append(place.Fields, totp.Field{Name: "lang", Value: v.Picked})
		}
		step(p.steps(), w, v.WithContext(person.In(v.Context())), place)
		return nil
	}
}
