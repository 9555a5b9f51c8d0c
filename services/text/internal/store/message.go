package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/textfault"
	"herald/shared/postgres"
	"herald/shared/resource"
)

// Key identifies texts: their organization, the kind of message, and a supported language.
type Key struct{ OrganizationID, Kind, Language string }

const customColumns = `title, pre_header, subject, greeting, text, button_text, footer_text, sequence, created_at,
	changed_at`

// Beginning returns the record of objects that were never changed: the time of the first start.
func (s Store) Beginning(ctx context.Context) (resource.Record, error) {
	r, err := postgres.One[resource.Record](ctx, s.journal.DB,
		`select 0::bigint as sequence, time as created_at, time as changed_at from first_start`, nil)
	return r, postgres.Fault(err)
}

// Custom returns an organization's own texts. If there are none, it returns the record of Beginning.
func (s Store) Custom(ctx context.Context, k Key) (domain.Custom, error) {
	c, err := postgres.One[domain.Custom](ctx, s.journal.DB, `select
		coalesce(c.sequence, 0) as sequence, coalesce(c.created_at, f.time) as created_at, coalesce(c.changed_at,
			f.time) as changed_at,
		coalesce(c.title, '') as title, coalesce(c.pre_header, '') as pre_header, coalesce(c.subject, '') as subject,
		coalesce(c.greeting, '') as greeting, coalesce(c.text, '') as text, coalesce(c.button_text, '') as button_text,
		coalesce(c.footer_text, '') as footer_text
		from first_start f left join custom_texts c on c.org_id = @org_id and c.kind = @kind
			and c.language = @language`, k.args())
	return c, postgres.Fault(err)
}

// SetCustom locks an organization's own texts, which may not exist yet, calls change and saves the
// result. It removes the texts if all are empty after the change.
func (s Store) SetCustom(
	ctx context.Context, k Key, change func(*domain.Custom) (proto.Message, error),
) (domain.Custom, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Custom]{
		// The row is inserted here, so that the event gets its position under the row's lock. Without
		// a change the transaction is rolled back.
		Lock: `insert into custom_texts as c (org_id, kind, language, sequence, created_at, changed_at)
			select @org_id, @kind, @language, 0, time, time from first_start
			on conflict (org_id, kind, language) do update set org_id = c.org_id returning ` + customColumns,
		Args: k.args(),
		Write: func(c domain.Custom) event.Statement {
			if c.IsDefault() {
				return k.removal()
			}
			args := k.args()
			args["title"], args["pre_header"], args["subject"], args["greeting"] = c.Title, c.PreHeader, c.Subject,
				c.Greeting
			args["text"], args["button_text"], args["footer_text"] = c.Text, c.ButtonText, c.FooterText
			return event.Statement{
				AggregateID: k.aggregate(), OrganizationID: k.OrganizationID,
				SQL: `custom as (
					update custom_texts set title = @title, pre_header = @pre_header, subject = @subject,
						greeting = @greeting, text = @text,
						button_text = @button_text, footer_text = @footer_text,
						sequence = position, created_at = case sequence when 0 then time else created_at end,
							changed_at = time
					from event where org_id = @org_id and kind = @kind and language = @language
				)`,
				Args: args,
			}
		},
	}, change)
}

// ResetCustom locks and removes an organization's own texts.
func (s Store) ResetCustom(
	ctx context.Context, k Key, change func(*domain.Custom) (proto.Message, error),
) (domain.Custom, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Custom]{
		Lock: `select ` + customColumns + ` from custom_texts where org_id = @org_id and kind = @kind
			and language = @language for update`,
		Args: k.args(), NotFound: textfault.ErrCustomTextNotFound,
		Write: func(domain.Custom) event.Statement { return k.removal() },
	}, change)
}

func (k Key) removal() event.Statement {
	return event.Statement{
		AggregateID: k.aggregate(), OrganizationID: k.OrganizationID,
		SQL: `removed as (delete from custom_texts using event where org_id = @org_id and kind = @kind
			and language = @language)`,
		Args: k.args(),
	}
}

// SomeCustom reads which texts an organization wrote, most of them at most.
func (s Store) SomeCustom(ctx context.Context, orgID string, most int) ([]Key, error) {
	return postgres.All[Key](ctx, s.journal.DB, `select org_id as organization_id, kind, language from custom_texts
		where org_id = @org_id order by kind, language limit @most`, postgres.Args{"org_id": orgID, "most": most})
}

func (k Key) args() postgres.Args {
	return postgres.Args{"org_id": k.OrganizationID, "kind": k.Kind, "language": k.Language}
}

// aggregate returns the id of the texts in events.
func (k Key) aggregate() string { return k.OrganizationID + "/" + k.Kind + "/" + k.Language }
