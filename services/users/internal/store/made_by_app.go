package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// clients is SQL for the applications that make something in the name of its user. authorizations is SQL for the
// authorizations with which they make it. Both are those of the caller, or of the caller's personal access token. If an
// authorization has ended in the meantime, nothing is made.
const (
	clients = `(select array(
		select @client_id::text where @client_id <> ''
		union
		select t.client_id from personal_access_tokens t where t.id = @made_with and t.client_id <> '' and @for_oneself
	))`
	authorizations = `(select case when @for_oneself
		then authorizations_of_maker(@authorization_id::text, @made_with::text) else '{}' end)`
)

// madeBy adds the arguments of makers, clients and authorizations to args, for something that a user gets. What users
// make for others is theirs and not an application's.
func madeBy(ctx context.Context, userID string, args postgres.Args) postgres.Args {
	args["made_with"], args["client_id"], args["authorization_id"] = madeWith(ctx), "", ""
	c := caller.From(ctx)
	args["for_oneself"] = c.UserID == userID
	if c.UserID == userID {
		args["client_id"], args["authorization_id"] = c.ClientID, c.AuthorizationID
	}
	return args
}

// MadeBy names what an application made in the name of a user with an authorization. AuthorizationID is empty for all
// that it made.
type MadeBy struct{ UserID, ClientID, AuthorizationID string }

func (m MadeBy) args() postgres.Args {
	return postgres.Args{"client_id": m.ClientID, "authorization_id": m.AuthorizationID}
}

// madeWithIt is an SQL condition for what an application made with the authorization, whose authorizations are in the
// column. If it is not known with which authorization the application made something, that counts as made with each.
func madeWithIt(column string) string {
	return `@client_id <> '' and (@authorization_id = '' or ` + column + ` = '{}'
		or @authorization_id = any (` + column + `))`
}

// RemovePATsOf removes the personal access tokens that an application made in the name of a user, because of an event.
// A request with the authorization that is still running makes nothing more.
func (s Store) RemovePATsOf(ctx context.Context, cause event.Delivery, m MadeBy) error {
	user := event.Lock{SQL: `select id from users where id = @user_id for update`,
		Args: postgres.Args{"user_id": m.UserID}}
	_, err := s.journal.FollowLocked(ctx, cause, user, event.Statement{
		Along: `select 'pat', 'removed', p.id, u.org_id, jsonb_build_object('userId', u.id)
			from personal_access_tokens p join users u on u.id = p.user_id
			where p.user_id = any (@locked) and p.client_id = @client_id and ` + madeWithIt("p.authorizations"),
		SQL: `ended_pats as (
			delete from personal_access_tokens p using along where p.id = along.aggregate_id
		), remembered as (
			insert into ended_authorizations (id, ended_at)
			select @authorization_id, time from event where @authorization_id <> '' on conflict do nothing
		)`,
		Args: m.args(),
	})
	return err
}

// RemoveOTPOf removes the authenticator app whose secret an application made in the name of a user. It calls removed
// with the removed app. It returns usersfault.ErrOTPNotFound if there is none.
func (s Store) RemoveOTPOf(ctx context.Context, m MadeBy, removed func(*domain.OTP) NoticedChange) error {
	args := m.args()
	args["user_id"] = m.UserID
	made := readOTP + ` and @client_id = any (f.clients) and ` + madeWithIt("f.authorizations") + ` for update of f`
	_, err := s.removeOTP(ctx, made, args, removed)
	return err
}

// RemoveRecoveryCodesOf removes the recovery codes that an application made in the name of a user, for a secret that it
// did not make. It returns usersfault.ErrOTPNotFound if there are none.
func (s Store) RemoveRecoveryCodesOf(ctx context.Context, m MadeBy, removed proto.Message) error {
	args := m.args()
	args["user_id"] = m.UserID
	_, err := event.Change(ctx, s.journal, event.Locked[domain.OTP]{
		Lock: readOTP + ` and @client_id = any (f.code_clients) and ` + madeWithIt("f.code_authorizations") +
			` for update of f`,
		Args: args, NotFound: usersfault.ErrOTPNotFound,
		Write: func(f domain.OTP) event.Statement {
			return event.Statement{
				AggregateID: f.UserID, OrganizationID: f.OrgID,
				SQL: `gone as (
					update otp_factors f set recovery_codes = '{}', code_clients = '{}', code_authorizations = '{}',
						sequence = position, changed_at = time
					from event where f.user_id = @user_id
				)`,
				Args: postgres.Args{"user_id": f.UserID},
			}
		},
	}, func(*domain.OTP) (proto.Message, error) { return removed, nil })
	return err
}
