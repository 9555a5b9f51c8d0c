package domain

import (
	"cmp"
	"fmt"
	"slices"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/resource"
)

// IdpLink is an account at an identity provider with which a user logs in.
type IdpLink struct {
	resource.Record
	UserID         string
	OrgID          string // the user's
	IdpID          string
	ExternalUserID string
	// TenantID is the directory's tenant to which the account belongs: its id or, if the provider named it so, its
	// domain. It is empty if it is not known.
	TenantID    string
	DisplayName string
}

// Provider is an identity provider of the organization of a user.
type Provider struct {
	// OnlyTenant is the only tenant that the provider admits, or "".
	OnlyTenant string
	// EmailVerified reports whether the provider's addresses count as verified.
	EmailVerified bool
}

// VerifiesEmail reports whether a provider of one of the links says that addresses are verified.
func VerifiesEmail(links []IdpLink, known map[string]Provider) bool {
	return slices.ContainsFunc(links, func(l IdpLink) bool { return known[l.IdpID].EmailVerified })
}

// CheckIdpLinks returns a fault if two links name the same account, or if a link names a provider that is not known.
// A link without a tenant gets the only tenant that its provider admits.
func CheckIdpLinks(links []IdpLink, known map[string]Provider) error {
	seen := map[[2]string]bool{}
	for i, l := range links {
		account := [2]string{l.IdpID, l.ExternalUserID}
		if seen[account] {
			f := usersfault.ErrIdpLinkTwice.Say("idps[%d]: another link names the same account", i)
			return f.On(fmt.Sprintf("idps[%d]", i), "names the same account as another link")
		}
		provider, there := known[l.IdpID]
		if !there {
			path := fmt.Sprintf("idps[%d].configId", i)
			f := usersfault.ErrIdpUnknown.Say("%s: there is no identity provider %q", path, l.IdpID)
			f.Fields = []fault.Field{{Path: path, Reason: "is not an identity provider of the organization"}}
			return f
		}
		seen[account] = true
		links[i].TenantID = cmp.Or(l.TenantID, provider.OnlyTenant)
	}
	return nil
}

// MayLink returns a fault unless the user has logged in with the password and that login is still valid. generation is
// that of the user at the login. After a login with a linked account, no other account can be linked.
func (u User) MayLink(credential string, generation int64) error {
	if u.Type != Human || u.State != UserActive || u.Generation != generation || credential != CredentialPassword {
		return fault.ErrTokenInvalid
	}
	return nil
}
