package account

import (
	"net/http"
	"strconv"

	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/login/totp"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// otp is the person's authenticator app.
type otp struct {
	base
	Ready     bool
	CodesLeft string
	// Add, Renew and End are the addresses of the pages that set up the app, make new recovery codes, and remove the
	// app.
	Add, Renew, End string
}

func (p *Pages) otp(w http.ResponseWriter, v visit) error {
	found, err := p.Factors.SearchMyAuthFactors(v.as(), &usersv1.SearchMyAuthFactorsRequest{})
	o := otp{base: v.base(), Add: v.address("otp/add"), Renew: v.address("otp/codes"), End: v.address("otp/end")}
	for _, f := range found.GetResult() {
		if f.GetOtp() != nil && f.State == usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY {
			o.Ready, o.CodesLeft = true, strconv.FormatUint(uint64(f.GetOtp().RecoveryCodesLeft), 10)
		}
	}
	return p.write(w, v, frame.Page{Name: "otp", Body: otpBody, Data: o}, err)
}

// enrolment returns the handler of one of the pages that set up an app.
func (p *Pages) enrolment(step func(totp.Pages, http.ResponseWriter, *http.Request, totp.Place)) handler {
	return func(w http.ResponseWriter, v visit) error {
		place := totp.Place{Path: path("otp/add"), Next: path("otp"), Method: "get", Language: v.Picked,
			InLanguage: v.in}
		if v.Picked != "" {
			place.Fields = []totp.Field{{Name: "lang", Value: v.Picked}}
		}
		step(totp.Pages{Factors: p.Factors, Frame: p.Frame}, w, v.WithContext(v.as()), place)
		return nil
	}
}

func (p *Pages) endOTP(w http.ResponseWriter, v visit) error {
	_, err := p.Factors.RemoveMyOtp(v.as(), &usersv1.RemoveMyOtpRequest{})
	return p.done(w, v, "otp", err)
}

// renewCodes replaces the recovery codes. The new ones are shown in the answer to the form only.
func (p *Pages) renewCodes(w http.ResponseWriter, v visit) error {
	made, err := p.Factors.RegenerateMyRecoveryCodes(v.as(), &usersv1.RegenerateMyRecoveryCodesRequest{})
	if err != nil {
		return err
	}
	return p.enrolment(func(pages totp.Pages, w http.ResponseWriter, r *http.Request, place totp.Place) {
		pages.Codes(w, r, place, made.RecoveryCodes)
	})(w, v)
}
