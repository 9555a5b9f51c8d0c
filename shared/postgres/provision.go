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

// provisionLimit bounds the wait for a server and for replicas that start at once.
const provisionLimit = time.Minute

// Provision gives a service its own database and role on a server, both called
// herald_<service>, and returns the URL to use. The role's password comes from
// the master key; what is there already is kept. Replicas that start at once take
// turns. The admin role needs CREATEDB and CREATEROLE; the error of one that lacks
// them says what to type.
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
	defer conn.Close(ctx) // and with it the lock
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

// preparation is the statements that a role and a database need, which exist or not.
// All but the creations are repeated, as the last start may have ended between them.
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

// Name is a service's database and role.
func Name(service string) string { return "herald_" + service }

// Password is the password of a service's role.
func Password(keys secret.Keys, service string) secret.Text {
	return secret.NewText(hex.EncodeToString(keys.Derive("postgres/" + service)[:16]))
}

// Own is the URL of a service's own database: as it is given, or, where it names no
// user, with the role, password and database that Provision would give it.
func Own(given secret.Text, keys secret.Keys, service string) (secret.Text, error) {
	if u, err := url.Parse(given.Reveal()); err == nil && u.User != nil {
		return given, nil
	}
	return WithDatabase(given, Name(service), Name(service), Password(keys, service))
}

// WithDatabase is a server's URL with another database and role.
func WithDatabase(server secret.Text, database, role string, password secret.Text) (secret.Text, error) {
	u, err := url.Parse(server.Reveal())
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return secret.Text{},
			errors.New("HERALD_DATABASE_URL must have the form postgres://user:password@host:port/database")
	}
	u.User, u.Path = url.UserPassword(role, password.Reveal()), "/"+database
	return secret.NewText(u.String()), nil
}
