// Package users is the service that owns organizations, their members, users and
// their credentials.
package users

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/users/internal/api/audit"
	"herald/services/users/internal/api/base"
	"herald/services/users/internal/api/credentials"
	"herald/services/users/internal/api/factors"
	"herald/services/users/internal/api/imports"
	"herald/services/users/internal/api/internals"
	"herald/services/users/internal/api/logins"
	"herald/services/users/internal/api/machines"
	"herald/services/users/internal/api/members"
	"herald/services/users/internal/api/orgs"
	"herald/services/users/internal/api/users"
	"herald/services/users/internal/consumer"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/start"
	"herald/services/users/internal/store"
	"herald/shared/boot"
	idpv1 "herald/shared/gen/herald/idp/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/orgremoval"
	"herald/shared/queue"
	"herald/shared/search"
)

// Config is the service's settings.
type Config struct {
	search.Limit
	boot.QuotaSettings
	boot.AuditSettings
	OTPIssuer string `env:"HERALD_OTP_ISSUER" envDefault:"Herald"`
	// TokenFile is the file for the administrator's personal access token, which the first start
	// writes. It is empty for no file.
	TokenFile string `env:"HERALD_ADMIN_PAT_FILE"`
}

// Help implements boot.Documented.
func (Config) Help() map[string]string {
	return map[string]string{
		"HERALD_OTP_ISSUER": "what authenticator apps call the system",
		"HERALD_ADMIN_PAT_FILE": "file for the administrator's personal access token, written at the first " +
			"start",
	}
}

// Migrations make the service's tables.
var Migrations = store.Migrations

// Restored are the changes after a restore from a backup.
var Restored = store.Restored

// Sealed are the columns with sealed secrets.
var Sealed = domain.Sealed

// Administrator is the user that the first start made, with a one-time password. It is empty at
// every other start.
type Administrator = start.Administrator

// AnotherAdministrator makes another administrator in the service's database. Host is that of the public URL.
func AnotherAdministrator(
	ctx context.Context, db *pgxpool.Pool, now func() time.Time, host string,
) (Administrator, error) {
	return start.Another(ctx, store.Apart(db, now), password.NewHasher(1, 1), host)
}

// waitingHashes is how many passwords can wait to be hashed.
const waitingHashes = 64

// New registers the service and makes what a first start needs. It returns the administrator also together with an
// error.
func New(ctx context.Context, s *boot.Service, c Config) (Administrator, error) {
	if err := search.CheckMax(c.MaxLimit); err != nil {
		return Administrator{}, err
	}
	if err := domain.CheckOTPIssuer(c.OTPIssuer); err != nil {
		return Administrator{}, err
	}
	if err := c.CheckAudit(); err != nil {
		return Administrator{}, err
	}
	if err := s.SetQuotas(ctx, c.QuotaSettings); err != nil {
		return Administrator{}, err
	}
	db := store.New(s.Journal)
	lasting, err := start.LastingKey(ctx, db, s.Keys)
	if err != nil {
		return Administrator{}, err
	}
	if err := db.LearnCosts(ctx, base.HashCost); err != nil {
		return Administrator{}, err
	}
	passwords := password.NewHasher(queue.Processors(), waitingHashes)
	admin, err := start.Run(ctx, db, passwords, start.Settings{Host: s.PublicURL.Hostname(), TokenFile: c.TokenFile})
	if err != nil {
		return admin, err
	}
	consumer.Expire(s, db, c.AuditKeep)
	common := base.Base{
		Store: db, Passwords: passwords, Codes: domain.NewCoder(lasting), Lasting: lasting, Keys: s.Keys,
		Idps: idpv1.NewIdpsClient(s.Calls), Now: s.Now, PublicURL: s.PublicURL, MaxLimit: c.MaxLimit,
	}
	projects := projectsv1.NewInternalClient(s.Calls)
	overview, err := audit.New(common, s.Calls, projects, c.AuditKeep)
	if err != nil {
		return admin, err
	}
	internal := internals.Server{Base: common, Projects: projects}
	s.Consume(append(consumer.Handlers(internal), orgremoval.Start(s, consumer.Sweep(db)))...)
	return admin, s.Serve(func(r boot.Registrar) {
		usersv1.RegisterOrgsServer(r, orgs.Server{Base: common})
		usersv1.RegisterMembersServer(r, members.Server{Base: common, Projects: projects})
		usersv1.RegisterUsersServer(r, users.Server{Base: common})
		usersv1.RegisterMachinesServer(r, machines.Server{Base: common, Pairs: s.Pairs})
		usersv1.RegisterCredentialsServer(r, credentials.Server{Base: common})
		usersv1.RegisterFactorsServer(r, factors.Server{Base: common, OTPIssuer: c.OTPIssuer})
		usersv1.RegisterLoginsServer(r, logins.Server{Base: common})
		usersv1.RegisterImportsServer(r, imports.Server{Base: common, Projects: projects})
		usersv1.RegisterAuditServer(r, overview)
		usersv1.RegisterExpirationsServer(r, overview)
		usersv1.RegisterEventsServer(r, db.Events())
		usersv1.RegisterInternalServer(r, internal)
	})
}
