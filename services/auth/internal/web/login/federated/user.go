package federated

import (
	"context"

	"herald/services/auth/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	"herald/shared/gen/fault/usersfault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Account is an account for which a user can be created, as a page shows it.
type Account struct {
	Key, IdpID, IdpName            string
	DisplayName, UserName, Address string
}

// ErrAsk is returned for an account that is linked to no user, if the person must agree that a user is created.
type ErrAsk struct{ Account Account }

// Error implements error.
func (ErrAsk) Error() string { return "the person must agree" }

// User returns the user to whom the account of a login is linked. For an account that is linked to no user, it creates
// one or returns ErrAsk if the provider's options allow that.
func (l *Logins) User(ctx context.Context, a Arrived) (*usersv1.CheckExternalAccountResponse, error) {
	found, err := l.linked(ctx, a)
	options, account := a.ProviderOptions, a.Account
	if fault.From(err).ID == usersfault.ErrIdpLinkNotFound.ID &&
		(options.GetIsAutoCreation() || options.GetIsCreationAllowed()) {
		key := domain.AccountKey(account.TenantId, account.ExternalUserId)
		if !options.GetIsAutoCreation() && a.Confirmed != key {
			return nil, ErrAsk{Account{
				Key: key, IdpID: a.IdpID, IdpName: a.IdpName, DisplayName: account.FirstName + " " + account.LastName,
				UserName: account.UserName, Address: account.Email,
			}}
		}
		if err := l.create(ctx, a); err != nil {
			return nil, err
		}
		return l.linked(ctx, a)
	}
	if err == nil {
		l.update(ctx, found.UserId, a)
	}
	return found, err
}

func (l *Logins) linked(ctx context.Context, a Arrived) (*usersv1.CheckExternalAccountResponse, error) {
	return l.Users.CheckExternalAccount(ctx, &usersv1.CheckExternalAccountRequest{
		IdpId: a.IdpID, ExternalUserId: a.Account.ExternalUserId, TenantId: a.Account.TenantId,
		OnlyTenant: a.OnlyTenant,
	})
}

// create creates a user for an account. If another request does so at the same time, the link exists already.
func (l *Logins) create(ctx context.Context, a Arrived) error {
	account := a.Account
	_, err := l.Users.CreateExternalUser(ctx, &usersv1.CreateExternalUserRequest{
		OrgId: a.OrgID, User: &usersv1.HumanUserData{
			UserName: account.UserName,
			Profile: &usersv1.Profile{
				FirstName: account.FirstName, LastName: account.LastName, DisplayName: account.DisplayName,
				NickName: account.NickName, PreferredLanguage: account.PreferredLanguage,
			},
			Phone: phone(account),
			Email: &usersv1.Email{Email: account.Email, IsEmailVerified: account.EmailVerified},
			Idps: []*usersv1.IdpLink{{
				ConfigId: a.IdpID, ExternalUserId: account.ExternalUserId, TenantId: account.TenantId,
				DisplayName: account.UserName,
			}},
		},
	})
	switch f := fault.From(err); {
	case f.Code == fault.Invalid:
		return authfault.ErrExternalProfileIncomplete.Because(err)
	case f.ID == usersfault.ErrIdpLinkTaken.ID:
		return nil
	}
	return err
}

// phone returns the phone of an account, or nil.
func phone(account *idpv1.ExternalAccount) *usersv1.Phone {
	if account.Phone == "" {
		return nil
	}
	return &usersv1.Phone{Phone: account.Phone, IsPhoneVerified: account.PhoneVerified}
}

// update copies to the user what the provider's options say: all of the account, or only that the address is verified.
// If that fails, the login continues.
func (l *Logins) update(ctx context.Context, userID string, a Arrived) {
	account, r := a.Account, &usersv1.UpdateExternalUserRequest{UserId: userID}
	if account.EmailVerified {
		r.VerifiedEmail = account.Email
	}
	if a.ProviderOptions.GetIsAutoUpdate() {
		r.FirstName, r.LastName, r.DisplayName = account.FirstName, account.LastName, account.DisplayName
		r.NickName, r.PreferredLanguage = account.NickName, account.PreferredLanguage
		r.Phone, r.Email = phone(account), account.Email
	} else if r.VerifiedEmail == "" {
		return
	}
	if _, err := l.Users.UpdateExternalUser(ctx, r); err != nil && !fault.IsOutage(err) {
		l.Log.WarnContext(ctx, "a user is not updated at a login", "user", userID, "err", fault.From(err).ID)
	}
}
