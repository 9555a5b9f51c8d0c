package users

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// UpdateUserName replaces a user's login name.
func (s Server) UpdateUserName(
	ctx context.Context, r *usersv1.UpdateUserNameRequest,
) (*usersv1.UpdateUserNameResponse, error) {
	details, err := s.NoteChange(ctx, base.OrgID(ctx), r.UserId, func(found *domain.User) (proto.Message, error) {
		if !found.Rename(r.UserName) {
			return nil, nil
		}
		return &usersv1.UserNameChanged{Changed: []string{"userName"}}, nil
	})
	return &usersv1.UpdateUserNameResponse{Details: details}, err
}

// UpdateProfile replaces a person's names, language and gender.
func (s Server) UpdateProfile(
	ctx context.Context, r *usersv1.UpdateProfileRequest,
) (*usersv1.UpdateProfileResponse, error) {
	return s.ReplaceProfile(ctx, base.OrgID(ctx), r.UserId, r)
}

// UpdateMyProfile replaces the caller's names, language and gender.
func (s Server) UpdateMyProfile(
	ctx context.Context, r *usersv1.UpdateMyProfileRequest,
) (*usersv1.UpdateProfileResponse, error) {
	c := caller.From(ctx)
	return s.ReplaceProfile(ctx, c.HomeOrganizationID, c.UserID, r)
}

// UpdatePhone replaces a person's phone.
func (s Server) UpdatePhone(ctx context.Context, r *usersv1.UpdatePhoneRequest) (*usersv1.UpdatePhoneResponse, error) {
	details, err := s.NoteChange(ctx, base.OrgID(ctx), r.UserId, func(found *domain.User) (proto.Message, error) {
		changed, err := found.ChangePhone(r.Phone, r.IsPhoneVerified)
		if len(changed) == 0 {
			return nil, err
		}
		return &usersv1.HumanPhoneChanged{Changed: changed}, err
	})
	return &usersv1.UpdatePhoneResponse{Details: details}, err
}

// RemovePhone removes a person's phone.
func (s Server) RemovePhone(ctx context.Context, r *usersv1.RemovePhoneRequest) (*usersv1.RemovePhoneResponse, error) {
	details, err := s.NoteChange(ctx, base.OrgID(ctx), r.UserId, func(found *domain.User) (proto.Message, error) {
		return &usersv1.HumanPhoneRemoved{}, found.RemovePhone()
	})
	return &usersv1.RemovePhoneResponse{Details: details}, err
}
