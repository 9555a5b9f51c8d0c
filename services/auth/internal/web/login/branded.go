package login

import (
	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
)

// branded returns the visit with the branding of the client's login, for a user of an organization. The organization is
// empty until the right password is entered.
func (v visit) branded(userOrgID string) visit {
	asked, err := domain.AskedOrg(v.asked.Scopes)
	if err != nil {
		asked = "" // the client's request is refused elsewhere
	}
	v.Request = frame.Branded(v.Request, v.client.BrandingIn(asked, userOrgID))
	return v
}
