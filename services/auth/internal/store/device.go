package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// AddDevice stores the request of a device. It returns false if another device has the user code.
func (s Store) AddDevice(ctx context.Context, d domain.NewDevice) (bool, error) {
	done, err := s.journal.DB.Exec(ctx, `insert into devices (
			hash, user_code, client_id, scopes, created_at, expires_at, asks_at, pause)
		values (@hash, @user_code, @client_id, @scopes, @now, @expires_at, @now, @pause)
		on conflict (user_code) do nothing`,
		postgres.Args{
			"hash": d.Hash, "user_code": d.UserCode, "client_id": d.ClientID, "scopes": d.Scopes,
			"now": s.journal.Now(), "expires_at": d.ExpiresAt, "pause": domain.DeviceInterval,
		})
	return done.RowsAffected() == 1, postgres.Fault(err)
}

const deviceColumns = `d.hash, d.user_code, d.client_id, d.scopes, d.created_at, d.expires_at as device_expires_at,
	d.denied, coalesce(d.authorization_id, '') as authorization_id`

// AskedDevice returns the request with a device code, and stores that the device has asked. If the device has not
// waited long enough, it must wait longer from then on. It returns domain.ErrUnknown for an unknown code.
func (s Store) AskedDevice(ctx context.Context, hash []byte) (domain.Device, error) {
	d, err := postgres.One[domain.Device](ctx, s.journal.DB, `with before as (
			select hash, asks_at > @now as soon from devices where hash = @hash for update
		)
		update devices d set
			pause = case when before.soon then d.pause + @interval else d.pause end,
			asks_at = @now + case when before.soon then d.pause + @interval else d.pause end
		from before where d.hash = before.hash
		returning `+deviceColumns+`, before.soon`,
		postgres.Args{"hash": hash, "now": s.journal.Now(), "interval": domain.DeviceInterval})
	return d, postgres.Missing(err, domain.ErrUnknown)
}

// Device returns the request with a user code, or with a hash, that waits for a person. It returns domain.ErrUnknown
// for one that is unknown, has expired, or was answered.
func (s Store) Device(ctx context.Context, userCode string, hash []byte) (domain.Device, error) {
	d, err := postgres.One[domain.Device](ctx, s.journal.DB, `select `+deviceColumns+`, false as soon
		from devices d
		where (d.user_code = @user_code or d.hash = @hash) and d.expires_at > @now and not d.denied
			and d.authorization_id is null`,
		postgres.Args{"user_code": userCode, "hash": hash, "now": s.journal.Now()})
	return d, postgres.Missing(err, domain.ErrUnknown)
}

// LetIn stores the authorization that a person gives a device. granted is the event. It returns domain.ErrUnknown, and
// writes nothing, if the request was answered or has expired meanwhile, or the person's session has ended.
func (s Store) LetIn(ctx context.Context, userCode string, a domain.Authorization, granted proto.Message) error {
	args := authorizationArgs(a)
	args["user_code"], args["now"], args["wants_logout"] = userCode, s.journal.Now(), a.WantsLogout
	err := s.grant(ctx, a, granted, event.Statement{
		If: inSession + ` and exists (
				select from devices
				where user_code = @user_code and expires_at > @now and not denied and authorization_id is null
				for update
			)`,
		SQL: issued + `, ` + wants + `, device as (
			update devices set authorization_id = issued.id from issued where user_code = @user_code
		)`,
		Args: args,
	})
	return postgres.Missing(err, domain.ErrUnknown)
}

// Deny stores that a person refused a device. It returns domain.ErrUnknown if the request was answered or has expired.
func (s Store) Deny(ctx context.Context, userCode string) error {
	done, err := s.journal.DB.Exec(ctx, `update devices set denied = true
		where user_code = @user_code and expires_at > @now and not denied and authorization_id is null`,
		postgres.Args{"user_code": userCode, "now": s.journal.Now()})
	return wrote(done.RowsAffected(), err, domain.ErrUnknown)
}

// RedeemDevice uses a device code, which can be used only once, and stores its tokens. It returns domain.ErrUnknown,
// and writes nothing, if it was used before.
func (s Store) RedeemDevice(ctx context.Context, a domain.Authorization, hash []byte, tokens []domain.NewToken) error {
	args := postgres.Args{"id": a.ID, "hash": hash, "expires_at": a.ExpiresAt}
	writes := newTokens(args, s.journal.Now(), tokens)
	done, err := s.journal.DB.Exec(ctx, `with `+locked+`, used as (
			delete from devices d using locked where d.authorization_id = locked.id and d.hash = @hash
			returning d.authorization_id
		), issued as (
			update authorizations a set expires_at = @expires_at from used where a.id = used.authorization_id
			returning a.id
		), `+writes+` select from issued`, args)
	return wrote(done.RowsAffected(), err, domain.ErrUnknown)
}

// Authorization returns an authorization by its id. It returns domain.ErrUnknown for one that has ended.
func (s Store) Authorization(ctx context.Context, id string) (domain.Authorization, error) {
	a, err := postgres.One[domain.Authorization](ctx, s.journal.DB,
		`select `+authorizationColumns+` from authorizations a where a.id = @id`, postgres.Args{"id": id})
	return a, postgres.Missing(err, domain.ErrUnknown)
}
