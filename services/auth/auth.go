// Package auth is the service that browsers talk to: the pages on which people set a
// first password and, behind them, everything that logs them in. The gateway hands it
// the requests unread.
package auth

import (
	"context"
	"embed"
	"fmt"
	"net/http"

	"herald/services/auth/internal/initialize"
	"herald/services/auth/internal/look"
	"herald/services/auth/internal/pages"
	"herald/shared/boot"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Config is the service's settings.
type Config struct {
	DefaultLanguage string `env:"HERALD_DEFAULT_LANGUAGE" envDefault:"en" help:"language of mails and pages where the reader's own is not known or not supported"`
}

// Migrations make the service's tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// New registers the service. It fails for a default language without pages.
func New(_ context.Context, s *boot.Service, c Config) error {
	l, err := look.New(c.DefaultLanguage)
	if err != nil {
		return fmt.Errorf("HERALD_DEFAULT_LANGUAGE: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { l.Notice(w, r, http.StatusNotFound, "unknown", "") })
	initialize.Pages{Users: usersv1.NewUsersClient(s.Calls), Look: l, Log: s.Log}.Mount(mux)
	handler, err := l.Guard(mux, s.PublicURL)
	if err != nil {
		return err
	}
	return s.Serve(&authv1.Auth_ServiceDesc, pages.New(handler))
}
