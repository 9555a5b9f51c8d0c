package machines

import (
	"context"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/search"
	"herald/shared/secret"
)

// AddMachineKey adds a key with which a machine user authenticates. A new private key is only in
// the answer and is not stored.
func (s Server) AddMachineKey(
	ctx context.Context, r *usersv1.AddMachineKeyRequest,
) (*usersv1.AddMachineKeyResponse, error) {
	expiry, err := secret.Expiry(r.ExpirationDate, s.Now())
	if err != nil {
		return nil, err
	}
	k := domain.MachineKey{ID: resource.NewID(), UserID: r.UserId, OrgID: base.OrgID(ctx), ExpiresAt: expiry}
	pair, err := s.Pairs.For(ctx, r.PublicKey, func() error {
		found, err := s.Store.User(ctx, k.OrgID, k.UserID)
		if err != nil {
			return err
		}
		return found.MayHaveKeys()
	})
	if err != nil {
		return nil, err
	}
	record, err := s.Store.AddMachineKey(ctx, k, pair.Public, &usersv1.MachineKeyAdded{UserId: k.UserID})
	if err != nil {
		return nil, err
	}
	file, err := secret.KeyFile{
		Type: "serviceaccount", KeyID: k.ID, ExpirationDate: k.ExpiresAt, UserID: k.UserID,
	}.With(pair.Private)
	if err != nil {
		return nil, err
	}
	return &usersv1.AddMachineKeyResponse{
		KeyId: k.ID, KeyDetails: file, Details: resource.Details(record, k.OrgID),
	}, nil
}

// GetMachineKey returns the details of a machine user's key, also of an expired one.
func (s Server) GetMachineKey(
	ctx context.Context, r *usersv1.GetMachineKeyRequest,
) (*usersv1.GetMachineKeyResponse, error) {
	k, err := s.Store.MachineKey(ctx, base.OrgID(ctx), r.UserId, r.KeyId)
	return &usersv1.GetMachineKeyResponse{Key: machineKey(k)}, err
}

// SearchMachineKeys lists a machine user's keys. A person has none.
func (s Server) SearchMachineKeys(
	ctx context.Context, r *usersv1.SearchMachineKeysRequest,
) (*usersv1.SearchMachineKeysResponse, error) {
	p, err := s.PageOf(ctx, base.OrgID(ctx), r.UserId, r.Query)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.SearchMachineKeys(ctx, base.OrgID(ctx), r.UserId, p)
	return &usersv1.SearchMachineKeysResponse{
		Details: list.Details(), Result: search.Each(list.Rows, machineKey),
	}, err
}

// RemoveMachineKey removes a machine user's key.
func (s Server) RemoveMachineKey(
	ctx context.Context, r *usersv1.RemoveMachineKeyRequest,
) (*usersv1.RemoveMachineKeyResponse, error) {
	k, err := s.Store.RemoveMachineKey(ctx, base.OrgID(ctx), r.UserId, r.KeyId,
		&usersv1.MachineKeyRemoved{UserId: r.UserId})
	return &usersv1.RemoveMachineKeyResponse{Details: resource.Changed(k.Record, k.OrgID)}, err
}

func machineKey(k domain.MachineKey) *heraldv1.Key {
	return resource.Key(k.ID, k.Record, k.OrgID, k.ExpiresAt)
}
