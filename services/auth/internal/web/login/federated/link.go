package federated

import (
	"cmp"
	"context"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/onbehalf"
	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Link links the account with which the browser came back to the person of the browser's session. The session must be
// the one that began this, and the person must have authenticated with the Herald password recently
// (domain.FreshLogin).
func (l *Logins) Link(ctx context.Context, a Arrived, s domain.Session) error {
	if s.ID == "" || s.ID != a.SessionID || s.OrgID != a.OrgID || !s.Own() || !s.Fresh(l.Now()) {
		return authfault.ErrExternalLoginGone
	}
	if !a.ProviderOptions.GetIsLinkingAllowed() {
		return authfault.ErrExternalLinkingRefused
	}
	// The person can remove the parameter that asks for a new authentication from the address. The account may then
	// belong to the person who used the browser before. A provider that says when it authenticated the person shows
	// that.
	if !a.MayLink(a.Account.AuthTime, l.Now()) {
		return authfault.ErrExternalLinkingStale
	}
	_, err := l.Users.LinkExternalAccount(ctx, &usersv1.LinkExternalAccountRequest{
		Subject: onbehalf.Subject(s),
		Link: &usersv1.IdpLink{
			ConfigId: a.IdpID, ExternalUserId: a.Account.ExternalUserId, TenantId: a.Account.TenantId,
			DisplayName: cmp.Or(a.Account.UserName, a.Account.DisplayName),
		},
	})
	switch {
	case fault.From(err).Code == fault.Unauthenticated: // the session has ended
		return authfault.ErrExternalLoginGone.Because(err)
	case err == nil:
		l.count.WithLabelValues("linked").Inc()
	}
	return err
}
