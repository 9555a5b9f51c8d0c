package internals

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
)

// CheckExternalAccount returns the user who is linked to an account at an identity provider.
func (s Server) CheckExternalAccount(
	ctx context.Context, r *usersv1.CheckExternalAccountRequest,
) (*usersv1.CheckExternalAccountResponse, error) {
	found, err := s.Store.ExternalLogin(ctx, r.IdpId, r.ExternalUserId)
	if err == nil {
		err = found.CheckTenant(r.TenantId, r.OnlyTenant)
	}
	if err != nil {
		return nil, err
	}
	return &usersv1.CheckExternalAccountResponse{
		UserId: found.ID, OrgId: found.OrgID, State: usersv1.UserState(found.State),
		OrgActive: found.OrgState == domain.OrgActive, Generation: uint64(found.Generation),
		OrgGeneration: uint64(found.OrgGeneration), Credential: found.Credential, NeedsFactor: found.OTPReady,
	}, nil
}

// CreateExternalUser creates a user who is linked to an account at an identity provider.
func (s Server) CreateExternalUser(
	ctx context.Context, r *usersv1.CreateExternalUserRequest,
) (*usersv1.CreateExternalUserResponse, error) {
	o, err := s.Store.Org(ctx, r.OrgId)
	if err != nil {
		return nil, err
	}
	if o.State != domain.OrgActive {
		return nil, usersfault.ErrOrgNotActive
	}
	n, err := base.NewHuman(r.OrgId, r.User)
	if err == nil {
		err = s.CheckLinked(ctx, &n)
	}
	if err != nil {
		return nil, err
	}
	n.ID = resource.NewID()
	created := base.Imported(&n, s.Settle(&n))
	// The user is the only maker of the link, so that the link does not end when the user gets a role.
	_, err = s.Store.CreateUser(asPerson(ctx, n.ID, n.OrgID, ""), n, created)
	return &usersv1.CreateExternalUserResponse{UserId: n.ID}, err
}

// UpdateExternalUser replaces what the identity provider sends of a person who may log in: names, language, phone and
// address. A part that is refused keeps no other part from being replaced.
func (s Server) UpdateExternalUser(
	ctx context.Context, r *usersv1.UpdateExternalUserRequest,
) (*usersv1.UpdateExternalUserResponse, error) {
	found, err := s.Store.AnyUser(ctx, r.UserId)
	if err != nil {
		return nil, err
	}
	if found.State != domain.UserActive {
		return &usersv1.UpdateExternalUserResponse{}, nil
	}
	// The person is the maker of the address, as of the link.
	ctx = asPerson(ctx, found.ID, found.OrgID, "")
	_, names := s.ReplaceProfile(ctx, found.OrgID, found.ID, &usersv1.UpdateProfileRequest{
		FirstName: cmp.Or(r.FirstName, found.FirstName), LastName: cmp.Or(r.LastName, found.LastName),
		DisplayName: cmp.Or(r.DisplayName, found.DisplayName), NickName: cmp.Or(r.NickName, found.NickName),
		PreferredLanguage: cmp.Or(r.PreferredLanguage, found.PreferredLanguage),
		Gender:            usersv1.Gender(found.Gender),
	})
	return &usersv1.UpdateExternalUserResponse{}, errors.Join(names, s.takePhone(ctx, found, r.Phone),
		s.takeEmail(ctx, found, r))
}

func (s Server) takePhone(ctx context.Context, found domain.User, p *usersv1.Phone) error {
	if p == nil {
		return nil
	}
	_, err := s.NoteChange(ctx, found.OrgID, found.ID, func(u *domain.User) (proto.Message, error) {
		changed, err := u.ChangePhone(p.Phone, p.IsPhoneVerified || u.PhoneVerified && u.Phone == p.Phone)
		if len(changed) == 0 {
			return nil, err
		}
		return &usersv1.HumanPhoneChanged{Changed: changed}, err
	})
	return err
}

// takeEmail replaces the address, and sets it as verified if the provider says so. The same address is written as the
// user has it.
func (s Server) takeEmail(ctx context.Context, found domain.User, r *usersv1.UpdateExternalUserRequest) error {
	if r.Email == "" && r.VerifiedEmail == "" {
		return nil
	}
	if r.Email != "" {
		if err := domain.CheckEmail("email", r.Email); err != nil {
			return err
		}
	}
	_, _, err := s.ChangeUser(ctx, found.OrgID, found.ID, func(u *domain.User) (store.UserChange, error) {
		to := domain.Email{Address: u.Email, Verified: u.EmailVerified}
		if r.Email != "" && !strings.EqualFold(r.Email, u.Email) {
			to = domain.Email{Address: r.Email}
		}
		to.Verified = to.Verified || strings.EqualFold(r.VerifiedEmail, to.Address)
		if to.Address == u.Email && u.EmailOutranked { // the provider repeats what somebody else has chosen
			return store.UserChange{}, nil
		}
		return s.ChangeEmail(ctx, u, to)
	})
	return err
}

// LinkExternalAccount links a person to an account at an identity provider.
func (s Server) LinkExternalAccount(
	ctx context.Context, r *usersv1.LinkExternalAccountRequest,
) (*usersv1.LinkExternalAccountResponse, error) {
	found, err := s.ResolveCaller(ctx, &usersv1.ResolveCallerRequest{Subject: r.Subject})
	if err != nil {
		return nil, err
	}
	userID, orgID, credential := found.Caller.GetUserId(), found.Caller.GetHomeOrganizationId(), r.Subject.Credential
	links := base.NewIdpLinks([]*usersv1.IdpLink{r.Link})
	if err := s.CheckIdpLinks(ctx, orgID, links); err != nil {
		return nil, err
	}
	links[0].UserID, links[0].OrgID = userID, orgID
	linking := asPerson(ctx, userID, orgID, credential)
	_, err = s.Store.AddIdpLink(linking, links[0], func(n *domain.User) (store.NoticedChange, error) {
		added := &usersv1.IdpLinkAdded{IdpId: r.Link.ConfigId}
		change := store.NoticedChange{Event: added}
		change.Notice, added.Notice = base.CredentialNotice(n, domain.KindIdpLinkAdded, true)
		return change, n.MayLink(credential, int64(r.Subject.Generation))
	})
	return &usersv1.LinkExternalAccountResponse{}, err
}
