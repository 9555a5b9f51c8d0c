package credentials

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/search"
	"herald/shared/secret"
)

// AddPersonalAccessToken creates a token for a user of the organization acted on.
func (s Server) AddPersonalAccessToken(
	ctx context.Context, r *usersv1.AddPersonalAccessTokenRequest,
) (*usersv1.AddPersonalAccessTokenResponse, error) {
	return s.addToken(ctx, domain.PAT{UserID: r.UserId, OrgID: base.OrgID(ctx), Name: r.Name}, r.ExpirationDate)
}

// AddMyPersonalAccessToken creates a token for the caller.
func (s Server) AddMyPersonalAccessToken(
	ctx context.Context, r *usersv1.AddMyPersonalAccessTokenRequest,
) (*usersv1.AddPersonalAccessTokenResponse, error) {
	c := caller.From(ctx)
	return s.addToken(ctx, domain.PAT{UserID: c.UserID, OrgID: c.HomeOrganizationID, Name: r.Name}, r.ExpirationDate)
}

// addToken adds a token with that user, organization and name.
func (s Server) addToken(
	ctx context.Context, t domain.PAT, expiry *timestamppb.Timestamp,
) (_ *usersv1.AddPersonalAccessTokenResponse, err error) {
	if t.ExpiresAt, err = secret.Expiry(expiry, s.Now()); err != nil {
		return nil, err
	}
	t.ID, t.Scopes = resource.NewID(), domain.PATScopes()
	token := secret.PersonalAccessToken.New()
	record, err := s.Store.CreatePAT(ctx, t, secret.Hash(token.Reveal()), func(u *domain.User) store.NoticedChange {
		added := &usersv1.PersonalAccessTokenAdded{UserId: u.ID}
		change := store.NoticedChange{Event: added}
		change.Notice, added.Notice = base.CredentialNotice(u, domain.KindPATAdded, caller.From(ctx).UserID == u.ID)
		return change
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.AddPersonalAccessTokenResponse{
		TokenId: t.ID, Token: token.Reveal(), Details: resource.Details(record, t.OrgID),
	}, nil
}

// GetPersonalAccessToken returns the details of a token.
func (s Server) GetPersonalAccessToken(
	ctx context.Context, r *usersv1.GetPersonalAccessTokenRequest,
) (*usersv1.GetPersonalAccessTokenResponse, error) {
	t, err := s.Store.PAT(ctx, base.OrgID(ctx), r.UserId, r.TokenId)
	return &usersv1.GetPersonalAccessTokenResponse{Pat: token(t)}, err
}

// SearchPersonalAccessTokens lists a user's tokens.
func (s Server) SearchPersonalAccessTokens(
	ctx context.Context, r *usersv1.SearchPersonalAccessTokensRequest,
) (*usersv1.SearchPersonalAccessTokensResponse, error) {
	return s.searchTokens(ctx, base.OrgID(ctx), r.UserId, r.Query)
}

// SearchMyPersonalAccessTokens lists the caller's tokens.
func (s Server) SearchMyPersonalAccessTokens(
	ctx context.Context, r *usersv1.SearchMyPersonalAccessTokensRequest,
) (*usersv1.SearchPersonalAccessTokensResponse, error) {
	c := caller.From(ctx)
	return s.searchTokens(ctx, c.HomeOrganizationID, c.UserID, r.Query)
}

func (s Server) searchTokens(
	ctx context.Context, orgID, userID string, q *heraldv1.ListQuery,
) (*usersv1.SearchPersonalAccessTokensResponse, error) {
	p, err := s.PageOf(ctx, orgID, userID, q)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.SearchPATs(ctx, orgID, userID, p)
	return &usersv1.SearchPersonalAccessTokensResponse{
		Details: list.Details(), Result: search.Each(list.Rows, token),
	}, err
}

// RemovePersonalAccessToken ends a user's token.
func (s Server) RemovePersonalAccessToken(
	ctx context.Context, r *usersv1.RemovePersonalAccessTokenRequest,
) (*usersv1.RemovePersonalAccessTokenResponse, error) {
	return s.removeToken(ctx, base.OrgID(ctx), r.UserId, r.TokenId)
}

// RemoveMyPersonalAccessToken ends one of the caller's tokens.
func (s Server) RemoveMyPersonalAccessToken(
	ctx context.Context, r *usersv1.RemoveMyPersonalAccessTokenRequest,
) (*usersv1.RemovePersonalAccessTokenResponse, error) {
	c := caller.From(ctx)
	return s.removeToken(ctx, c.HomeOrganizationID, c.UserID, r.TokenId)
}

func (s Server) removeToken(
	ctx context.Context, orgID, userID, tokenID string,
) (*usersv1.RemovePersonalAccessTokenResponse, error) {
	t, err := s.Store.RemovePAT(ctx, orgID, userID, tokenID, &usersv1.PersonalAccessTokenRemoved{UserId: userID})
	return &usersv1.RemovePersonalAccessTokenResponse{Details: resource.Changed(t.Record, orgID)}, err
}

func token(t domain.PAT) *usersv1.PersonalAccessToken {
	shown := &usersv1.PersonalAccessToken{Id: t.ID, Name: t.Name, ClientId: t.ClientID,
		Details: resource.Details(t.Record, t.OrgID), ExpirationDate: timestamppb.New(t.ExpiresAt), Scopes: t.Scopes}
	if t.LastUsedAt != nil {
		shown.LastUsedDate = timestamppb.New(*t.LastUsedAt)
	}
	return shown
}
