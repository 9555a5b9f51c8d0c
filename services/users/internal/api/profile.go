package api

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// UpdateUserName replaces a user's login name.
func (u Users) UpdateUserName(
	ctx context.Context, r *usersv1.UpdateUserNameRequest,
) (*usersv1.UpdateUserNameResponse, error) {
	details, err := u.noteChange(ctx, orgID(ctx), r.UserId, func(found *domain.User) (proto.Message, error) {
		if !found.Rename(r.UserName) {
			return nil, nil
		}
		return &usersv1.UserNameChanged{Changed: []string{"userName"}}, nil
	})
	return &usersv1.UpdateUserNameResponse{Details: details}, err
}

// UpdateProfile replaces a person's names, language and gender.
func (u Users) UpdateProfile(
	ctx context.Context, r *usersv1.UpdateProfileRequest,
) (*usersv1.UpdateProfileResponse, error) {
	return u.updateProfile(ctx, orgID(ctx), r.UserId, r)
}

// UpdateMyProfile replaces the caller's names, language and gender.
func (u Users) UpdateMyProfile(
	ctx context.Context, r *usersv1.UpdateMyProfileRequest,
) (*usersv1.UpdateProfileResponse, error) {
	c := caller.From(ctx)
	return u.updateProfile(ctx, c.HomeOrganizationID, c.UserID, r)
}

func (u Users) updateProfile(ctx context.Context, orgID, userID string, r interface {
	GetFirstName() string
	GetLastName() string
	GetNickName() string
	GetDisplayName() string
	GetPreferredLanguage() string
	GetGender() usersv1.Gender
}) (*usersv1.UpdateProfileResponse, error) {
	language, err := domain.Language("preferredLanguage", r.GetPreferredLanguage())
	if err != nil {
		return nil, err
	}
	to := domain.Profile{
		FirstName: r.GetFirstName(), LastName: r.GetLastName(), NickName: r.GetNickName(),
		DisplayName: r.GetDisplayName(), PreferredLanguage: language, Gender: int16(r.GetGender()),
	}
	details, err := u.noteChange(ctx, orgID, userID, func(found *domain.User) (proto.Message, error) {
		changed, err := found.ChangeProfile(to)
		if len(changed) == 0 {
			return nil, err
		}
		return &usersv1.HumanProfileChanged{Changed: changed}, err
	})
	return &usersv1.UpdateProfileResponse{Details: details}, err
}

// UpdatePhone replaces a person's phone.
func (u Users) UpdatePhone(ctx context.Context, r *usersv1.UpdatePhoneRequest) (*usersv1.UpdatePhoneResponse, error) {
	details, err := u.noteChange(ctx, orgID(ctx), r.UserId, func(found *domain.User) (proto.Message, error) {
		changed, err := found.ChangePhone(r.Phone, r.IsPhoneVerified)
		if len(changed) == 0 {
			return nil, err
		}
		return &usersv1.HumanPhoneChanged{Changed: changed}, err
	})
	return &usersv1.UpdatePhoneResponse{Details: details}, err
}

// RemovePhone removes a person's phone.
func (u Users) RemovePhone(ctx context.Context, r *usersv1.RemovePhoneRequest) (*usersv1.RemovePhoneResponse, error) {
	details, err := u.noteChange(ctx, orgID(ctx), r.UserId, func(found *domain.User) (proto.Message, error) {
		return &usersv1.HumanPhoneRemoved{}, found.RemovePhone()
	})
	return &usersv1.RemovePhoneResponse{Details: details}, err
}

// noteChange changes a user in a way that concerns no code.
func (u Users) noteChange(
	ctx context.Context, orgID, userID string, change func(*domain.User) (proto.Message, error),
) (*heraldv1.ObjectDetails, error) {
	details, _, err := u.changeUser(ctx, orgID, userID, func(found *domain.User) (store.UserChange, error) {
		happened, err := change(found)
		return store.UserChange{Event: happened}, err
	})
	return details, err
}
