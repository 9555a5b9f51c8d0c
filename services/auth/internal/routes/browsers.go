// Package routes combines the handlers of HTTP requests: pages for people in browsers, and endpoints for programs.
package routes

import (
	"net/http"

	"herald/services/auth/internal/oauth/accesstoken"
	"herald/services/auth/internal/oauth/authorize"
	"herald/services/auth/internal/oauth/device"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/endsession"
	"herald/services/auth/internal/web/account"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/login"
	"herald/services/auth/internal/web/login/federated"
	"herald/services/auth/internal/web/maillink"
	"herald/services/auth/internal/web/onbehalf"
	"herald/services/auth/internal/web/session"
	"herald/shared/boot"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Browsers returns the handler for browsers, and the part with the paths that clients find by discovery. Pages that
// only show data use cached, whose answers may be up to 2 s old.
func Browsers(
	s *boot.Service, l *frame.Frame, users usersv1.InternalClient, issued, cached accesstoken.Tokens,
) (http.Handler, []discovery.Part, error) {
	later, posts := maillink.NewLater(users, s.Now, s.Log), frame.NewPosts(l, s.Now)
	s.Background(later.Run)
	sessions := session.Sessions{
		Store: issued.Store, Upstream: issued.Upstream, Cached: cached.Upstream, Now: s.Now,
		BrowserKey: s.Keys.Derive("browsers"),
	}
	accounts := federated.New(federated.Config{
		Store: issued.Store, Idps: idpv1.NewIdpsClient(s.Calls), Users: users, Now: s.Now, Log: s.Log,
		Metrics: s.Metrics,
	})
	factors := usersv1.NewFactorsClient(s.Calls)
	signer := onbehalf.New(users, s.Keys, s.Now)
	requests := authorize.New(authorize.Config{
		Store: issued.Store, Upstream: issued.Upstream, Cached: cached.Upstream, Keys: issued.Keys, Sessions: sessions,
		Frame: l, Issuer: issued.Issuer, Now: s.Now, Log: s.Log, Metrics: s.Metrics,
	})
	devices := device.Pages{
		Store: issued.Store, Upstream: issued.Upstream, Sessions: sessions, Grants: requests, Posts: posts, Frame: l,
	}
	own := account.New(account.Config{
		Users: usersv1.NewUsersClient(s.Calls), Credentials: usersv1.NewCredentialsClient(s.Calls), Factors: factors,
		IdpLinks: usersv1.NewLoginsClient(s.Calls), Members: usersv1.NewMembersClient(s.Calls), Sessions: sessions,
		Federated: accounts, OnBehalf: signer, Frame: l, Now: s.Now,
	})
	logins := login.Pages{
		Users: users, Factors: factors, Sessions: sessions, Federated: accounts, OnBehalf: signer,
		Cached:       cached.Upstream,
		Destinations: login.Destinations{"": requests, device.Destination: devices, account.Destination: own},
		Mails:        later, Posts: posts, Frame: l, Now: s.Now, Log: s.Log,
	}
	logout := endsession.Endpoint{
		Sessions: sessions, Upstream: issued.Upstream, Keys: issued.Keys, Frame: l, Issuer: issued.Issuer, Log: s.Log,
	}
	mails := maillink.Pages{Users: users, Later: later, Posts: posts, Frame: l}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		l.Notice(w, r, http.StatusNotFound, "unknown", "")
	})
	for _, pages := range []interface{ Mount(*http.ServeMux) }{l, mails, requests, devices, own, logins, logout} {
		pages.Mount(mux)
	}
	guarded, err := l.Guard(mux, s.PublicURL, authorize.Path, endsession.Path)
	return guarded, []discovery.Part{requests.Part(), logout.Part()}, err
}
