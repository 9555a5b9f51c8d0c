// Package services lists the services of the system with their settings and the secrets that they seal. Whatever runs,
// describes or sets up services uses this list.
package services

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/deploy/herald/internal/backup"
	"herald/gateway"
	"herald/services/auth"
	"herald/services/idp"
	"herald/services/notification"
	"herald/services/projects"
	"herald/services/text"
	"herald/services/users"
	"herald/shared/boot"
	"herald/shared/postgres"
	"herald/shared/secret"
)

// All is all services with their settings, and the settings of the gateway.
type All struct {
	Gateway gateway.Config
	// Users and Notification are settings that are also used outside of their service.
	Users        users.Config
	Notification notification.Config
	all          []service
	admin        users.Administrator
}

type service struct {
	name       string
	migrations embed.FS
	config     any // a pointer to the struct of its settings
	start      func(context.Context, *boot.Service) error
	sealed     []secret.Column
	restored   []postgres.Restored
}

// New returns all services with empty settings. Its list is the only one: processes, `herald run`, the documents and
// the set-up of databases use it.
func New() *All {
	s := &All{}
	s.all = []service{
		entry("users", users.Migrations, &s.Users, s.startUsers).seals(users.Sealed).restores(users.Restored),
		entry("text", text.Migrations, new(text.Config), text.New),
		entry("notification", notification.Migrations, &s.Notification, notification.New).
			seals(notification.Sealed).restores(notification.Restored),
		entry("auth", auth.Migrations, new(auth.Config), auth.New).seals(auth.Sealed).restores(auth.Restored),
		entry("projects", projects.Migrations, new(projects.Config), projects.New).restores(projects.Restored),
		entry("idp", idp.Migrations, new(idp.Config), idp.New).seals(idp.Sealed),
	}
	return s
}

func entry[C any](
	name string, migrations embed.FS, config *C, start func(context.Context, *boot.Service, C) error,
) service {
	return service{name: name, migrations: migrations, config: config,
		start: func(ctx context.Context, s *boot.Service) error { return start(ctx, s, *config) }}
}

func (s service) seals(columns []secret.Column) service {
	s.sealed = columns
	return s
}

func (s service) restores(changes []postgres.Restored) service {
	s.restored = changes
	return s
}

func (s *All) startUsers(ctx context.Context, service *boot.Service, c users.Config) (err error) {
	s.admin, err = users.New(ctx, service, c)
	return err
}

// Names returns the names of the services.
func Names() []string {
	var names []string
	for _, known := range New().all {
		names = append(names, known.name)
	}
	return names
}

// Sealed returns the columns with sealed secrets of every service that has any.
func Sealed() map[string][]secret.Column {
	columns := map[string][]secret.Column{}
	for _, known := range New().all {
		if known.sealed != nil {
			columns[known.name] = known.sealed
		}
	}
	return columns
}

// Target returns what is needed to restore the database of a service.
func Target(name string, db *pgxpool.Pool) backup.Target {
	all := New().all
	s := all[slices.IndexFunc(all, func(known service) bool { return known.name == name })]
	return backup.Target{Service: name, DB: db, Migrations: s.migrations, Restored: s.restored}
}

// Configs returns pointers to the structs of all settings, for boot.Load.
func (s *All) Configs() []any {
	configs := []any{&s.Gateway}
	for _, known := range s.all {
		configs = append(configs, known.config)
	}
	return configs
}

// PublicURL parses the setting. If it is empty it returns localhost with the gateway's port.
func (s *All) PublicURL(setting string) (*url.URL, error) {
	scheme := "http"
	if s.Gateway.TLS() {
		scheme = "https"
	}
	if setting != "" {
		public, err := boot.ParsePublicURL(setting)
		if err == nil && s.Gateway.TLS() && public.Scheme != scheme {
			err = errors.New("HERALD_PUBLIC_URL must begin with https, because the port has a certificate")
		}
		return public, err
	}
	_, port, err := net.SplitHostPort(s.Gateway.Listen)
	if err != nil {
		return nil, fmt.Errorf("HERALD_LISTEN: %w", err)
	}
	return boot.ParsePublicURL(scheme + "://localhost:" + port)
}

// Open opens a service with its database and registers it. Services may be opened in parallel. If it has made the first
// administrator, it writes the login name and the one-time password to out. It does this even if it fails afterwards,
// because the password cannot be shown later.
func (s *All) Open(
	ctx context.Context, g boot.Ground, name string, database secret.Text, out io.Writer,
) (*boot.Service, error) {
	i := slices.IndexFunc(s.all, func(known service) bool { return known.name == name })
	if i < 0 {
		return nil, Unknown(name)
	}
	opened, err := s.all[i].open(ctx, g, database)
	if name == "users" && s.admin.LoginName != "" {
		Announce(out, s.admin)
	}
	return opened, err
}

// Announce prints a new administrator for the operator.
func Announce(out io.Writer, made users.Administrator) {
	fmt.Fprintf(out, "administrator: login name %s, one-time password %s (shown only now)\n", made.LoginName,
		made.Password.Reveal())
}

// Unknown returns the error for a name that no service has.
func Unknown(name string) error {
	return fmt.Errorf("there is no service %q; the services are %s", name, strings.Join(Names(), ", "))
}

func (s service) open(ctx context.Context, g boot.Ground, database secret.Text) (*boot.Service, error) {
	opened, err := g.Open(ctx, s.name, database, s.migrations)
	if err != nil {
		return nil, err
	}
	err = check(ctx, opened.DB, g.Keys, s.sealed)
	if err == nil {
		err = s.start(ctx, opened)
	}
	if err != nil {
		opened.Close()
		return nil, fmt.Errorf("service %s: %w", s.name, err)
	}
	return opened, nil
}
