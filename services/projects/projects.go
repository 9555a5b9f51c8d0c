// Package projects is the service that owns projects, their roles and grants, and
// applications.
package projects

import (
	"context"

	"herald/services/projects/internal/api/apps"
	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/api/grants"
	"herald/services/projects/internal/api/internals"
	"herald/services/projects/internal/api/projects"
	"herald/services/projects/internal/api/roles"
	"herald/services/projects/internal/consumer"
	"herald/services/projects/internal/store"
	"herald/shared/boot"
	"herald/shared/expiration"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/orgremoval"
	"herald/shared/search"
)

// Config is the service's settings.
type Config struct {
	search.Limit
	boot.QuotaSettings
}

// Migrations make the service's tables.
var Migrations = store.Migrations

// Restored are the changes after a restore from a backup.
var Restored = store.Restored

// New registers the service.
func New(ctx context.Context, s *boot.Service, c Config) error {
	if err := search.CheckMax(c.MaxLimit); err != nil {
		return err
	}
	if err := s.SetQuotas(ctx, c.QuotaSettings); err != nil {
		return err
	}
	db := store.New(s.Journal)
	s.Consume(consumer.Removed(db), orgremoval.Start(s, consumer.Sweep(db)))
	expiration.Start(s, store.Expiring)
	common, people := base.Base{Store: db, MaxLimit: c.MaxLimit}, usersv1.NewInternalClient(s.Calls)
	return s.Serve(func(r boot.Registrar) {
		projectsv1.RegisterProjectsServer(r, projects.Server{Base: common, Users: people})
		projectsv1.RegisterRolesServer(r, roles.Server{Base: common})
		projectsv1.RegisterGrantsServer(r, grants.Server{Base: common, Users: people})
		projectsv1.RegisterAppsServer(r, apps.Server{Base: common, Pairs: s.Pairs})
		projectsv1.RegisterInternalServer(r, internals.Server{Base: common})
		projectsv1.RegisterEventsServer(r, db.Events())
	})
}
