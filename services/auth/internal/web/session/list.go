package session

import (
	"context"
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/upstream"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// All returns the sessions of a session's person, the last begun first, at most 1000.
func (s Sessions) All(ctx context.Context, n domain.Session) ([]domain.Session, error) {
	list, err := s.Store.SearchSessions(ctx, n.Owner(), search.Page{Limit: search.DefaultLimit})
	return list.Rows, err
}

// mostApps is how many applications a page shows.
const mostApps = 200

// Apps returns the applications to which a session's person gave access, the last login first. One that does not exist
// any more has no name.
func (s Sessions) Apps(ctx context.Context, n domain.Session) ([]domain.AuthorizedApp, error) {
	list, err := s.Store.AuthorizedApps(ctx, n.Owner(), search.Page{Limit: mostApps})
	if err != nil {
		return nil, err
	}
	return list.Rows, s.Upstream.NameApps(ctx, list.Rows)
}

// EndOne ends one of the sessions of a session's person, and the authorizations that the person gave clients in it. It
// returns authfault.ErrSessionNotFound if the person has no such session.
func (s Sessions) EndOne(ctx context.Context, n domain.Session, sessionID string) error {
	_, err := s.Store.EndSession(ctx, n.OrgID, n.UserID, sessionID, &authv1.SessionEnded{UserId: n.UserID})
	return err
}

// EndOthers ends all other sessions of a session's person.
func (s Sessions) EndOthers(ctx context.Context, n domain.Session) error {
	_, err := s.Store.EndSessions(ctx, n.Owner(), n.ID, &authv1.SessionEnded{UserId: n.UserID})
	return err
}

// Renew keeps a browser logged in after its person has changed the password, which ended all sessions. The browser gets
// a new cookie. If another change has ended the session too, it stays ended.
func (s Sessions) Renew(w http.ResponseWriter, r *http.Request, n domain.Session) error {
	u, err := s.Upstream.User(r.Context(), n.UserID, upstream.Proof{Credential: n.Credential})
	if err != nil {
		return err
	}
	n.UserGeneration++ // only the change of the password is expected
	if !n.Alive(u) {
		return nil
	}
	n.ID, n.CreatedAt, n.UsedAt = resource.NewID(), s.Now(), s.Now() // notifications of the logout name the old id
	return s.add(w, r, n, s.Store.AddSession, n.ExpiresAt.Sub(s.Now()))
}
