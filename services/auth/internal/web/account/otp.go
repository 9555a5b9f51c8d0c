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

func (p *Pages) otp(w http.ResponseWriter, v visit) {
	found, err := p.Factors.SearchMyAuthFactors(v.as(), &usersv1.SearchMyAuthFactorsRequest{})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	o := otp{base: v.base(), Add: v.address("otp/add"), Renew: v.address("otp/codes"), End: v.address("otp/end")}
	for _, f := range found.Result {
		if f.GetOtp() != nil && f.State == usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY {
			o.Ready, o.CodesLeft = true, strconv.FormatUint(uint64(f.GetOtp().RecoveryCodesLeft), 10)
		}
	}
	p.write(w, v, frame.Page{Name: "otp", Body: otpBody, Data: o})
}

// enrolment returns the pages that set up an app, and their place.
func (p *Pages) enrolment(v visit) (totp.Pages, *http.Request, totp.Place) {
	place := totp.Place{Path: path("otp/add"), Next: path("otp"), Method: "get", Language: v.Picked,
		InLanguage: v.in}
	if v.Picked != "" {
		place.Fields = []totp.Field{{Name: "lang", Value: v.Picked}}
	}
	return totp.Pages{Factors: p.Factors, Frame: p.Frame}, v.WithContext(v.as()), place
}

func (p *Pages) askOTP(w http.ResponseWriter, v visit) {
	pages, r, place := p.enrolment(v)
	pages.Show(w, r, place)
}

func (p *Pages) addOTP(w http.ResponseWriter, v visit) {
	pages, r, place := p.enrolment(v)
	pages.Take(w, r, place)
}

func (p *Pages) askEndOTP(w http.ResponseWriter, v visit) { p.confirm(w, v, "otpend", "otp.end") }

func (p *Pages) endOTP(w http.ResponseWriter, v visit) {
	if _, err := p.Factors.RemoveMyOtp(v.as(), &usersv1.RemoveMyOtpRequest{}); err != nil {
		p.failed(w, v, err)
		return
	}
	p.done(w, v, "otp")
}

func (p *Pages) askCodes(w http.ResponseWriter, v visit) {
	p.confirm(w, v, "otpcodes", "otpcodes.title")
}

// renewCodes replaces the recovery codes. The new ones are shown in the answer to the form only.
func (p *Pages) renewCodes(w http.ResponseWriter, v visit) {
	made, err := p.Factors.RegenerateMyRecoveryCodes(v.as(), &usersv1.RegenerateMyRecoveryCodesRequest{})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	pages, r, place := p.enrolment(v)
	pages.Codes(w, r, place, made.RecoveryCodes)
}
