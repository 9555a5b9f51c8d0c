package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

const languageColumns = `default_language, allowed_languages, sequence, created_at, changed_at`

// instance is the id of the languages in events; they belong to no organization.
const instance = "instance"

// Languages reads the instance's languages.
func (s Store) Languages(ctx context.Context) (domain.Languages, error) {
	l, err := postgres.One[domain.Languages](ctx, s.journal.DB, `select `+languageColumns+` from languages`, nil)
	return l, postgres.Fault(err)
}

// ChangeLanguages locks the instance's languages, calls change and saves the result.
func (s Store) ChangeLanguages(
	ctx context.Context, change func(*domain.Languages) (proto.Message, error),
) (domain.Languages, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Languages]{
		Lock: `select ` + languageColumns + ` from languages for update`,
		Write: func(l domain.Languages) event.Statement {
			return event.Statement{
				AggregateID: instance,
				SQL: `changed as (
					update languages set default_language = @default, allowed_languages = @allowed,
						sequence = position, changed_at = time
					from event
				)`,
				Args: postgres.Args{"default": l.DefaultLanguage, "allowed": append([]string{}, l.AllowedLanguages...)},
			}
		},
	}, change)
}
