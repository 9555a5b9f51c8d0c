package apps

import (
	"context"

	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/search"
	"herald/shared/secret"
)

// AddAppKey adds a key with which an application authenticates. An application may have keys before
// its configuration uses them.
func (s Server) AddAppKey(
	ctx context.Context, r *projectsv1.AddAppKeyRequest,
) (*projectsv1.AddAppKeyResponse, error) {
	expiry, err := secret.Expiry(r.ExpirationDate, s.Store.Now())
	if err != nil {
		return nil, err
	}
	k := domain.AppKey{
		ID: resource.NewID(), ApplicationID: r.AppId, ProjectID: r.ProjectId, OrgID: base.OrgID(ctx), ExpiresAt: expiry,
	}
	pair, err := s.Pairs.For(ctx, r.PublicKey, func() error {
		_, err := s.Store.Application(ctx, k.OrgID, k.ProjectID, k.ApplicationID)
		return err
	})
	if err != nil {
		return nil, err
	}
	record, err := s.Store.AddAppKey(ctx, k, pair.Public, &projectsv1.ApplicationKeyAdded{ProjectId: k.ProjectID,
		KeyId: k.ID})
	if err != nil {
		return nil, err
	}
	file, err := secret.KeyFile{
		Type: "application", KeyID: k.ID, ExpirationDate: k.ExpiresAt, AppID: r.AppId, ClientID: r.AppId,
	}.With(pair.Private)
	if err != nil {
		return nil, err
	}
	return &projectsv1.AddAppKeyResponse{KeyId: k.ID, KeyDetails: file, Details: resource.Details(record, k.OrgID)}, nil
}

// GetAppKey returns the description of an application's key. Expired keys exist until they are
// removed.
func (s Server) GetAppKey(
	ctx context.Context, r *projectsv1.GetAppKeyRequest,
) (*projectsv1.GetAppKeyResponse, error) {
	k, err := s.Store.AppKey(ctx, base.OrgID(ctx), r.ProjectId, r.AppId, r.KeyId)
	if err != nil {
		return nil, err
	}
	return &projectsv1.GetAppKeyResponse{Key: appKey(k)}, nil
}

// SearchAppKeys lists an application's keys.
func (s Server) SearchAppKeys(
	ctx context.Context, r *projectsv1.SearchAppKeysRequest,
) (*projectsv1.SearchAppKeysResponse, error) {
	p, err := search.Bounds(r.Query, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	if _, err := s.Store.Application(ctx, base.OrgID(ctx), r.ProjectId, r.AppId); err != nil {
		return nil, err
	}
	list, err := s.Store.SearchAppKeys(ctx, base.OrgID(ctx), r.ProjectId, r.AppId, p)
	if err != nil {
		return nil, err
	}
	return &projectsv1.SearchAppKeysResponse{Details: list.Details(), Result: search.Each(list.Rows, appKey)}, nil
}

// RemoveAppKey ends an application's key.
func (s Server) RemoveAppKey(
	ctx context.Context, r *projectsv1.RemoveAppKeyRequest,
) (*projectsv1.RemoveAppKeyResponse, error) {
	k, err := s.Store.RemoveAppKey(ctx, base.OrgID(ctx), r.ProjectId, r.AppId, r.KeyId,
		&projectsv1.ApplicationKeyRemoved{ProjectId: r.ProjectId, KeyId: r.KeyId})
	if err != nil {
		return nil, err
	}
	return &projectsv1.RemoveAppKeyResponse{Details: resource.Changed(k.Record, k.OrgID)}, nil
}

func appKey(k domain.AppKey) *heraldv1.Key { return resource.Key(k.ID, k.Record, k.OrgID, k.ExpiresAt) }
