package store

import (
	"bytes"
	"context"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const otpColumns = `f.user_id, u.org_id, f.state, f.secret, f.last_step, f.wrong_at, f.recovery_codes, f.sequence,
	f.created_at, f.changed_at, f.openid_only,
	array(select unnest(f.clients) union select unnest(f.code_clients) order by 1) as clients,
	u.email, u.email_verified, u.state as owner_state, u.uninitialized`

const (
	otpFrom = `otp_factors f join users u on u.id = f.user_id`
	readOTP = `select ` + otpColumns + ` from ` + otpFrom + ` where f.user_id = @user_id`
	lockOTP = readOTP + ` and u.org_id is not distinct from @org_id for update of f`
)

// CreateOTP writes the app of a user who may have one. It returns ErrOTPNotVerified if there is
// one, verified or not.
func (s Store) CreateOTP(ctx context.Context, f domain.OTP, added proto.Message) (resource.Record, error) {
	return s.createCredential(ctx, f.UserID, event.Statement{
		AggregateID: f.UserID, OrganizationID: f.OrgID,
		SQL: `factor as (
			insert into otp_factors (user_id, secret, state, openid_only, makers, clients, authorizations, sequence,
				created_at, changed_at)
			select @user_id, @secret, @state, @openid_only, ` + makers + `, ` + clients + `, ` + authorizations + `,
				position, time, time from event
		)`,
		Args: madeBy(ctx, f.UserID, postgres.Args{
			"user_id": f.UserID, "secret": f.Secret, "state": f.State, "openid_only": f.OpenIDOnly,
		}),
	}, func(u *domain.User) (NoticedChange, error) { return NoticedChange{Event: added}, u.MayHaveOTP() })
}

// madeAnew is SQL that sets who made an app. madeCodes sets who made its recovery codes: an application that made only
// them did not make the secret, so the end of its access ends only them.
var (
	madeAnew = `makers = ` + makers + `, clients = ` + clients + `, authorizations = ` + authorizations + `,
		code_clients = '{}', code_authorizations = '{}'`
	madeCodes = `makers = array(select unnest(f.makers) union select unnest(` + makers + `)),
		code_clients = ` + clients + `, code_authorizations = ` + authorizations
)

// ChangeOTP locks a user's app, calls change and saves the result. Because of the lock,
// simultaneous codes are checked one after another, each after the others were counted.
func (s Store) ChangeOTP(
	ctx context.Context, orgID, userID string, change func(*domain.OTP) (NoticedChange, error),
) (domain.OTP, error) {
	var made NoticedChange
	by, with := `makers = f.makers`, postgres.Args{}
	return event.Change(ctx, s.journal, event.Locked[domain.OTP]{
		LockFirst: lockUser(userID),
		Lock:      lockOTP, Args: postgres.Args{"org_id": orgID, "user_id": userID},
		NotFound: usersfault.ErrOTPNotFound,
		Write: func(f domain.OTP) event.Statement {
			save := event.Statement{
				AggregateID: f.UserID, OrganizationID: f.OrgID,
				SQL: `changed as (
					update otp_factors f set state = @state, secret = @secret, last_step = @last_step,
						wrong_at = @wrong_at, recovery_codes = @recovery_codes, openid_only = @openid_only,
						sequence = position, changed_at = time, ` + by + `
					from event where f.user_id = @user_id
				)`,
				Args: postgres.Args{
					"user_id": f.UserID, "state": f.State, "secret": f.Secret, "last_step": f.LastStep,
					"openid_only": f.OpenIDOnly,
					// An empty list must not be nil, which would be null.
					"wrong_at":       append([]time.Time{}, f.WrongAt...),
					"recovery_codes": append([][]byte{}, f.RecoveryCodes...),
				},
			}
			maps.Copy(save.Args, with)
			made.save(&save, f.UserID)
			return save
		},
	}, func(f *domain.OTP) (_ proto.Message, err error) {
		old := *f
		made, err = change(f)
		switch {
		case !bytes.Equal(f.Secret, old.Secret):
			by, with = madeAnew, madeBy(ctx, userID, with)
		case f.State != old.State, f.NewCodes(old): // whoever makes recovery codes knows them
			by, with = madeCodes, madeBy(ctx, userID, with)
		}
		return made.Event, err
	})
}

// RemoveOTP removes a user's app and its recovery codes. It calls removed with the removed app.
func (s Store) RemoveOTP(
	ctx context.Context, orgID, userID string, removed func(*domain.OTP) NoticedChange,
) (domain.OTP, error) {
	return s.removeOTP(ctx, lockOTP, postgres.Args{"org_id": orgID, "user_id": userID}, removed)
}

func (s Store) removeOTP(
	ctx context.Context, lock string, args postgres.Args, removed func(*domain.OTP) NoticedChange,
) (domain.OTP, error) {
	var made NoticedChange
	return event.Change(ctx, s.journal, event.Locked[domain.OTP]{
		Lock: lock, Args: args, NotFound: usersfault.ErrOTPNotFound,
		Write: func(f domain.OTP) event.Statement {
			save := event.Statement{
				AggregateID: f.UserID, OrganizationID: f.OrgID,
				SQL:  `gone as (delete from otp_factors f using event where f.user_id = @user_id)`,
				Args: postgres.Args{"user_id": f.UserID},
			}
			made.save(&save, f.UserID)
			return save
		},
	}, func(f *domain.OTP) (proto.Message, error) {
		made = removed(f)
		return made.Event, nil
	})
}

// SearchOTP lists a user's app, if there is one.
func (s Store) SearchOTP(ctx context.Context, orgID, userID string, p search.Page) (search.List[domain.OTP], error) {
	return search.Read[domain.OTP](ctx, s.journal.DB, search.Select(otpColumns, otpFrom, "f.created_at, f.user_id").
		Where("u.org_id = ?", orgID).Where("f.user_id = ?", userID), p)
}
