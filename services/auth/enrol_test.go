package auth

import (
	"context"
	"net/url"
	"strings"
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
)

const (
	enrolPath = loginPath + "enrol"
	newCookie = "__Host-herald-new"
)

func (u *users) SearchMyAuthFactors(
	context.Context, *usersv1.SearchMyAuthFactorsRequest,
) (*usersv1.SearchAuthFactorsResponse, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.own.codes == 0 {
		return &usersv1.SearchAuthFactorsResponse{}, nil
	}
	return &usersv1.SearchAuthFactorsResponse{Result: []*usersv1.AuthFactor{{
		State: usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY,
		Type:  &usersv1.AuthFactor_Otp{Otp: &usersv1.Otp{RecoveryCodesLeft: u.own.codes}},
	}}}, nil
}

func (u *users) AddMyOtp(_ context.Context, r *usersv1.AddMyOtpRequest) (*usersv1.AddMyOtpResponse, error) {
	u.called(r)
	return &usersv1.AddMyOtpResponse{Url: "otpauth://totp/Herald:ada?secret=JBSWY3DPEHPK3PXP"}, nil
}

// Who has just activated the account is offered once to protect it, at the first login. Everybody else can do so who
// has logged in.
func TestEnrolAtLogin(t *testing.T) {
	t.Parallel()
	pages, u, _ := world(t)
	done := call(t, pages, initialize.path, initialize.filled())
	next := element(parse(t, done.Body.String()), "a", "href", loginPath+"back?new=true")
	if next == nil {
		t.Fatalf("the last page leads nowhere: %s", done.Body)
	}
	back := call(t, pages, loginPath+"back?new=true", nil)
	leads(t, back, loginPath+"?other=true") // somebody else may have logged in here
	if !strings.Contains(strings.Join(back.Header()["Set-Cookie"], " "),
		newCookie+"=1; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax") {
		t.Errorf("the mark is %q", back.Header()["Set-Cookie"])
	}
	in := call(t, pages, loginPath+"password", named("right"), "Cookie", newCookie+"=1")
	leads(t, in, enrolPath)
	if !strings.Contains(strings.Join(in.Header()["Set-Cookie"], " "), newCookie+"=; Path=/; Max-Age=0") {
		t.Errorf("the mark stays: %q", in.Header()["Set-Cookie"])
	}
	session := cookie(t, in, sessionCookie)
	shows(t, call(t, pages, enrolPath, nil, "Cookie", session), 200, "enrol")
	shows(t, call(t, pages, enrolPath, url.Values{}, "Cookie", session), 200, "enrolscan")
	leads(t, call(t, pages, loginPath+"continue", url.Values{}, "Cookie", session), loginPath)
	asked := len(u.requests())
	for _, site := range []string{"cross-site", "same-site"} {
		w := call(t, pages, enrolPath, url.Values{}, "Cookie", session, "Sec-Fetch-Site", site)
		shows(t, w, 403, "foreign")
	}
	leads(t, call(t, pages, enrolPath, nil), loginPath)
	leads(t, call(t, pages, enrolPath, url.Values{}), loginPath)
	if len(u.requests()) != asked {
		t.Error("somebody without a login begins")
	}
	u.mu.Lock()
	u.own.codes = 3
	u.mu.Unlock()
	leads(t, call(t, pages, loginPath+"password", named("right"), "Cookie", newCookie+"=1"), loginPath)
	begun := cookie(t, call(t, pages, loginPath+"password", named("factor")), loginCookie)
	marked := begun + "; " + newCookie + "=1"
	leads(t, call(t, pages, loginPath+"factor", url.Values{"code": {"123456"}}, "Cookie", marked), loginPath)
}
