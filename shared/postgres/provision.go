package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/shared/secret"
)

// Provision gives a service its own database and role on a server, both called
// herald_<service>, and answers with the URL to use. The role's password comes from
// the master key; what is there already is kept. The admin role needs CREATEDB and
// CREATEROLE; the error of one that lacks them says what to type.
func Provision(ctx context.Context, admin secret.Text, keys secret.Keys, service string) (secret.Text, error) {
	name, password := Name(service), Password(keys, service)
	own, err := WithDatabase(admin, name, name, password)
	if err != nil {
		return secret.Text{}, err
	}
	conn, err := pgx.Connect(ctx, admin.Reveal())
	if err != nil {
		return secret.Text{}, fmt.Errorf("connect to the database server: %w", Fault(err))
	}
	defer conn.Close(ctx)
	quoted := pgx.Identifier{name}.Sanitize()
	var role, database bool
	if err := conn.QueryRow(ctx, `select exists (select from pg_roles where rolname = $1), exists (select from pg_database where datname = $1)`, name).Scan(&role, &database); err != nil {
		return secret.Text{}, fmt.Errorf("look for database %s: %w", name, err)
	}
	// The password is hexadecimal: it needs no quoting. It is set each time, as the
	// master key may have been rotated.
	verb := "create"
	if role {
		verb = "alter"
	}
	statements := []string{fmt.Sprintf(`%s role %s login password '%s'`, verb, quoted, password.Reveal())}
	if !database {
		statements = append(statements,
			fmt.Sprintf(`grant %s to current_user`, quoted),
			fmt.Sprintf(`create database %s owner %s template template0 encoding 'UTF8'`, quoted, quoted),
			fmt.Sprintf(`revoke connect, temporary on database %s from public`, quoted))
	}
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil && !already(err) {
			return secret.Text{}, fmt.Errorf("prepare database %s (as a superuser, type: alter role %s createdb createrole): %w", name, conn.Config().User, err)
		}
	}
	return own, nil
}

// Name is a service's database and role.
func Name(service string) string { return "herald_" + service }

// Password is the password of a service's role.
func Password(keys secret.Keys, service string) secret.Text {
	return secret.NewText(hex.EncodeToString(keys.Derive("postgres/" + service)[:16]))
}

// already tells that another replica was faster.
func already(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refused.Code == "42P04" || refused.Code == "42710" || refused.Code == "23505")
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
		return secret.Text{}, errors.New("HERALD_DATABASE_URL must have the form postgres://user:password@host:port/database")
	}
	u.User, u.Path = url.UserPassword(role, password.Reveal()), "/"+database
	return secret.NewText(u.String()), nil
}
