// Package people puts together what answers people in browsers: the pages of mails, the logins and logouts, and the
// endpoints to which clients send people.
package people

import (
	"net/http"

	"herald/services/auth/internal/account"
	"herald/services/auth/internal/authorize"
	"herald/services/auth/internal/device"
	"herald/services/auth/internal/discovery"
	"herald/services/auth/internal/endsession"
	"herald/services/auth/internal/login"
	"herald/services/auth/internal/look"
	"herald/services/auth/internal/mailpages"
	"herald/services/auth/internal/tokens"
	"herald/shared/boot"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// New returns what answers people, and what clients find by discovery of where they send people. Its pages show what
// the owners of shown say.
func New(
	s *boot.Service, l *look.Look, users usersv1.UsersClient, issued, shown tokens.Tokens,
) (http.Handler, []discovery.Part, error) {
	people := http.NewServeMux()
	people.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		l.Notice(w, r, http.StatusNotFound, "unknown", "")
	})
	l.Mount(people)
	later, posts := mailpages.NewLater(users, s.Now, s.Log), look.NewPosts(l, s.Now)
	s.Background(later.Run)
	mailpages.Pages{Users: users, Later: later, Posts: posts, Look: l}.Mount(people)
	pages := login.New(login.Config{
		Idps: idpv1.NewIdpsClient(s.Calls), Log: s.Log, Metrics: s.Metrics,
		Users: users, Issued: issued, Shown: shown, Mails: later, Posts: posts, Look: l,
		Now: s.Now,
	})
	requests := authorize.New(authorize.Config{
		Store: issued.Store, Owners: issued.Owners, Shown: shown.Owners, Keys: issued.Keys, Sessions: pages.Sessions,
		Look: l, Issuer: issued.Issuer, Now: s.Now, Log: s.Log, Metrics: s.Metrics,
	})
	requests.Mount(people)
	devices := device.Pages{
		Store: issued.Store, Owners: issued.Owners, Sessions: pages.Sessions, Grants: requests, Posts: posts, Look: l,
	}
	devices.Mount(people)
	own := account.New(account.Config{
		Users: users, Sessions: pages.Sessions, External: pages.External(), Keys: s.Keys, Look: l, Now: s.Now,
	})
	own.Mount(people)
	pages.Mount(people, account.Logins{Others: device.Logins{Clients: requests, Pages: devices}, Pages: own},
		own.Acting())
	over := endsession.Endpoint{Sessions: pages.Sessions, Owners: issued.Owners, Keys: issued.Keys, Look: l,
		Issuer: issued.Issuer, Log: s.Log}
	over.Mount(people)
	guarded, err := l.Guard(people, s.PublicURL, authorize.Path, endsession.Path)
	return guarded, []discovery.Part{requests.Part(), over.Part()}, err
}
