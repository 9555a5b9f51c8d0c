package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/domain"
	"herald/shared/caller"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
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
	return &authv1.SearchMySessionsResponse{Details: list.Details(), Result: search.Each(list.Rows, mySession)}, nil
}

// RemoveMySession ends one of the caller's sessions.
func (s Server) RemoveMySession(
	ctx context.Context, r *authv1.RemoveMySessionRequest,
) (*authv1.RemoveMySessionResponse, error) {
	c := caller.From(ctx)
	details, err := s.endSession(ctx, c.HomeOrganizationID, c.UserID, r.SessionId)
	return &authv1.RemoveMySessionResponse{Details: details}, err
}

// SearchSessions lists the sessions of a user of the organization acted on.
func (s Server) SearchSessions(
	ctx context.Context, r *authv1.SearchSessionsRequest,
) (*authv1.SearchSessionsResponse, error) {
	p, err := search.Bounds(r.Query, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	u, err := s.user(ctx, r.UserId)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.SearchSessions(ctx, u, p)
	if err != nil {
		return nil, err
	}
	return &authv1.SearchSessionsResponse{Details: list.Details(), Result: search.Each(list.Rows, session)}, nil
}

// RemoveSession ends one of the sessions of a user of the organization acted on.
func (s Server) RemoveSession(
	ctx context.Context, r *authv1.RemoveSessionRequest,
) (*authv1.RemoveSessionResponse, error) {
	details, err := s.endSession(ctx, caller.From(ctx).OrganizationID, r.UserId, r.SessionId)
	return &authv1.RemoveSessionResponse{Details: details}, err
}

func (s Server) endSession(ctx context.Context, orgID, userID, id string) (*heraldv1.ObjectDetails, error) {
	e, err := s.Store.EndSession(ctx, orgID, userID, id, &authv1.SessionEnded{UserId: userID})
	if err != nil {
		return nil, err
	}
	return resource.Changed(e.At, e.OrgID), nil
}

// RemoveAllSessions ends all of them.
func (s Server) RemoveAllSessions(
	ctx context.Context, r *authv1.RemoveAllSessionsRequest,
) (*authv1.RemoveAllSessionsResponse, error) {
	u, err := s.user(ctx, r.UserId)
	if err != nil {
		return nil, err
	}
	ended, err := s.Store.EndSessions(ctx, u, "", &authv1.SessionEnded{UserId: u.ID})
	if err != nil {
		return nil, err
	}
	return &authv1.RemoveAllSessionsResponse{Ended: ended}, nil
}

// session is a session as administrators see it: the network and the browser, but not the address.
func session(n domain.Session) *authv1.Session {
	return &authv1.Session{
		Id: n.ID, Browser: domain.Browser(n.Agent), Network: n.Network(), CreationDate: timestamppb.New(n.CreatedAt),
		LastUsedDate: timestamppb.New(n.UsedAt), ExpirationDate: timestamppb.New(n.ExpiresAt), Amr: n.AMR,
	}
}

// mySession is a session as its person sees it.
func mySession(n domain.Session) *authv1.Session {
	shown := session(n)
	shown.ClientAddress, shown.UserAgent = n.Client, n.Agent
	return shown
}
