// Package auth is the service for logins: the pages to which the links in mails lead, the login pages, the pages of a
// person's own account, and the endpoints of OAuth 2.0 and OpenID Connect. The gateway forwards HTTP requests to it
// without parsing them.
package auth

import (
	"context"
	"time"

	"herald/services/auth/internal/api"
	"herald/services/auth/internal/consumer"
	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/httpbridge"
	"herald/services/auth/internal/oauth/accesstoken"
	"herald/services/auth/internal/oauth/backchannel"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/lifetimes"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/routes"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/services/auth/internal/web/frame"
	"herald/shared/boot"
	"herald/shared/eventcache"
	authv1 "herald/shared/gen/herald/auth/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/outbound"
	"herald/shared/search"
)

// Config is the service's settings.
type Config struct {
	search.Limit
	// What the environment does not set is nil, and the API may set it.
	SigningKeyDays *int           `env:"HERALD_SIGNING_KEY_DAYS"`
	Access         *time.Duration `env:"HERALD_ACCESS_TOKEN_LIFETIME"`
	RefreshIdle    *time.Duration `env:"HERALD_REFRESH_TOKEN_IDLE_EXPIRATION"`
	Refresh        *time.Duration `env:"HERALD_REFRESH_TOKEN_EXPIRATION"`
	outbound.Network
	boot.QuotaSettings
	boot.AuditSettings
}

// Help implements boot.Documented.
func (Config) Help() map[string]string {
	return map[string]string{
		"HERALD_SIGNING_KEY_DAYS": "days for which each key signs tokens, 1 to 365; a change counts for keys " +
			"that are made afterwards; 90 unless it is set here or by PUT /admin/v1/settings",
		"HERALD_ACCESS_TOKEN_LIFETIME": "how long access and id tokens are valid, 1m to 24h; an application may have " +
			"its own lifetimes; 1h unless it is set here or by PUT /admin/v1/settings",
		"HERALD_REFRESH_TOKEN_IDLE_EXPIRATION": "how long a refresh token can be used, 1m to 2160h; 720h unless it " +
			"is set here or by PUT /admin/v1/settings",
		"HERALD_REFRESH_TOKEN_EXPIRATION": "how long a login can be refreshed, 1m to 8760h; a change counts for " +
			"logins after it; 2160h unless it is set here or by PUT /admin/v1/settings",
	}
}

// Migrations make the service's tables.
var Migrations = store.Migrations

// Restored are the changes after a restore from a backup.
var Restored = store.Restored

// Sealed are the columns with sealed secrets.
var Sealed = domain.Sealed()

// New registers the service and makes the keys that a first start needs. It does not wait for other services,
// which may start later.
func New(ctx context.Context, s *boot.Service, c Config) error {
	if err := search.CheckMax(c.MaxLimit); err != nil {
		return err
	}
	environment, err := domain.OfEnvironment(c.Access, c.RefreshIdle, c.Refresh, c.SigningKeyDays)
	if err != nil {
		return err
	}
	if err := c.CheckAudit(); err != nil {
		return err
	}
	if err := s.SetQuotas(ctx, c.QuotaSettings); err != nil {
		return err
	}
	db := store.New(s.Journal)
	changes, err := eventcache.Listen(s.Conn, s.Now)
	if err != nil {
		return err
	}
	signing, err := signing.Open(ctx, signing.Config{
		Store: db, Sealing: s.Keys, Environment: environment, Now: s.Now, Epoch: changes.Epoch, Log: s.Log,
		Outages: s.Outages,
	})
	if err != nil {
		return err
	}
	s.Background(signing.Run)
	l, err := frame.New(textv1.NewTextClient(s.Calls), s.Now, s.Log)
	if err != nil {
		return err
	}
	valid, err := lifetimes.Open(ctx, lifetimes.Config{
		Store: db, Environment: environment, Epoch: changes.Epoch, Log: s.Log, Outages: s.Outages,
	})
	if err != nil {
		return err
	}
	users := usersv1.NewInternalClient(s.Calls)
	issued := accesstoken.Tokens{
		Store: db, Keys: signing, Upstream: upstream.New(projectsv1.NewInternalClient(s.Calls), users),
		Issuer: s.PublicURL.String(), Lifetimes: valid.Current, Now: s.Now,
	}
	notifier := backchannel.Start(s, backchannel.Config{
		Store: db, Upstream: issued.Upstream, Keys: signing, Issuer: issued.Issuer, Private: c.OutboundPrivate,
		Now: s.Now, Log: s.Log, Outages: s.Outages, Metrics: s.Metrics,
	})
	consumer.Start(s, consumer.Config{Store: db, Upstream: issued.Upstream, Ended: notifier.Wake, Keep: c.AuditKeep})
	cached := issued.Cached(changes)
	browsers, parts, err := routes.Browsers(s, l, users, issued, cached)
	if err != nil {
		return err
	}
	parts = append(parts, backchannel.Part(), discovery.Server(l.Languages()))
	answers, err := routes.Programs(s, issued, cached, parts...)
	if err != nil {
		return err
	}
	return s.Serve(func(r boot.Registrar) {
		authv1.RegisterAuthServer(r, methods{
			Bridge:   httpbridge.Bridge{Browsers: browsers, Programs: answers},
			Resolver: accesstoken.Resolver{Tokens: issued},
			Server: api.Server{Store: db, Upstream: issued.Upstream, Environment: environment, MaxLimit: c.MaxLimit,
				Credentials: usersv1.NewCredentialsClient(s.Calls), Factors: usersv1.NewFactorsClient(s.Calls)},
		})
		authv1.RegisterEventsServer(r, db.Events())
	})
}

// methods are the service's methods.
type methods struct {
	httpbridge.Bridge
	accesstoken.Resolver
	api.Server
}
