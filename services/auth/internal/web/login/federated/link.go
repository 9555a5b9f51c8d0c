package federated

import (
	"cmp"
	"context"

	"herald/services/auth/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Link links the account with which somebody came back to the person of the browser's session. It must be the session
// that began this, of a person who has lately authenticated here.
func (l *Logins) Link(ctx context.Context, a Arrived, s domain.Session) error {
	if s.ID == "" || s.ID != a.SessionID || s.OrgID != a.OrgID || !s.Own() || !s.Fresh(l.Now()) {
		return authfault.ErrExternalLoginGone
	}
	if !a.ProviderOptions.GetIsLinkingAllowed() {
		return authfault.ErrExternalLinkingRefused
	}
	// The browser's user can take the wish for a new login out of the address. The account may then be that of whoever
	// used the browser before.
	if now := l.Now(); now.Sub(a.AuthTime(a.Account.AuthTime, now)) >= domain.FreshLogin {
		return authfault.ErrExternalLinkingStale
	}
	_, err := l.Users.LinkExternalAccount(ctx, &usersv1.LinkExternalAccountRequest{
		Subject: &usersv1.CheckedSubject{
			UserId: s.UserID, Generation: uint64(s.UserGeneration), Credential: s.Credential,
			Orgs: []*usersv1.CheckedOrg{{Id: s.OrgID, Generation: uint64(s.OrgGeneration)}},
		},
		Link: &usersv1.IdpLink{
			ConfigId: a.IdpID, ExternalUserId: a.Account.ExternalUserId, TenantId: a.Account.TenantId,
			DisplayName: cmp.Or(a.Account.UserName, a.Account.DisplayName),
		},
	})
	switch {
	case fault.From(err).Code == fault.Unauthenticated: // the login here has ended meanwhile
		return authfault.ErrExternalLoginGone.Because(err)
	case err == nil:
		l.count.WithLabelValues("linked").Inc()
	}
	return err
}
