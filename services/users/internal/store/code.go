package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// NewCode is the stored part of a new code, which is derived again for the mail. The id of the event
// that asks for the mail is the notification's id.
type NewCode struct {
	Kind           domain.Kind
	NotificationID string
	Nonce          []byte
	MAC            []byte
}

// save adds SQL that replaces the user's code of that kind and removes the guesses at the old one. The
// statement must have the user's id as @id.
func (c NewCode) save(s *event.Statement) {
	s.EventID = c.NotificationID
	s.Also(`code as (
		insert into codes (user_id, purpose, notification_id, nonce, mac, made_at)
		select @id, @purpose, @event_id, @nonce, @mac, time from event
		on conflict (user_id, purpose) do update set notification_id = excluded.notification_id,
			nonce = excluded.nonce, mac = excluded.mac, made_at = excluded.made_at, expires_at = null
	), forgotten as (
		delete from code_tries using event where user_id = @id and purpose = @purpose
	)`, postgres.Args{"purpose": c.Kind, "nonce": c.Nonce, "mac": c.MAC})
}

// endCodes adds SQL that removes codes of some kinds, and the guesses at them, of the user @id.
func endCodes(s *event.Statement, kinds []domain.Kind) {
	s.Also(`ended as (
		delete from codes using event where user_id = @id and purpose = any (@ended)
	), ended_tries as (
		delete from code_tries using event where user_id = @id and purpose = any (@ended)
	)`, postgres.Args{"ended": kinds})
}

// RequestCode replaces the code of a user who waits for one of its kind, unless that was done a moment
// ago. It runs the same statement for every user, so that its duration does not tell whether the user
// exists.
func (s Store) RequestCode(
	ctx context.Context, userID string, code NewCode, pause time.Duration, requested proto.Message,
) error {
	save := event.Statement{
		AggregateID: userID, Unless: domain.ErrUserNotFound,
		OrganizationOf: `coalesce((select org_id from users where id = @id), '')`,
		If: `exists (select from users u left join codes c on c.user_id = u.id and c.purpose = @purpose
			where u.id = @id and u.type = @human and u.state = @waiting and u.email_verified = any (@verified)
				and (u.code_requested_at is null or u.code_requested_at < @event_time - @pause::interval)
				and (c.made_at is null or c.made_at < @event_time - @pause::interval)
			for update of u)`, // locked before the event has its position
		SQL: `requested as (update users set code_requested_at = time from event where id = @id)`,
		Args: postgres.Args{
			"id": userID, "human": domain.Human, "waiting": code.Kind.State(), "verified": code.Kind.Verified(),
			"pause": pause,
		},
	}
	code.save(&save)
	_, err := s.journal.Create(ctx, requested, save)
	if errors.Is(err, domain.ErrUserNotFound) {
		return nil
	}
	return err
}

// Code is the stored part of a user's code.
type Code struct {
	MAC       []byte
	ExpiresAt *time.Time // nil before the first sending
}

// Code returns a user's code. If there is none it returns the zero Code, with which every comparison
// fails.
func (s Store) Code(ctx context.Context, userID string, kind domain.Kind) (Code, error) {
	c, err := postgres.One[Code](ctx, s.journal.DB, `select mac, expires_at from codes where user_id = @user_id
		and purpose = @purpose`,
		postgres.Args{"user_id": userID, "purpose": kind})
	if errors.Is(err, pgx.ErrNoRows) {
		return Code{}, nil
	}
	return c, postgres.Fault(err)
}

// TryCode counts a guess before it is checked, so that simultaneous guesses cannot exceed the bound. It
// returns false if the bound is reached.
func (s Store) TryCode(ctx context.Context, userID string, kind domain.Kind, now time.Time) (bool, error) {
	tag, err := s.journal.DB.Exec(ctx, `insert into code_tries as t (user_id, purpose, tries, since) values (@user_id,
		@purpose, 1, @now)
		on conflict (user_id, purpose) do update set tries = t.tries + 1 where t.tries < @most`,
		postgres.Args{"user_id": userID, "purpose": kind, "now": now, "most": domain.CodeTries})
	return tag.RowsAffected() == 1, postgres.Fault(err)
}

// ForgetTries removes guesses that are older than every code. It keeps those at a code that is still
// valid, whose lifetime may have begun after the first guess.
func (s Store) ForgetTries(ctx context.Context, now time.Time) error {
	_, err := s.journal.DB.Exec(ctx, `delete from code_tries t where since < @oldest and not exists (
		select from codes c where c.user_id = t.user_id and c.purpose = t.purpose
			and (c.expires_at is null or c.expires_at > @now)
	)`, postgres.Args{"oldest": now.Add(-domain.LongestLifetime()), "now": now})
	return postgres.Fault(err)
}

// UseCode locks a user with the typed code, calls change, saves the result and removes the code. It
// returns ErrCodeWrong if the code was used or ended meanwhile.
func (s Store) UseCode(
	ctx context.Context, userID string, kind domain.Kind, mac []byte, change func(*domain.User) (proto.Message, error),
) (domain.User, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.User]{
		// Postgres locks the rows in the order of the tables: the user first, as in every other
		// change.
		Lock: `select ` + prefixed("u", userColumns) + ` from users u join codes c on c.user_id = u.id
			where u.id = @id and c.purpose = @purpose and c.mac = @mac for update`,
		Args:     postgres.Args{"id": userID, "purpose": kind, "mac": mac},
		NotFound: domain.ErrCodeWrong,
		Write: func(u domain.User) event.Statement {
			save := saveUser(u)
			endCodes(&save, []domain.Kind{kind})
			return save
		},
	}, change)
}

// Mail is the contents and the recipient of a notification.
type Mail struct {
	domain.User
	Purpose   domain.Kind
	Nonce     []byte
	ExpiresAt time.Time
	OrgName   string
}

// PrepareMail returns the mail of a notification. The code's lifetime begins with the first call.
// It returns ErrMailObsolete if the code was used or replaced.
func (s Store) PrepareMail(ctx context.Context, notificationID, userID string, now time.Time) (Mail, error) {
	kinds := domain.Kinds()
	expiries := make([]time.Time, len(kinds))
	for i, k := range kinds {
		expiries[i] = now.Add(k.Lifetime())
	}
	m, err := postgres.One[Mail](ctx, s.journal.DB, `
		update codes c set expires_at = coalesce(c.expires_at, k.expires_at)
		from users u join organizations o on o.id = u.org_id,
			unnest(@kinds::text[], @expiries::timestamptz[]) k (purpose, expires_at)
		where c.notification_id = @notification_id and c.user_id = @user_id and u.id = c.user_id
			and k.purpose = c.purpose
		returning `+prefixed("u", userColumns)+`, c.purpose, c.nonce, c.expires_at, o.name as org_name`,
		postgres.Args{"notification_id": notificationID, "user_id": userID, "kinds": kinds, "expiries": expiries})
	return m, postgres.Missing(err, domain.ErrMailObsolete)
}
