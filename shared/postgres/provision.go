package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/shared/secret"
)

// provisionLimit is the time limit for waiting for a server and for replicas that start at the same time.
const provisionLimit = time.Minute

// Provision creates a service's own database and role on a server, unless they exist, and returns the URL to use.
// Both have the name herald_<service>. The role's password is derived from the master key. Replicas that start at the
// same time wait for each other. The admin role needs CREATEDB and CREATEROLE. If it lacks them, the error says what
// to type.
func Provision(ctx context.Context, admin secret.Text, keys secret.Keys, service string) (secret.Text, error) {
	ctx, cancel := context.WithTimeout(ctx, provisionLimit)
	defer cancel()
	name, password := Name(service), Password(keys, service)
	own, err := WithDatabase(admin, name, name, password)
	if err != nil {
		return secret.Text{}, err
	}
	conn, err := pgx.Connect(ctx, admin.Reveal())
	if err != nil {
		return secret.Text{}, fmt.Errorf("connect to the database server: %w", Fault(err))
	}
	defer conn.Close(ctx) // releases the lock too
	if _, err := conn.Exec(ctx, `select pg_advisory_lock(hashtext($1))`, name); err != nil {
		return secret.Text{}, fmt.Errorf("wait for database %s: %w", name, err)
	}
	var role, database bool
	if err := conn.QueryRow(ctx, `select exists (select from pg_roles where rolname = $1), exists (select from `+
		`pg_database where datname = $1)`, name).Scan(&role, &database); err != nil {
		return secret.Text{}, fmt.Errorf("look for database %s: %w", name, err)
	}
	for _, sql := range preparation(name, password, role, database) {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return secret.Text{}, fmt.Errorf("prepare database %s (as a superuser, type: alter role %s createdb "+
				"createrole): %w", name, conn.Config().User, err)
		}
	}
	return own, nil
}

// changesLimit is the time limit of RefuseChanges.
const changesLimit = 5 * time.Second

// RefuseChanges makes a server refuse or allow changes in all databases. The server keeps this over a restart. admin
// must be a superuser.
func RefuseChanges(ctx context.Context, admin secret.Text, refuse bool) error {
	ctx, cancel := context.WithTimeout(ctx, changesLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, admin.Reveal())
	if err != nil {
		return fmt.Errorf("connect to the database server: %w", Fault(err))
	}
	defer conn.Close(ctx)
	set := "alter system reset default_transaction_read_only"
	if refuse {
		set = "alter system set default_transaction_read_only = on"
	}
	for _, sql := range []string{set, "select pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("refuse or allow changes: %w", Fault(err))
		}
	}
	return nil
}

// Provisioned reports whether a server has a database that Provision created for one of the services.
func Provisioned(ctx context.Context, admin secret.Text, services []string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, provisionLimit)
	defer cancel()
	if _, err := WithDatabase(admin, "", "", secret.Text{}); err != nil {
		return false, err
	}
	conn, err := pgx.Connect(ctx, admin.Reveal())
	if err != nil {
		return false, fmt.Errorf("connect to the database server: %w", Fault(err))
	}
	defer conn.Close(ctx)
	var names []string
	for _, service := range services {
		names = append(names, Name(service))
	}
	var made bool
	err = conn.QueryRow(ctx, `select exists (select from pg_database where datname = any($1))`, names).Scan(&made)
	return made, err
}

// preparation returns the statements that set up a role and a database. role and database say whether they already
// exist. Even then only the creation is left out, because an earlier start may have stopped before the later
// statements.
func preparation(name string, password secret.Text, role, database bool) []string {
	quoted, verb := pgx.Identifier{name}.Sanitize(), "create"
	if role {
		verb = "alter"
	}
	statements := []string{
		// Hexadecimal needs no quoting. The master key may have been rotated.
		fmt.Sprintf(`%s role %s login password '%s'`, verb, quoted, password.Reveal()),
		fmt.Sprintf(`grant %s to current_user`, quoted),
	}
	if !database {
		statements = append(statements, fmt.Sprintf(`create database %s owner %s template template0 encoding 'UTF8'`,
			quoted, quoted))
	}
	return append(statements, fmt.Sprintf(`revoke connect, temporary on database %s from public`, quoted))
}

// Name returns the name of a service's database and role.
func Name(service string) string { return "herald_" + service }

// Password returns the password of a service's role.
func Password(keys secret.Keys, service string) secret.Text {
	return secret.NewText(hex.EncodeToString(keys.Derive("postgres/" + service)[:16]))
}

// Own returns the URL of a service's own database. If the given URL has no user, the role, password and database of
// Provision are added.
func Own(given secret.Text, keys secret.Keys, service string) (secret.Text, error) {
	if u, err := url.Parse(given.Reveal()); err == nil && u.User != nil {
		return given, nil
	}
	return WithDatabase(given, Name(service), Name(service), Password(keys, service))
}

// WithDatabase returns a server's URL with another database and role.
func WithDatabase(server secret.Text, database, role string, password secret.Text) (secret.Text, error) {
	u, err := url.Parse(server.Reveal())
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return secret.Text{},
			errors.New("HERALD_DATABASE_URL must have the form postgres://user:password@host:port/database")
	}
	u.User, u.Path = url.UserPassword(role, password.Reveal()), "/"+database
	return secret.NewText(u.String()), nil
}
