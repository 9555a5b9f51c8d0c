// Package auth is the service for browsers: the pages to which the links in mails lead, and
// everything with which people log in. The gateway forwards requests to it without parsing them.
package auth

import (
	"context"
	"embed"
	"net/http"

	"herald/services/auth/internal/look"
	"herald/services/auth/internal/mailpages"
	"herald/services/auth/internal/pages"
	"herald/shared/boot"
	authv1 "herald/shared/gen/herald/auth/v1"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Config is the service's settings. It has none of its own.
type Config struct{}

// Migrations make the service's tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// New registers the service. It does not wait for text and users, which may start later.
func New(_ context.Context, s *boot.Service, _ Config) error {
	l, err := look.New(textv1.NewTextClient(s.Calls), s.Now, s.Log)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		l.Notice(w, r, http.StatusNotFound, "unknown", "")
	})
	users := usersv1.NewUsersClient(s.Calls)
	later := mailpages.NewLater(users, s.Now, s.Log)
	s.Background(later.Run)
	mailpages.Pages{
		Users: users, Later: later, Posts: mailpages.NewPosts(s.Now), Look: l, Log: s.Log,
	}.Mount(mux)
	handler, err := l.Guard(mux, s.PublicURL)
	if err != nil {
		return err
	}
	return s.Serve(&authv1.Auth_ServiceDesc, pages.New(handler))
}
