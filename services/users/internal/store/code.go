package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/mailer"
	"herald/shared/postgres"
)

// NewCode is the stored part of a new code, which is derived again for the mail. The id of the event
// that asks for the mail is the notification's id.
type NewCode struct {
	Kind           domain.Kind
	NotificationID string
	Nonce          []byte
	MAC            []byte
	// Nobody counts the guesses while the user has no such code.
	Nobody domain.Stranger
}

// save adds SQL that replaces the user's code of that kind, and with it the guesses at the old one. The
// statement must have the user's id as @id, and the argument of makers.
func (c NewCode) save(s *event.Statement) {
	s.EventID = c.NotificationID
	s.Also(`code as (
		insert into codes (user_id, purpose, notification_id, nonce, mac, makers, made_at)
		select @id, @purpose, @event_id, @nonce, @mac, `+makers+`, time from event
		on conflict (user_id, purpose) do update set notification_id = excluded.notification_id,
			nonce = excluded.nonce, mac = excluded.mac, made_at = excluded.made_at, expires_at = null, tries = 0,
			makers = case when exists (select from users u where u.id = @id and u.pending_email <> '')
				then array(select unnest(codes.makers) union select unnest(excluded.makers) order by 1)
				else excluded.makers end
	)`, postgres.Args{"purpose": c.Kind, "nonce": c.Nonce, "mac": c.MAC})
}

// awaited is an SQL condition for a user u who waits, by the state of the e-mail, for a mail of the kind @purpose.
var awaited = `(u.email_verified = any (@verified)
		or @purpose::text = '` + string(domain.KindVerifyEmail) + `' and u.pending_email <> '')
	and not u.email_outranked`

// chosePending is SQL for the makers of the pending e-mail address of the user @id: those of its code.
var chosePending = `(select c.makers from codes c
	where c.user_id = @id and c.purpose = '` + string(domain.KindVerifyEmail) + `')`

// endCodes adds SQL that removes codes of some kinds of the user @id.
func endCodes(s *event.Statement, kinds []domain.Kind) {
	s.Also(`ended as (
		delete from codes using event where user_id = @id and purpose = any (@ended)
	)`, postgres.Args{"ended": kinds})
}

// RequestCode replaces the code of a user who waits for one of its kind, unless that was done within
// pause, or domain.CodesADay times within a day. It runs the same statements for every user.
func (s Store) RequestCode(
	ctx context.Context, userID string, code NewCode, pause time.Duration, requested proto.Message,
) error {
	save := event.Statement{
		AggregateID: userID, Unless: usersfault.ErrUserNotFound,
		OrganizationOf: `(select org_id from users where id = @id)`,
		If: `exists (select from users u left join codes c on c.user_id = u.id and c.purpose = @purpose
			where u.id = @id and u.type = @human and u.state = @waiting and ` + awaited + `
				and (u.mails_requested_at[1] < @event_time - @pause::interval) is not false
				and (u.mails_requested_at[@a_day] < @event_time - interval '1 day') is not false
				and (c.made_at is null or c.made_at < @event_time - @pause::interval)
			for update of u)`, // locked before the event has its position
		SQL: `requested as (
			update users set mails_requested_at = (array_prepend(time, mails_requested_at))[1:@a_day]
			from event where id = @id
		)`,
		Args: postgres.Args{
			"id": userID, "human": domain.Human, "waiting": code.Kind.State(), "verified": code.Kind.Verified(),
			"pause": pause, "a_day": domain.CodesADay, "made_with": madeWith(ctx),
		},
	}
	code.save(&save)
	if err := s.renewNoCode(ctx, code.Nobody, pause); err != nil {
		return err
	}
	_, err := s.journal.Create(ctx, requested, save)
	if errors.Is(err, usersfault.ErrUserNotFound) {
		return nil
	}
	return err
}

// Code is the stored part of a user's code.
type Code struct {
	MAC       []byte
	ExpiresAt *time.Time // nil before the first sending
	OrgID     string     // the user's
	// Outgoing is the password that the user must change, or empty.
	Outgoing domain.Hidden
}

// CodeHolder is what a page shows about the holder of a code.
type CodeHolder struct{ UserName, PreferredLanguage, OrgName string }

// CodeHolder returns the holder of a code, or ErrUserNotFound.
func (s Store) CodeHolder(ctx context.Context, userID string) (CodeHolder, error) {
	h, err := postgres.One[CodeHolder](ctx, s.journal.DB, `select u.user_name, u.preferred_language, o.name as org_name
		from users u join organizations o on o.id = u.org_id where u.id = @id`, postgres.Args{"id": userID})
	return h, postgres.Missing(err, usersfault.ErrUserNotFound)
}

// TryCode counts a guess at a code before it is compared, and returns the code, so that simultaneous guesses cannot
// exceed the bound. It returns ErrCodeLocked if the bound is reached. For a user who does not wait for a mail of that
// kind, or has no code, it counts the guess for nobody, with the same work and the same answers, and returns the zero
// Code.
func (s Store) TryCode(
	ctx context.Context, userID string, kind domain.Kind, nobody domain.Stranger,
) (Code, error) {
	there, err := postgres.One[struct{ Awaited bool }](ctx, s.journal.DB, `select exists (
			select from codes c join users u on u.id = c.user_id
			where c.user_id = @user_id and c.purpose = @purpose and u.state = @waiting and `+awaited+`
		) as awaited`, postgres.Args{
		"user_id": userID, "purpose": kind, "waiting": kind.State(), "verified": kind.Verified(),
	})
	if err != nil {
		return Code{}, postgres.Fault(err)
	}
	if !there.Awaited {
		return Code{}, s.tryNoCode(ctx, nobody)
	}
	c, err := postgres.One[struct {
		Code
		Locked bool
	}](ctx, s.journal.DB, `update codes c set tries = least(c.tries, @most) + 1 from users u
		where c.user_id = @user_id and c.purpose = @purpose and u.id = c.user_id
		returning c.mac, c.expires_at, u.org_id, c.tries > @most as locked,
			case when u.password_change_required then u.password_hash else '' end as outgoing`,
		postgres.Args{"user_id": userID, "purpose": kind, "most": domain.CodeTries})
	switch {
	case errors.Is(err, pgx.ErrNoRows): // used meanwhile
		return Code{}, s.tryNoCode(ctx, nobody)
	case err != nil:
		return Code{}, postgres.Fault(err)
	case c.Locked:
		return Code{}, usersfault.ErrCodeLocked
	}
	return c.Code, nil
}

// UntryCode takes back a guess at a code that turned out right but could not be used.
func (s Store) UntryCode(ctx context.Context, userID string, kind domain.Kind, mac []byte) error {
	_, err := s.journal.DB.Exec(ctx, `update codes set tries = tries - 1
		where user_id = @user_id and purpose = @purpose and mac = @mac and tries > 0`,
		postgres.Args{"user_id": userID, "purpose": kind, "mac": mac})
	return postgres.Fault(err)
}

// UseCode locks a user with the typed code, calls change, saves the result and removes the code. It
// returns ErrCodeWrong if the code was used or ended meanwhile.
func (s Store) UseCode(
	ctx context.Context, userID string, kind domain.Kind, mac []byte, change func(*domain.User) (UserChange, error),
) (domain.User, error) {
	made, by := UserChange{}, sameMakers
	return event.Change(ctx, s.journal, event.Locked[domain.User]{
		// Postgres locks the rows in the order of the tables: the user first, as in every other
		// change.
		Lock: `select ` + prefixed("u", userColumns) + ` from users u join codes c on c.user_id = u.id
			where u.id = @id and c.purpose = @purpose and c.mac = @mac for update`,
		Args:     postgres.Args{"id": userID, "purpose": kind, "mac": mac},
		NotFound: usersfault.ErrCodeWrong,
		Write: func(u domain.User) event.Statement {
			save := saveUser(u, by)
			made.Ended = append(made.Ended, kind)
			made.save(&save)
			return save
		},
	}, func(u *domain.User) (proto.Message, error) {
		old := *u
		var err error
		made, err = change(u)
		if u.Email != old.Email {
			by.email = chosePending
		}
		if u.PasswordHash != old.PasswordHash {
			// The reader of the code is not logged in. It is the user, or whoever chose the address.
			by.password = `array(select @id union select unnest(email_makers) order by 1)`
		}
		return made.Event, err
	})
}

// Mail is the contents of a notification: a code or a notice.
type Mail struct {
	domain.User
	OrgName   string
	Purpose   domain.Kind
	Nonce     []byte
	ExpiresAt time.Time
	// Notice is nil for a code.
	Notice    *Notice   `db:"-"`
	NoticedAt time.Time `db:"-"`
	// AboutOrgID is the organization that a notice of expirations is about. It is empty for other mails. Owner reports
	// whether the reader owns that organization.
	AboutOrgID string `db:"-"`
	Owner      bool   `db:"-"`
}

// PrepareMail returns the mail of a notification. The code's lifetime begins with the first call.
// It returns ErrNotificationObsolete if the code was used or replaced.
func (s Store) PrepareMail(ctx context.Context, notificationID, userID string, now time.Time) (Mail, error) {
	if mailer.IsNotice(notificationID) {
		return s.notice(ctx, notificationID, userID)
	}
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
	return m, postgres.Missing(err, usersfault.ErrNotificationObsolete)
}
