package login

import "herald/services/auth/internal/look"

// branded returns the visit with the branding that the client's project asks for, for a user of an organization. The
// organization is empty as long as nobody has entered the right password.
func (v visit) branded(userOrgID string) visit {
	v.Request = look.Branded(v.Request, v.client.BrandingOf(userOrgID))
	return v
}
