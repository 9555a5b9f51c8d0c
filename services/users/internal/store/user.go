package store

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const userColumns = `id, org_id, type, state, user_name,
	first_name, last_name, nick_name, display_name, preferred_language, gender,
	email, email_verified, email_outranked, pending_email, phone, phone_verified, password_hash,
	password_change_required, locked_until, description, access_token_type, secret_hash, generation, uninitialized,
	owed_mail, sequence, created_at, changed_at`

const readUser = `select ` + userColumns + ` from users where id = @id and org_id is not distinct from @org_id`

// The columns that users are searched by.
var (
	UserName    = search.Column{Exact: "user_name", Folded: "user_name_folded", Among: userTexts}
	FirstName   = search.Column{Exact: "first_name", Folded: "first_name_folded", Among: userTexts}
	LastName    = search.Column{Exact: "last_name", Folded: "last_name_folded", Among: userTexts}
	DisplayName = search.Column{Exact: "display_name", Folded: "display_name_folded", Among: userTexts}
	Email       = search.Column{Exact: "email", Folded: "email_folded", Among: userTexts}
)

// userTexts is the expression of the index users_by_part.
const userTexts = `(E'\n' || user_name || E'\n' || user_name_folded || E'\n' || first_name || E'\n' ||
	first_name_folded || E'\n' || last_name || E'\n' || last_name_folded || E'\n' || display_name || E'\n' ||
	display_name_folded || E'\n' || email || E'\n' || email_folded || E'\n')`

// User reads a user of an organization.
func (s Store) User(ctx context.Context, orgID, id string) (domain.User, error) {
	u, err := postgres.One[domain.User](ctx, s.journal.DB, readUser, postgres.Args{"org_id": orgID, "id": id})
	return u, postgres.Missing(err, usersfault.ErrUserNotFound)
}

// AnyUser returns a user of any organization, for other services.
func (s Store) AnyUser(ctx context.Context, id string) (domain.User, error) {
	u, err := postgres.One[domain.User](ctx, s.journal.DB, `select `+userColumns+` from users where id = @id
		and exists (select from organizations o where o.id = users.org_id and o.state <> org_removed())`,
		postgres.Args{"id": id})
	return u, postgres.Missing(err, usersfault.ErrUserNotFound)
}

// NewUser is a new user with its other rows. A machine has none.
type NewUser struct {
	domain.User
	Digest   domain.Digest     // nil if the id was not chosen by the caller
	Code     *NewCode          // nil if no mail is needed
	OTP      []byte            // sealed; nil without a factor
	Metadata map[string][]byte // may be nil
	IdpLinks []domain.IdpLink
	// HashCost is zero unless the password's hash is slow.
	HashCost domain.HashCost
}

// CreateUser writes a user in one statement.
func (s Store) CreateUser(ctx context.Context, u NewUser, created proto.Message) (resource.Record, error) {
	return s.journal.Create(ctx, created, newUser(ctx, u))
}

func newUser(ctx context.Context, u NewUser) event.Statement {
	args := userArgs(u.User)
	args["type"], args["uninitialized"], args["import_digest"] = u.Type, u.Uninitialized, u.Digest
	args["made_with"] = madeWith(ctx)
	save := event.Statement{
		AggregateID: u.ID, OrganizationID: u.OrgID,
		SQL: `created as (` + insertUser("@", "") + ` returning id), added as (
			select 1 as n, created.id, @event_id::text as event_id, position, time from event, created
		)`,
		Args: args,
	}
	if u.Code != nil {
		save.EventID = u.Code.NotificationID
	}
	insertParts([]NewUser{u}, save.Also)
	costs([]NewUser{u}, save.Also)
	return save
}

// newUserColumns are the columns of a new user that are written unchanged.
const newUserColumns = `id, type, state, user_name, user_name_folded,
	first_name, first_name_folded, last_name, last_name_folded, nick_name, display_name, display_name_folded,
	preferred_language, gender, email, email_folded, email_verified, email_outranked, phone, phone_verified,
	password_hash, password_change_required, description, access_token_type, uninitialized, owed_mail,
	import_digest`

// insertUser is SQL that inserts new users. Their values are named as the columns, with a prefix. joined is what
// their events e are joined with.
func insertUser(prefix, joined string) string {
	return `insert into users (` + newUserColumns + `, org_id, email_makers, password_makers,
			sequence, created_at, changed_at)
		select ` + postgres.Each(prefix, newUserColumns) + `, @event_organization,
			case when ` + prefix + `email = '' then '{}' else ` + makers + ` end,
			case when ` + prefix + `password_hash = '' then '{}' else ` + makers + ` end,
			e.position, e.time, e.time
		from event e ` + joined
}

// userArgs are the arguments that a creation and a change have in common.
func userArgs(u domain.User) postgres.Args {
	return postgres.Args{
		"id": u.ID, "state": u.State,
		"user_name": u.UserName, "user_name_folded": search.Fold(u.UserName),
		"first_name": u.FirstName, "first_name_folded": search.Fold(u.FirstName),
		"last_name": u.LastName, "last_name_folded": search.Fold(u.LastName),
		"nick_name": u.NickName, "display_name": u.DisplayName, "display_name_folded": search.Fold(u.DisplayName),
		"preferred_language": u.PreferredLanguage, "gender": u.Gender,
		"email": u.Email, "email_folded": search.Fold(u.Email), "email_verified": u.EmailVerified,
		"email_outranked": u.EmailOutranked,
		"phone":           u.Phone, "phone_verified": u.PhoneVerified,
		"password_hash": string(u.PasswordHash), "password_change_required": u.PasswordChangeRequired,
		"description": u.Description, "access_token_type": u.AccessTokenType, "owed_mail": u.OwedMail,
	}
}

// FirstImport is the first import with an id.
type FirstImport struct {
	OrgID        string
	ImportDigest domain.Digest
	Position     int64
	Time         time.Time
	Data         []byte // of the event
}

// FirstImport returns the first import with an id, or ErrUserNotFound.
func (s Store) FirstImport(ctx context.Context, id string) (FirstImport, error) {
	f, err := postgres.One[FirstImport](ctx, s.journal.DB, `select u.org_id, u.import_digest, e.position, e.time, e.data
		from users u join events e on e.history_id = u.id and e.name = 'imported' where u.id = @id
		order by e.position limit 1`, postgres.Args{"id": id})
	return f, postgres.Missing(err, usersfault.ErrUserNotFound)
}

// UserChange is the event of a change of a user, and what it does to the user's codes and counted guesses.
type UserChange struct {
	Event proto.Message // nil if nothing changes
	Code  *NewCode      // to be mailed; nil for none
	Ended []domain.Kind // kinds whose codes are removed; not that of Code
	// ResetTries reports whether to remove the counted guesses at the password.
	ResetTries bool
	// Notice is mailed beside Code; nil for none. The event names its kind.
	Notice *Notice
	// Counts are those of Code and Notice; nil if the mails are not counted.
	Counts []domain.MailCount
}

// ChangeUser locks a user of an organization, calls change, and saves the user and the codes.
func (s Store) ChangeUser(
	ctx context.Context, orgID, id string, change func(*domain.User) (UserChange, error),
) (domain.User, UserChange, error) {
	var made UserChange
	by := sameMakers
	u, err := event.Change(ctx, s.journal, event.Locked[domain.User]{
		Lock: readUser + ` for update`, Args: postgres.Args{"org_id": orgID, "id": id},
		NotFound: usersfault.ErrUserNotFound,
		Write: func(u domain.User) event.Statement {
			save := saveUser(u, by)
			if made.Code != nil || by.secret == makers || by.password == makers || by.email == makers {
				save.Args["made_with"] = madeWith(ctx)
			}
			made.save(&save)
			return save
		},
	}, func(u *domain.User) (proto.Message, error) {
		old := *u
		var err error
		made, err = change(u)
		if u.SecretHash != old.SecretHash {
			by.secret = makers
		}
		if u.PasswordHash != old.PasswordHash {
			by.password = makers
		}
		if u.Email != old.Email || !u.EmailOutranked && old.EmailOutranked {
			by.email = makers
		}
		return made.Event, err
	})
	return u, made, err
}

// save adds what a change does to the codes and the notices of the user @id.
func (c UserChange) save(s *event.Statement) {
	if len(c.Ended) > 0 {
		endCodes(s, c.Ended)
	}
	if c.ResetTries {
		s.Also(`reset_tries as (delete from password_tries using event where user_id = @id)`, nil)
	}
	if c.Code != nil {
		c.Code.save(s)
	}
	if c.Notice != nil {
		c.Notice.save(s, s.AggregateID)
	}
	if len(c.Counts) > 0 {
		countMails(s, c.Counts)
	}
}

// credentialMakers is SQL for the makers of a user's secret, password and e-mail address.
type credentialMakers struct{ secret, password, email string }

// sameMakers is for those that stay.
var sameMakers = credentialMakers{"secret_makers", "password_makers", "email_makers"}

// saveUser writes the columns of a user that can change.
func saveUser(u domain.User, by credentialMakers) event.Statement {
	args := userArgs(u)
	args["generation"], args["uninitialized"], args["secret_hash"] = u.Generation, u.Uninitialized, string(u.SecretHash)
	args["locked_until"], args["pending_email"] = u.LockedUntil, u.PendingEmail
	return event.Statement{
		AggregateID: u.ID, OrganizationID: u.OrgID,
		SQL: `changed as (
			update users set state = @state, user_name = @user_name, user_name_folded = @user_name_folded,
				first_name = @first_name, first_name_folded = @first_name_folded,
				last_name = @last_name, last_name_folded = @last_name_folded, nick_name = @nick_name,
				display_name = @display_name, display_name_folded = @display_name_folded,
				preferred_language = @preferred_language, gender = @gender,
				email = @email, email_folded = @email_folded, email_verified = @email_verified,
				email_outranked = @email_outranked, pending_email = @pending_email,
				phone = @phone, phone_verified = @phone_verified, password_hash = @password_hash,
				password_change_required = @password_change_required, locked_until = @locked_until,
				generation = @generation,
				uninitialized = @uninitialized, owed_mail = @owed_mail, description = @description,
				access_token_type = @access_token_type, secret_hash = @secret_hash,
				secret_makers = ` + by.secret + `, password_makers = ` + by.password + `,
				email_makers = ` + by.email + `,
				sequence = position, changed_at = time
			from event where id = @id
		)`,
		Args: args,
	}
}

// UserNameFree reports whether no user of the instance has the login name.
func (s Store) UserNameFree(ctx context.Context, name string) (free bool, err error) {
	err = s.journal.DB.QueryRow(ctx, `select not exists (select from users where user_name_folded = @name)`,
		postgres.Args{"name": search.Fold(name)}).Scan(&free)
	return free, postgres.Fault(err)
}

// Users returns a query for the users of an organization.
func (s Store) Users(orgID string) *search.Query {
	return search.Select(userColumns, "users", "created_at, id").Where("org_id = ?", orgID)
}

// SearchUsers runs a query of Users.
func (s Store) SearchUsers(ctx context.Context, query *search.Query, p search.Page) (search.List[domain.User], error) {
	return search.Read[domain.User](ctx, s.journal.DB, query, p)
}
