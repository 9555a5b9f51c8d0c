package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

const (
	sessionFields = `id, user_id, user_generation, org_id, org_generation, auth_time, amr, credential, client, agent,
	created_at, used_at, expires_at`
	loginFields = `user_id, user_generation, org_id, org_generation, credential, auth_time, amr, needs_factor,
	needs_password, expires_at`
)

// AddSession writes the session of a login, by the hash of its cookie. If there is a session with that id, the login
// replaces it: its older cookie is worth nothing any more.
func (s Store) AddSession(ctx context.Context, hash []byte, n domain.Session) error {
	_, err := s.journal.DB.Exec(ctx, `insert into sessions (hash, `+sessionFields+`)
		values (@hash, `+postgres.Each("@", sessionFields)+`)
		on conflict (id) do update set hash = excluded.hash, user_generation = excluded.user_generation,
			org_generation = excluded.org_generation, auth_time = excluded.auth_time, amr = excluded.amr,
			credential = excluded.credential, client = excluded.client, agent = excluded.agent,
			used_at = excluded.used_at, expires_at = excluded.expires_at
		where sessions.user_id = excluded.user_id`,
		postgres.Args{
			"hash": hash, "id": n.ID, "user_id": n.UserID, "user_generation": n.UserGeneration, "org_id": n.OrgID,
			"org_generation": n.OrgGeneration, "auth_time": n.AuthTime, "amr": n.AMR, "credential": n.Credential,
			"client": n.Client, "agent": n.Agent, "created_at": n.CreatedAt, "used_at": n.UsedAt,
			"expires_at": n.ExpiresAt,
		})
	return postgres.Fault(err)
}

// Session returns the session with a cookie of that hash. It returns false if there is none, or it has expired.
// Whether its user is still active is not decided here.
func (s Store) Session(ctx context.Context, hash []byte) (domain.Session, bool, error) {
	n, err := postgres.One[domain.Session](ctx, s.journal.DB,
		`select `+sessionFields+` from sessions where hash = @hash and expires_at > @now`,
		postgres.Args{"hash": hash, "now": s.journal.Now()})
	if errors.Is(err, pgx.ErrNoRows) {
		return domain.Session{}, false, nil
	}
	return n, err == nil, postgres.Fault(err)
}

// EndSession removes a session, and ends what its person gave clients with it. If it has ended already, nothing is
// written.
func (s Store) EndSession(ctx context.Context, n domain.Session, ended proto.Message) error {
	_, err := event.Change(ctx, s.journal, event.Locked[ending]{
		Lock: `with locked as (select id from sessions where id = @id for update)
			select count(*) > 0 as there from locked`,
		Args: postgres.Args{"id": n.ID},
		Write: func(ending) event.Statement {
			end := event.Removal("sessions", n.ID, n.OrgID)
			end.Also(`authorizations_too as (delete from authorizations using event where session_id = @id)`, nil)
			return end
		},
	}, func(e *ending) (proto.Message, error) {
		if !e.There {
			return nil, nil
		}
		return ended, nil
	})
	return err
}

// BeginLogin writes a login by the hash of its cookie.
func (s Store) BeginLogin(ctx context.Context, hash []byte, l domain.Login) error {
	_, err := s.journal.DB.Exec(ctx, `insert into logins (hash, `+loginFields+`)
		values (@hash, `+postgres.Each("@", loginFields)+`)`, loginArgs(hash, l))
	return postgres.Fault(err)
}

// Login returns the login with a cookie of that hash, or domain.ErrLoginGone.
func (s Store) Login(ctx context.Context, hash []byte) (domain.Login, error) {
	l, err := postgres.One[domain.Login](ctx, s.journal.DB,
		`select `+loginFields+` from logins where hash = @hash and expires_at > @now`,
		postgres.Args{"hash": hash, "now": s.journal.Now()})
	return l, postgres.Missing(err, domain.ErrLoginGone)
}

// AdvanceLogin writes what is still missing of a login. It returns domain.ErrLoginGone if the login is not there.
func (s Store) AdvanceLogin(ctx context.Context, hash []byte, l domain.Login) error {
	done, err := s.journal.DB.Exec(ctx, `update logins set (`+loginFields+`) = (`+postgres.Each("@", loginFields)+`)
		where hash = @hash`, loginArgs(hash, l))
	return wrote(done.RowsAffected(), err, domain.ErrLoginGone)
}

// EndLogin removes a login. It returns domain.ErrLoginGone if it is not there, so that each login makes one session.
func (s Store) EndLogin(ctx context.Context, hash []byte) error {
	done, err := s.journal.DB.Exec(ctx, `delete from logins where hash = @hash`, postgres.Args{"hash": hash})
	return wrote(done.RowsAffected(), err, domain.ErrLoginGone)
}

func loginArgs(hash []byte, l domain.Login) postgres.Args {
	return postgres.Args{
		"hash": hash, "user_id": l.UserID, "user_generation": l.UserGeneration, "org_id": l.OrgID,
		"org_generation": l.OrgGeneration, "credential": l.Credential, "auth_time": l.AuthTime, "amr": l.AMR,
		"needs_factor": l.NeedsFactor, "needs_password": l.NeedsPassword, "expires_at": l.ExpiresAt,
	}
}
