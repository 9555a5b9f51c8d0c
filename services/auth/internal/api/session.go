package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/domain"
	"herald/shared/caller"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// SearchMySessions lists the caller's sessions.
func (s Server) SearchMySessions(
	ctx context.Context, r *authv1.SearchMySessionsRequest,
) (*authv1.SearchMySessionsResponse, error) {
	ctx, u, p, err := s.asked(ctx, r.Query)
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
func (s Server) RemoveMySession(
	ctx context.Context, r *authv1.RemoveMySessionRequest,
) (*authv1.RemoveMySessionResponse, error) {
	userID := caller.From(ctx).UserID
	e, err := s.Store.EndSession(ctx, userID, r.SessionId, &authv1.SessionEnded{UserId: userID})
	if err != nil {
		return nil, err
	}
	return &authv1.RemoveMySessionResponse{Details: resource.Changed(e.At, e.OrgID)}, nil
}

func session(n domain.Session) *authv1.Session {
	return &authv1.Session{
		Id: n.ID, ClientAddress: n.Client, UserAgent: n.Agent, CreationDate: timestamppb.New(n.CreatedAt),
		LastUsedDate: timestamppb.New(n.UsedAt), ExpirationDate: timestamppb.New(n.ExpiresAt), Amr: n.AMR,
	}
}
