package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// NewCode is a code to be mailed, of which only the derivation is kept. The event
// that asks for the mail has the notification's id.
type NewCode struct {
	Purpose        string
	NotificationID string
	Nonce          []byte
	MAC            []byte
}

// save replaces the user's code for the purpose and forgets the guesses at the old one.
func (c NewCode) save(s *event.Save, userID string) {
	s.EventID = c.NotificationID
	s.Also(`code as (
		insert into codes (user_id, purpose, notification_id, nonce, mac, made_at)
		select ?, ?, ?, ?, ?, time from event
		on conflict (user_id, purpose) do update set notification_id = excluded.notification_id,
			nonce = excluded.nonce, mac = excluded.mac, made_at = excluded.made_at, expires_at = null
	)`, userID, c.Purpose, c.NotificationID, c.Nonce, c.MAC)
	s.Also(`forgotten as (delete from code_tries using event where user_id = ? and purpose = ?)`, userID, c.Purpose)
}

// RequestCode replaces the code of a user who waits for one, unless that was done a
// moment ago. It is one statement whoever asks for whom, so that its time tells
// nothing; true where a mail was asked for.
func (s Store) RequestCode(ctx context.Context, userID string, code NewCode, pause time.Duration, requested proto.Message) (bool, error) {
	save := event.Save{
		AggregateID: userID, Unless: domain.ErrUserNotFound,
		OrganizationOf: `coalesce((select org_id from users where id = $9), $5)`,
		If: `exists (select from users u left join codes c on c.user_id = u.id and c.purpose = $10
			where u.id = $9 and u.state = $11 and (c.made_at is null or c.made_at < $8::timestamptz - $12::interval)
			for update of u)`, // locked before the event has its position
		SQL:  `waiting as (select $9, $10, $11::smallint, $12::interval)`,
		Args: []any{userID, code.Purpose, domain.UserInitial, pause},
	}
	code.save(&save, userID)
	_, err := s.Create(ctx, requested, save)
	if err == domain.ErrUserNotFound {
		return false, nil
	}
	return err == nil, err
}

// Code is a code that a user was sent, and what the user becomes by typing it.
type Code struct {
	MAC       []byte
	ExpiresAt *time.Time // nil before the first sending
	OrgID     string
}

// Code reads a user's code; false where there is none.
func (s Store) Code(ctx context.Context, userID, purpose string) (Code, bool, error) {
	c, err := postgres.One[Code](ctx, s.DB, `select c.mac, c.expires_at, u.org_id from codes c join users u on u.id = c.user_id
		where c.user_id = $1 and c.purpose = $2`, userID, purpose)
	if err == pgx.ErrNoRows {
		return Code{}, false, nil
	}
	return c, err == nil, postgres.Fault(err)
}

// TryCode counts a guess before it is looked at, so that no number of guesses at
// once gets more than the bound. False from the bound on.
func (s Store) TryCode(ctx context.Context, userID, purpose string, now time.Time) (bool, error) {
	tag, err := s.DB.Exec(ctx, `insert into code_tries as t (user_id, purpose, tries, since) values ($1, $2, 1, $3)
		on conflict (user_id, purpose) do update set tries = t.tries + 1 where t.tries < $4`, userID, purpose, now, domain.CodeTries)
	return tag.RowsAffected() == 1, postgres.Fault(err)
}

// ForgetTries removes guesses that are older than any code.
func (s Store) ForgetTries(ctx context.Context, before time.Time) error {
	_, err := s.DB.Exec(ctx, `delete from code_tries where since < $1`, before)
	return postgres.Fault(err)
}

// codeUser is a user who types a code, locked together with the code.
type codeUser struct{ domain.User }

// UseCode locks a user with the code that was typed and saves what change makes of
// the user; the code is gone with it. ErrCodeInvalid where another was faster.
func (s Store) UseCode(ctx context.Context, userID, purpose string, mac []byte, change func(*domain.User) (proto.Message, error)) (domain.User, error) {
	u, err := event.Change(ctx, s.Journal, event.Object[codeUser]{
		Lock: `select ` + prefixed("u", userColumns) + ` from codes c join users u on u.id = c.user_id
			where c.user_id = $1 and c.purpose = $2 and c.mac = $3 for update`,
		NotFound: domain.ErrCodeInvalid,
		Save: func(u codeUser) event.Save {
			save := saveUser(u.User)
			save.Also(`used as (delete from codes using event where user_id = ? and purpose = ?)`, u.ID, purpose)
			save.Also(`forgotten as (delete from code_tries using event where user_id = ? and purpose = ?)`, u.ID, purpose)
			return save
		},
	}, []any{userID, purpose, mac}, func(u *codeUser) (proto.Message, error) { return change(&u.User) })
	return u.User, err
}

// Mail is what a notification says, and to whom.
type Mail struct {
	domain.User
	Nonce     []byte
	ExpiresAt time.Time
	OrgName   string
}

// PrepareMail reads the mail that a notification is about; its code's lifetime
// begins with the first time. ErrMailObsolete where its code was used or replaced.
func (s Store) PrepareMail(ctx context.Context, notificationID, userID string, now time.Time) (Mail, error) {
	m, err := postgres.One[Mail](ctx, s.DB, `update codes c set expires_at = coalesce(c.expires_at, $3)
		from users u join organizations o on o.id = u.org_id
		where c.notification_id = $1 and c.user_id = $2 and u.id = c.user_id
		returning `+prefixed("u", userColumns)+`, c.nonce, c.expires_at, o.name as org_name`, notificationID, userID, now.Add(domain.CodeLifetime))
	return m, postgres.Missing(err, domain.ErrMailObsolete)
}
