// Package federated logs people in with accounts at identity providers. The service idp calls the providers and has
// their secrets. This package binds a login to the browser that began it, by a cookie of 256 random bits. The state,
// the nonce and the verifier of PKCE are derived from the cookie, so that none of them is stored. A login can come back
// only once.
package federated

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/web/session"
	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/outbound"
	"herald/shared/secret"
)

// cookie is the name of the cookie of a login at a provider.
const cookie = "__Host-herald-external"

// Config is what the logins need.
type Config struct {
	Store   store.Store
	Idps    idpv1.IdpsClient
	Users   usersv1.InternalClient
	Now     func() time.Time
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Logins are the logins with accounts at identity providers.
type Logins struct {
	Config
	offers offers
	// begun counts the logins for which browsers are sent to a provider. count counts the logins that come back.
	begun, count *prometheus.CounterVec
}

// New returns the logins of a service.
func New(c Config) *Logins {
	l := &Logins{Config: c, begun: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "herald_external_logins_begun_total",
		Help: "Pages that send browsers to identity providers, by result: ok, or the id of the error.",
	}, []string{"result"}), count: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "herald_external_logins_total",
		Help: "Logins that came back from identity providers, by result: ok, linked, or the id of the error.",
	}, []string{"result"})}
	// Tests run two replicas in one process: only the first is counted.
	_, _ = c.Metrics.Register(l.begun), c.Metrics.Register(l.count)
	return l
}

// derived returns the value of a login for a purpose. The provider and the browser's history contain the value, but
// nobody can compute the cookie from it.
func derived(cookie, purpose string) string {
	return base64.RawURLEncoding.EncodeToString(secret.Hash(purpose + " " + cookie))
}

// Begin begins a login for the browser.
func (l *Logins) Begin(w http.ResponseWriter, r *http.Request, n domain.ExternalLogin) error {
	n.BegunAt = l.Now()
	n.ExpiresAt = n.BegunAt.Add(domain.ExternalLoginLifetime)
	value := session.SetCookie(w, cookie, domain.ExternalLoginLifetime)
	return l.Store.BeginExternalLogin(r.Context(), secret.Hash(value), n)
}

// begun is a login of the browser with its cookie.
type begun struct {
	domain.ExternalLogin
	cookie string
}

// login returns the login that the browser has begun, or authfault.ErrExternalLoginGone.
func (l *Logins) login(r *http.Request) (b begun, err error) {
	err = authfault.ErrExternalLoginGone
	for _, b.cookie = range session.Cookies(r, cookie) {
		b.ExternalLogin, err = l.Store.ExternalLogin(r.Context(), secret.Hash(b.cookie))
		if !errors.Is(err, authfault.ErrExternalLoginGone) {
			break
		}
	}
	return b, err
}

// Forward returns where the browser goes for the login that it has begun.
func (l *Logins) Forward(r *http.Request) (to *idpv1.BeginIdpLoginResponse, err error) {
	defer func() {
		result := "ok"
		if err != nil {
			result = fault.From(err).ID
		}
		l.begun.WithLabelValues(result).Inc()
	}()
	b, err := l.login(r)
	if err != nil {
		return nil, err
	}
	return l.Idps.BeginIdpLogin(r.Context(), &idpv1.BeginIdpLoginRequest{
		OrgId: b.OrgID, IdpId: b.IdpID, State: derived(b.cookie, "state"), Nonce: derived(b.cookie, "nonce"),
		CodeChallenge: base64.RawURLEncoding.EncodeToString(secret.Hash(derived(b.cookie, "verifier"))), Again: b.Again,
	})
}

// Arrived is a login that has come back.
type Arrived struct {
	domain.ExternalLogin
	*idpv1.FinishIdpLoginResponse
}

// Arrive takes the login that comes back with a request. Its state must be the browser's. If the login is known, it is
// returned even with an error.
func (l *Logins) Arrive(w http.ResponseWriter, r *http.Request) (Arrived, error) {
	b, err := l.login(r)
	if err != nil {
		return Arrived{}, err
	}
	query := r.URL.Query()
	if !secret.Equal([]byte(query.Get("state")), []byte(derived(b.cookie, "state"))) {
		return Arrived{}, authfault.ErrExternalLoginGone // the browser's login may still come back
	}
	if err := l.Store.EndExternalLogin(r.Context(), secret.Hash(b.cookie)); err != nil {
		return Arrived{}, err
	}
	session.RemoveCookie(w, cookie)
	a := Arrived{ExternalLogin: b.ExternalLogin}
	if code := query.Get("error"); code != "" || query.Get("code") == "" {
		return a, authfault.ErrExternalLoginDenied.Because(errors.New(oauthError(code)))
	}
	a.FinishIdpLoginResponse, err = l.Idps.FinishIdpLogin(r.Context(), &idpv1.FinishIdpLoginRequest{
		OrgId: b.OrgID, IdpId: b.IdpID, Code: query.Get("code"), Nonce: derived(b.cookie, "nonce"),
		CodeVerifier: derived(b.cookie, "verifier"),
	})
	return a, err
}

// oauthError returns a code of RFC 6749 section 4.1.2.1 or OpenID Connect Core section 3.1.2.6, for the log. Another
// text of the browser is not logged.
func oauthError(code string) string {
	switch code {
	case "access_denied", "invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope",
		"server_error", "temporarily_unavailable", "interaction_required", "login_required", "consent_required",
		"account_selection_required":
		return code
	default:
		return "an unknown error"
	}
}

// Login returns the login of a user with an account.
func (l *Logins) Login(a Arrived, u *usersv1.CheckExternalAccountResponse) domain.Login {
	return domain.Login{
		UserID: u.UserId, UserGeneration: int64(u.Generation), OrgID: u.OrgId, OrgGeneration: int64(u.OrgGeneration),
		Credential: u.Credential, AuthTime: a.AuthTime(a.Account.AuthTime, l.Now()),
		AMR: append([]string{}, a.Account.Amr...), NeedsFactor: u.NeedsFactor,
	}
}

// StillOn returns a fault unless the provider is active. The session is stored before this check, so that a provider
// that is deactivated after the check ends it.
func (l *Logins) StillOn(ctx context.Context, orgID, idpID string) error {
	found, err := l.Idps.ResolveIdps(ctx, &idpv1.ResolveIdpsRequest{OrgId: orgID, IdpIds: []string{idpID}})
	if err == nil && (len(found.Idps) != 1 || found.Idps[0].State != idpv1.IdpState_IDP_STATE_ACTIVE) {
		err = authfault.ErrExternalLoginOver
	}
	return err
}

// Succeeded counts a login.
func (l *Logins) Succeeded() { l.count.WithLabelValues("ok").Inc() }

// Refused records for the administrators why a login failed: in the history of the provider, in the log and in a
// metric. Faults of Herald itself are only counted.
func (l *Logins) Refused(ctx context.Context, a Arrived, why error) {
	f := fault.From(why)
	l.count.WithLabelValues(f.ID).Inc()
	if a.IdpID == "" || f.Code == fault.Internal {
		return
	}
	if !fault.IsOutage(f) {
		l.Log.WarnContext(ctx, "a login with an account at an identity provider was refused", "idp", a.IdpID,
			"err", outbound.Brief(f))
	}
	_, err := l.Idps.NoteRefusedLogin(ctx, &idpv1.NoteRefusedLoginRequest{
		OrgId: a.OrgID, IdpId: a.IdpID, Reason: f.ID,
	})
	if err != nil && !fault.IsOutage(err) {
		l.Log.WarnContext(ctx, "a refused login is not in the history of its provider", "idp", a.IdpID, "err", err)
	}
}
