// Package api answers people's own requests to the Auth service over the REST API.
package api

import (
	"context"
	"errors"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/caller"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// Sessions has the service's methods for the caller's logins in browsers.
type Sessions struct {
	Store    store.Store
	Upstream *upstream.Services
	// MaxLimit is the largest page of a search.
	MaxLimit int64
}

// SearchMySessions lists the caller's sessions.
func (s Sessions) SearchMySessions(
	ctx context.Context, r *authv1.SearchMySessionsRequest,
) (*authv1.SearchMySessionsResponse, error) {
	p, err := search.Bounds(r.Query, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	u, err := user(rpc.OnOwnBehalf(ctx), s.Upstream)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.SearchSessions(ctx, u, p)
	if err != nil {
		return nil, err
	}
	return &authv1.SearchMySessionsResponse{Details: list.Details(), Result: search.Each(list.Rows, session)}, nil
}

// RemoveMySession ends one of the caller's sessions.
func (s Sessions) RemoveMySession(
	ctx context.Context, r *authv1.RemoveMySessionRequest,
) (*authv1.RemoveMySessionResponse, error) {
	userID := caller.From(ctx).UserID
	e, err := s.Store.EndSession(ctx, userID, r.SessionId, &authv1.SessionEnded{UserId: userID})
	if err != nil {
		return nil, err
	}
	return &authv1.RemoveMySessionResponse{Details: resource.Changed(e.End, e.OrgID)}, nil
}

// user returns the caller. For a caller who has just been removed it is empty, so that nothing is found.
func user(ctx context.Context, o *upstream.Services) (domain.Subject, error) {
	u, err := o.User(ctx, caller.From(ctx).UserID, upstream.Proof{})
	if errors.Is(err, upstream.ErrNoUser) {
		err = nil
	}
	return u, err
}

func session(n domain.Session) *authv1.Session {
	return &authv1.Session{
		Id: n.ID, ClientAddress: n.Client, UserAgent: n.Agent, CreationDate: timestamppb.New(n.CreatedAt),
		LastUsedDate: timestamppb.New(n.UsedAt), ExpirationDate: timestamppb.New(n.ExpiresAt), Amr: n.AMR,
	}
}
