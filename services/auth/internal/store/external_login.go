package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/authfault"
	"herald/shared/postgres"
)

const externalFields = `org_id, idp_id, request_id, language, again, confirmed, session_id, begun_at, expires_at`

// BeginExternalLogin stores a login at an identity provider under the hash of its cookie.
func (s Store) BeginExternalLogin(ctx context.Context, hash []byte, l domain.ExternalLogin) error {
	_, err := s.journal.DB.Exec(ctx, `insert into external_logins (hash, `+externalFields+`)
		values (@hash, `+postgres.Each("@", externalFields)+`)`, postgres.Args{
		"hash": hash, "org_id": l.OrgID, "idp_id": l.IdpID, "request_id": l.RequestID, "language": l.Language,
		"again": l.Again, "confirmed": l.Confirmed,
		"session_id": l.SessionID, "begun_at": l.BegunAt, "expires_at": l.ExpiresAt,
	})
	return postgres.Fault(err)
}

// ExternalLogin returns the login with a cookie of that hash, or authfault.ErrExternalLoginGone.
func (s Store) ExternalLogin(ctx context.Context, hash []byte) (domain.ExternalLogin, error) {
	l, err := postgres.One[domain.ExternalLogin](ctx, s.journal.DB,
		`select `+externalFields+` from external_logins where hash = @hash and expires_at > @now`,
		postgres.Args{"hash": hash, "now": s.journal.Now()})
	return l, postgres.Missing(err, authfault.ErrExternalLoginGone)
}

// EndExternalLogin removes a login, so that it can come back only once. It returns authfault.ErrExternalLoginGone if it
// is not there.
func (s Store) EndExternalLogin(ctx context.Context, hash []byte) error {
	done, err := s.journal.DB.Exec(ctx, `delete from external_logins where hash = @hash`, postgres.Args{"hash": hash})
	return wrote(done.RowsAffected(), err, authfault.ErrExternalLoginGone)
}

// ofIdp is a condition on the credential of a login: it is an account at the provider @id.
const ofIdp = `credential like 'idp:%' and starts_with(credential, 'idp:' || @id || ':')`

// DeleteOfIdp deletes a batch of the logins with accounts of a provider, and of the authorizations given in them. It
// reports whether there may be more.
func (s Store) DeleteOfIdp(ctx context.Context, ended event.Delivery) (more bool, err error) {
	return s.deleteWithSessions(ctx, ended, byLogin, ofIdp, ended.AggregateID)
}

// Note writes an event about an object of an organization. It changes nothing else.
func (s Store) Note(ctx context.Context, orgID, id string, happened proto.Message) error {
	_, err := s.journal.Create(ctx, happened, event.Statement{AggregateID: id, OrganizationID: orgID})
	return err
}
