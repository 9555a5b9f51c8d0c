package store

import (
	"context"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/resource"
)

// End deletes an authorization with its tokens and its code. ended is the event. If the authorization has ended
// already, nothing is written.
func (s Store) End(ctx context.Context, a domain.Authorization, ended proto.Message) error {
	_, err := s.end(ctx, a, ended, `true`, nil)
	return err
}

// EndLast does the same if the authorization has no token but the one with this hash, which may not be stored. It
// reports whether it has ended the authorization.
func (s Store) EndLast(ctx context.Context, a domain.Authorization, hash []byte, ended proto.Message) (bool, error) {
	e, err := s.end(ctx, a, ended, `not exists (select from tokens t where t.authorization_id = @id
		and t.hash <> @hash and t.used_at is null and t.expires_at > @now)`,
		postgres.Args{"hash": hash, "now": s.journal.Now()})
	return e.There, err
}

// end does the same if a condition holds. It returns the position and time of the event.
func (s Store) end(
	ctx context.Context, a domain.Authorization, ended proto.Message, where string, args postgres.Args,
) (ending, error) {
	if args = maps.Clone(args); args == nil {
		args = postgres.Args{}
	}
	args["id"] = a.ID
	org := a.OrgID
	if org == "" {
		org = a.ClientOrgID
	}
	return event.Change(ctx, s.journal, event.Locked[ending]{
		Lock: `with locked as (select id from authorizations where id = @id for update)
			select count(*) > 0 as there from locked where ` + where,
		Args:  args,
		Write: func(ending) event.Statement { return event.Removal("authorizations", a.ID, org) },
	}, func(e *ending) (proto.Message, error) {
		if !e.There {
			return nil, nil
		}
		return ended, nil
	})
}

// ending reports whether the authorization existed and has ended. If so, it has the position and time of the event.
type ending struct {
	There bool
	At    resource.Record `db:"-"`
}

// Moved implements what event.Change needs of a row.
func (e *ending) Moved(position int64, at time.Time) { e.At.Moved(position, at) }

// given is an SQL condition: a person gave the authorization a to an application. Only the end of such a one has an
// event: the logins of machines are too many, and nobody makes anything with them for a person.
const given = `a.user_id <> '' and a.project_id <> ''`

// endedEvents returns SQL that selects the events of authorizations that end. It has the argument @by.
func endedEvents(where string) string {
	return `select 'authorization', 'ended', a.id, a.org_id,
			jsonb_build_object('userId', a.user_id, 'clientId', a.client_id, 'by', @by::text)
		from authorizations a where ` + given + ` and ` + where
}

// endAuthorizations ends a batch of the authorizations a for which a condition holds, with their tokens. It reports
// whether there may be more. cause is empty if their time is over.
func (s Store) endAuthorizations(
	ctx context.Context, cause event.Delivery, where string, args postgres.Args,
) (more bool, err error) {
	by := domain.EndChanged
	if cause.ID == "" {
		by = domain.EndExpired
	}
	return s.endBatch(ctx, cause, "authorizations a", where, args, event.Statement{
		Along: endedEvents(`a.id = any (@locked)`),
		SQL:   `gone as (delete from authorizations using event where id = any (@locked))`,
		Args:  postgres.Args{"by": by},
	})
}

// endBatch locks a batch of the rows of a table for which a condition holds, and runs the statement that ends them. It
// reports whether there may be more.
func (s Store) endBatch(
	ctx context.Context, cause event.Delivery, table, where string, args postgres.Args, end event.Statement,
) (more bool, err error) {
	args = maps.Clone(args)
	args["batch"] = sweepBatch
	ended, err := s.journal.FollowLocked(ctx, cause, event.Lock{
		SQL: `select id from ` + table + ` where ` + where + ` order by id limit @batch for update`, Args: args,
	}, end)
	return ended == sweepBatch, err
}

// endBefore ends a batch of the authorizations that people gave before a part of them was deactivated. The part is the
// client, the project, org or client_org, and d is the event about it.
func (s Store) endBefore(ctx context.Context, d event.Delivery, part string, generation int64) (more bool, err error) {
	return s.endAuthorizations(ctx, d, `a.`+part+`_id = @id and a.`+part+`_generation < @generation and `+given,
		postgres.Args{"id": d.AggregateID, "generation": generation})
}

// EndChangedApp ends a batch of the authorizations that people gave an application before it was deactivated. It
// reports whether there may be more. Nobody could use them any more.
func (s Store) EndChangedApp(ctx context.Context, d event.Delivery, generation int64) (more bool, err error) {
	return s.endBefore(ctx, d, "client", generation)
}

// EndChangedProject does the same for the applications of a project, and ends those for which EndNamed is.
func (s Store) EndChangedProject(ctx context.Context, d event.Delivery, generation int64) (more bool, err error) {
	more, err = s.endBefore(ctx, d, "project", generation)
	if more || err != nil {
		return more, err
	}
	return s.EndNamed(ctx, d)
}

// EndNamed ends a batch of the authorizations whose scopes name a project that was deactivated or removed. It reports
// whether there may be more.
func (s Store) EndNamed(ctx context.Context, d event.Delivery) (more bool, err error) {
	return s.endAuthorizations(ctx, d, `a.grounds <> '' and a.audience @> array[@id::text]`,
		postgres.Args{"id": d.AggregateID})
}

// EndChangedOrg ends a batch of the sessions of an organization from before it was deactivated, and of the
// authorizations that depend on it. It reports whether there may be more.
func (s Store) EndChangedOrg(ctx context.Context, d event.Delivery, generation int64) (more bool, err error) {
	more, err = s.endSessions(ctx, d, `org_id = @id and org_generation < @generation`,
		postgres.Args{"id": d.AggregateID, "generation": generation})
	if more || err != nil {
		return more, err
	}
	for _, org := range []string{"org", "client_org"} {
		full, err := s.endBefore(ctx, d, org, generation)
		if err != nil {
			return false, err
		}
		more = more || full
	}
	return more, nil
}

// covered is an SQL condition, domain.Consent.Covers: the person has agreed to all that the authorization a gives. It
// has the arguments of coveredArgs.
const covered = `exists (
	select from consents c where c.user_id = a.user_id and c.client_id = a.client_id and not exists (
		select from unnest(a.scopes) asked (scope)
		where asked.scope <> all (c.scopes) and (asked.scope = any (@personal::text[])
			or asked.scope like @of_project and asked.scope <> @of_herald
				and asked.scope <> replace(@of_project::text, '%', a.project_id))))`

func coveredArgs(args postgres.Args) postgres.Args {
	args["personal"], args["of_herald"] = domain.ConsentScopes(), domain.ScopeService
	args["of_project"] = domain.ScopeOfProject("%")
	return args
}

// EndGranted ends a batch of the authorizations that were given because a project was granted to an organization. Its
// clients name the project. Its people gave applications access to the project without a question, or with one about
// less. If the project checks who gets tokens, those who were asked end too. It reports whether there may be more.
func (s Store) EndGranted(
	ctx context.Context, d event.Delivery, project domain.Project, orgID string,
) (more bool, err error) {
	const (
		names  = `a.grounds <> '' and a.audience @> array[@project_id::text]`
		person = `a.org_id = @org_id and a.client_org_id <> a.org_id and ` + given + ` and (@checks
			or not ` + covered + `)`
	)
	return s.endAuthorizations(ctx, d, `(a.project_id = @project_id and `+person+`
		or `+names+` and (coalesce(nullif(a.client_org_id, ''), a.org_id) = @org_id or `+person+`))`,
		coveredArgs(postgres.Args{"project_id": project.ID, "org_id": orgID, "checks": project.Checks()}))
}

// EndTrusted ends a batch of the authorizations for which nobody was asked because the application of an event was
// trusted. It reports whether there may be more.
func (s Store) EndTrusted(ctx context.Context, d event.Delivery) (more bool, err error) {
	return s.endAuthorizations(ctx, d, `a.client_id = @id and a.by_trust`, postgres.Args{"id": d.AggregateID})
}

// EndTrustedOf does the same for the authorizations of a user, who has got a role.
func (s Store) EndTrustedOf(ctx context.Context, d event.Delivery, userID string) (more bool, err error) {
	return s.endAuthorizations(ctx, d, `a.user_id = @user_id and a.by_trust`, postgres.Args{"user_id": userID})
}
