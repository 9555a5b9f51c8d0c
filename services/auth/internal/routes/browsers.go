// Package routes puts together what answers HTTP requests: pages for people in browsers, and endpoints for programs.
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
	"herald/services/auth/internal/web/maillink"
	"herald/shared/boot"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Browsers returns what answers people, and what clients find by discovery of where they send people. Its pages show what
// the owners of shown say.
func Browsers(
	s *boot.Service, l *frame.Frame, users usersv1.UsersClient, issued, shown accesstoken.Tokens,
) (http.Handler, []discovery.Part, error) {
	people := http.NewServeMux()
	people.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		l.Notice(w, r, http.StatusNotFound, "unknown", "")
	})
	l.Mount(people)
	later, posts := maillink.NewLater(users, s.Now, s.Log), frame.NewPosts(l, s.Now)
	s.Background(later.Run)
	maillink.Pages{Users: users, Later: later, Posts: posts, Frame: l}.Mount(people)
	pages := login.New(login.Config{
		Idps: idpv1.NewIdpsClient(s.Calls), Log: s.Log, Metrics: s.Metrics,
		Users: users, Issued: issued, Cached: shown, Mails: later, Posts: posts, Frame: l,
		Now: s.Now,
	})
	requests := authorize.New(authorize.Config{
		Store: issued.Store, Upstream: issued.Upstream, Cached: shown.Upstream, Keys: issued.Keys, Sessions: pages.Sessions,
		Frame: l, Issuer: issued.Issuer, Now: s.Now, Log: s.Log, Metrics: s.Metrics,
	})
	requests.Mount(people)
	devices := device.Pages{
		Store: issued.Store, Upstream: issued.Upstream, Sessions: pages.Sessions, Grants: requests, Posts: posts, Frame: l,
	}
	devices.Mount(people)
	own := account.New(account.Config{
		Users: users, Sessions: pages.Sessions, External: pages.Federated(), Keys: s.Keys, Frame: l, Now: s.Now,
	})
	own.Mount(people)
	pages.Mount(people, account.Logins{Others: device.Logins{Clients: requests, Pages: devices}, Pages: own},
		own.Acting())
	over := endsession.Endpoint{Sessions: pages.Sessions, Upstream: issued.Upstream, Keys: issued.Keys, Frame: l,
		Issuer: issued.Issuer, Log: s.Log}
	over.Mount(people)
	guarded, err := l.Guard(people, s.PublicURL, authorize.Path, endsession.Path)
	return guarded, []discovery.Part{requests.Part(), over.Part()}, err
}
