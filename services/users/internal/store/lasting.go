package store

import (
	"context"

	"herald/shared/postgres"
)

// LastingKey returns the sealed key of a name. The first call stores made. Replicas that start at
// the same time get the same key.
func (s Store) LastingKey(ctx context.Context, name string, made []byte) ([]byte, error) {
	if _, err := s.journal.DB.Exec(ctx,
		`insert into lasting_keys (name, secret) values (@name, @secret) on conflict (name) do nothing`,
		postgres.Args{"name": name, "secret": made}); err != nil {
		return nil, postgres.Fault(err)
	}
	found, err := postgres.One[struct{ Secret []byte }](ctx, s.journal.DB,
		`select secret from lasting_keys where name = @name`, postgres.Args{"name": name})
	return found.Secret, postgres.Fault(err)
}
