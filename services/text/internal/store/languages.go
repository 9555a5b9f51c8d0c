package store

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

const languageColumns = `default_language, allowed_languages, sequence, created_at, changed_at`

// instance is the id of the languages in events; they belong to no organization.
const instance = "instance"

// Languages reads what was decided about the instance's languages.
func (s Store) Languages(ctx context.Context) (domain.Languages, error) {
	l, err := postgres.One[domain.Languages](ctx, s.DB, `select `+languageColumns+` from languages`)
	if err != nil {
		return domain.Languages{}, fmt.Errorf("read languages: %w", postgres.Fault(err))
	}
	return l, nil
}

// ChangeLanguages locks the instance's languages and saves what change makes of them.
func (s Store) ChangeLanguages(ctx context.Context, change func(*domain.Languages) (proto.Message, error)) (domain.Languages, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.Languages]{
		Lock: `select ` + languageColumns + ` from languages for update`,
		Save: func(l domain.Languages) event.Save {
			return event.Save{
				AggregateID: instance,
				SQL: `changed as (
					update languages set default_language = $9, allowed_languages = $10, sequence = position, changed_at = time from event
				)`,
				Args: []any{l.DefaultLanguage, append([]string{}, l.AllowedLanguages...)},
			}
		},
	}, nil, change)
}
