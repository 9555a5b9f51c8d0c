package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/authfault"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/resource"
	"herald/shared/search"
)

const (
	sessionFields = `id, user_id, user_generation, org_id, org_generation, auth_time, amr, credential, client, agent,
	created_at, used_at, expires_at`
	loginFields = `user_id, user_generation, org_id, org_generation, credential, auth_time, amr, needs_factor,
	needs_password, expires_at`
)

// addSession is SQL that stores a session.
var addSession = `insert into sessions (hash, ` + sessionFields + `)
		values (@hash, ` + postgres.Each("@", sessionFields) + `)
		on conflict (id) do update set hash = excluded.hash, user_generation = excluded.user_generation,
			org_generation = excluded.org_generation, auth_time = excluded.auth_time, amr = excluded.amr,
			credential = excluded.credential, client = excluded.client, agent = excluded.agent,
			used_at = excluded.used_at, expires_at = excluded.expires_at
		where sessions.user_id = excluded.user_id`

func sessionArgs(hash []byte, n domain.Session) postgres.Args {
	return postgres.Args{
		"hash": hash, "id": n.ID, "user_id": n.UserID, "user_generation": n.UserGeneration, "org_id": n.OrgID,
		"org_generation": n.OrgGeneration, "auth_time": n.AuthTime, "amr": n.AMR, "credential": n.Credential,
		"client": n.Client, "agent": n.Agent, "created_at": n.CreatedAt, "used_at": n.UsedAt,
		"expires_at": n.ExpiresAt,
	}
}

// AddSession stores a session under the hash of its cookie. If a session with that id exists, the new one replaces it,
// and the old cookie is not valid any more.
func (s Store) AddSession(ctx context.Context, hash []byte, n domain.Session) error {
	_, err := s.journal.DB.Exec(ctx, addSession, sessionArgs(hash, n))
	return postgres.Fault(err)
}

// SessionsBeyond returns the sessions that a user has beyond the quota besides the session n: those of the oldest
// logins.
func (s Store) SessionsBeyond(ctx context.Context, n domain.Session) ([]domain.Session, error) {
	return postgres.All[domain.Session](ctx, s.journal.DB, `select `+sessionFields+` from sessions
		where user_id is not distinct from @user_id and id <> @id
		order by auth_time desc, id offset greatest((select most from quota_of(@quota, @org_id)) - 1, 0) limit 100`,
		postgres.Args{"user_id": n.UserID, "id": n.ID, "org_id": n.OrgID, "quota": quota.Sessions})
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

// UseSession stores when, from where and with which browser a session was last used. If the session has ended, nothing
// is written.
func (s Store) UseSession(ctx context.Context, n domain.Session) error {
	_, err := s.journal.DB.Exec(ctx, `update sessions set used_at = @used_at, client = @client, agent = @agent
		where id = @id and user_id is not distinct from @user_id`,
		postgres.Args{"id": n.ID, "user_id": n.UserID, "used_at": n.UsedAt, "client": n.Client, "agent": n.Agent})
	return postgres.Fault(err)
}

// SearchSessions lists a user's sessions that have not expired, without those that ended with a change of the user or
// the organization.
func (s Store) SearchSessions(
	ctx context.Context, u domain.Subject, p search.Page,
) (search.List[domain.Session], error) {
	return search.Read[domain.Session](ctx, s.journal.DB, search.Select(sessionFields, "sessions", "created_at, id").
		Where("user_id = ?", u.ID).Where("user_generation = ?", u.Generation).
		Where("org_id = ?", u.OrgID).Where("org_generation = ?", u.Orgs[u.OrgID].Generation).
		Where("expires_at > ?", s.journal.Now()), p)
}

// Ended is what has ended, with its organization and the position and time of its event.
type Ended struct {
	OrgID string
	At    resource.Record `db:"-"`
}

// Moved implements what event.Change needs of a row.
func (e *Ended) Moved(position int64, at time.Time) { e.At.Moved(position, at) }

// EndSession removes a session of a user of an organization, ends the authorizations that the user gave clients in it,
// and queues notifications of the clients that want them. It returns authfault.ErrSessionNotFound if the user has no
// such session, or it has expired.
func (s Store) EndSession(ctx context.Context, orgID, userID, id string, ended proto.Message) (Ended, error) {
	return event.Change(ctx, s.journal, event.Locked[Ended]{
		Lock: `select org_id from sessions where id = @id and user_id is not distinct from @user_id
			and org_id is not distinct from @org_id and expires_at > @now for update`,
		Args:     postgres.Args{"id": id, "user_id": userID, "org_id": orgID, "now": s.journal.Now()},
		NotFound: authfault.ErrSessionNotFound,
		Write: func(e Ended) event.Statement {
			end := event.Removal("sessions", id, e.OrgID)
			end.Along = endedEvents(`a.session_id = @id`)
			end.Args["by"] = domain.EndLogout
			end.Also(`authorizations_too as (delete from authorizations using event where session_id = @id)`, nil)
			end.Also(notify, postgres.Args{"locked": []string{id}, "ended_at": s.journal.Now()})
			return end
		},
	}, func(*Ended) (proto.Message, error) { return ended, nil })
}

// EndSessions ends, one after the other, all sessions of a user that SearchSessions lists, except the one with an id.
// It returns how many it has ended.
func (s Store) EndSessions(
	ctx context.Context, u domain.Subject, except string, ended proto.Message,
) (count uint32, err error) {
	for {
		list, err := s.SearchSessions(ctx, u, search.Page{Limit: search.DefaultLimit})
		if err != nil {
			return count, err
		}
		others := slices.DeleteFunc(list.Rows, func(n domain.Session) bool { return n.ID == except })
		if len(others) == 0 {
			return count, nil
		}
		for _, n := range others {
			switch _, err := s.EndSession(ctx, u.OrgID, u.ID, n.ID, ended); {
			case err == nil:
				count++
			case !errors.Is(err, authfault.ErrSessionNotFound): // if so, another request has ended it
				return count, err
			}
		}
	}
}

// BeginLogin stores a login under the hash of its cookie.
func (s Store) BeginLogin(ctx context.Context, hash []byte, l domain.Login) error {
	_, err := s.journal.DB.Exec(ctx, `insert into logins (hash, `+loginFields+`)
		values (@hash, `+postgres.Each("@", loginFields)+`)`, loginArgs(hash, l))
	return postgres.Fault(err)
}

// Login returns the login with a cookie of that hash, or authfault.ErrLoginGone.
func (s Store) Login(ctx context.Context, hash []byte) (domain.Login, error) {
	l, err := postgres.One[domain.Login](ctx, s.journal.DB,
		`select `+loginFields+` from logins where hash = @hash and expires_at > @now`,
		postgres.Args{"hash": hash, "now": s.journal.Now()})
	return l, postgres.Missing(err, authfault.ErrLoginGone)
}

// AdvanceLogin stores which steps of a login are still missing. It returns authfault.ErrLoginGone if the login is not
// there.
func (s Store) AdvanceLogin(ctx context.Context, hash []byte, l domain.Login) error {
	done, err := s.journal.DB.Exec(ctx, `update logins set (`+loginFields+`) = (`+postgres.Each("@", loginFields)+`)
		where hash = @hash`, loginArgs(hash, l))
	return wrote(done.RowsAffected(), err, authfault.ErrLoginGone)
}

// EndLogin removes a login. It returns authfault.ErrLoginGone if it is not there, so that each login makes one session.
func (s Store) EndLogin(ctx context.Context, hash []byte) error {
	done, err := s.journal.DB.Exec(ctx, `delete from logins where hash = @hash`, postgres.Args{"hash": hash})
	return wrote(done.RowsAffected(), err, authfault.ErrLoginGone)
}

func loginArgs(hash []byte, l domain.Login) postgres.Args {
	return postgres.Args{
		"hash": hash, "user_id": l.UserID, "user_generation": l.UserGeneration, "org_id": l.OrgID,
		"org_generation": l.OrgGeneration, "credential": l.Credential, "auth_time": l.AuthTime, "amr": l.AMR,
		"needs_factor": l.NeedsFactor, "needs_password": l.NeedsPassword, "expires_at": l.ExpiresAt,
	}
}
