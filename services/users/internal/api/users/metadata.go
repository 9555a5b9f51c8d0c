package users

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// SetUserMetadata sets the value of a metadata key of a user.
func (s Server) SetUserMetadata(
	ctx context.Context, r *usersv1.SetUserMetadataRequest,
) (*usersv1.SetUserMetadataResponse, error) {
	added := false
	set := func(m *domain.Metadata) (proto.Message, error) {
		added = m.Sequence == 0
		if !m.Set(r.Value) {
			return nil, nil
		}
		return &usersv1.UserMetadataSet{Key: m.Key}, nil
	}
	m, err := s.Store.SetMetadata(ctx, base.OrgID(ctx), r.UserId, r.Key, set)
	if err != nil {
		return nil, err
	}
	if added {
		m.CreatedAt = m.ChangedAt
		return &usersv1.SetUserMetadataResponse{Details: resource.Details(m.Record, m.OrgID)}, nil
	}
	return &usersv1.SetUserMetadataResponse{Details: resource.Changed(m.Record, m.OrgID)}, nil
}

// GetUserMetadata returns the value of a metadata key of a user.
func (s Server) GetUserMetadata(
	ctx context.Context, r *usersv1.GetUserMetadataRequest,
) (*usersv1.GetUserMetadataResponse, error) {
	m, err := s.Store.Metadata(ctx, base.OrgID(ctx), r.UserId, r.Key)
	return &usersv1.GetUserMetadataResponse{Metadata: metadata(m)}, err
}

// RemoveUserMetadata removes a metadata key of a user.
func (s Server) RemoveUserMetadata(
	ctx context.Context, r *usersv1.RemoveUserMetadataRequest,
) (*usersv1.RemoveUserMetadataResponse, error) {
	m, err := s.Store.RemoveMetadata(ctx, base.OrgID(ctx), r.UserId, r.Key, &usersv1.UserMetadataRemoved{Key: r.Key})
	return &usersv1.RemoveUserMetadataResponse{Details: resource.Changed(m.Record, m.OrgID)}, err
}

// SearchUserMetadata lists the metadata of a user.
func (s Server) SearchUserMetadata(
	ctx context.Context, r *usersv1.SearchUserMetadataRequest,
) (*usersv1.SearchUserMetadataResponse, error) {
	p, err := s.PageOf(ctx, base.OrgID(ctx), r.UserId, r.Query)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.SearchMetadata(ctx, base.OrgID(ctx), r.UserId, p)
	return &usersv1.SearchUserMetadataResponse{Details: list.Details(), Result: search.Each(list.Rows, metadata)}, err
}

func metadata(m domain.Metadata) *usersv1.UserMetadata {
	return &usersv1.UserMetadata{Key: m.Key, Value: m.Value, Details: resource.Details(m.Record, m.OrgID)}
}
