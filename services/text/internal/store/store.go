// Package store keeps the texts that organizations wrote. A read is one statement, and
// sees all that was committed before it.
package store

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/text/internal/domain"
	"herald/shared/postgres"
)

// Migrations make the service's tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store reads and writes one service's database.
type Store struct{ DB *pgxpool.Pool }

// Key names a message's texts: whose they are, what the message is about, and the
// supported language that they are written in.
type Key struct{ OrganizationID, Kind, Language string }

// Custom answers with an organization's own texts. Where there are none, the record says
// when the service's history began.
func (s Store) Custom(ctx context.Context, k Key) (domain.Custom, error) {
	c, err := postgres.One[domain.Custom](ctx, s.DB, `select
		coalesce(c.sequence, 0) as sequence, coalesce(c.created_at, f.time) as created_at, coalesce(c.changed_at, f.time) as changed_at,
		coalesce(c.title, '') as title, coalesce(c.pre_header, '') as pre_header, coalesce(c.subject, '') as subject,
		coalesce(c.greeting, '') as greeting, coalesce(c.text, '') as text, coalesce(c.button_text, '') as button_text,
		coalesce(c.footer_text, '') as footer_text
		from first_start f left join custom_texts c on c.org_id = $1 and c.kind = $2 and c.language = $3`,
		k.OrganizationID, k.Kind, k.Language)
	if err != nil {
		return domain.Custom{}, fmt.Errorf("read custom texts: %w", postgres.Fault(err))
	}
	return c, nil
}
