// Package domain holds the rules of organizations, users and their credentials. It uses no database
// and no messages.
package domain

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"herald/shared/gen/fault/usersfault"
	"herald/shared/resource"
)

// OrgState is the state of an organization. Users of an inactive one get no tokens.
type OrgState int16

// The states of an organization, numbered as in its contract.
const (
	OrgActive OrgState = iota + 1
	OrgInactive
	// OrgRemoved is not in the contract. No caller finds the organization, and its users are being
	// removed.
	OrgRemoved
)

// Org is an organization, which has users and projects.
type Org struct {
	resource.Record
	ID            string
	Name          string
	PrimaryDomain string
	State         OrgState
	Generation    int64
}

// Rename changes the name. It returns false if it is the same.
func (o *Org) Rename(name string) bool {
	changed := o.Name != name
	o.Name = name
	return changed
}

// Deactivate makes the organization inactive, which ends the tokens of its users for good.
func (o *Org) Deactivate() error {
	if o.State != OrgActive {
		return usersfault.ErrOrgNotActive
	}
	o.State = OrgInactive
	o.Generation++
	return nil
}

// Reactivate makes the organization active again.
func (o *Org) Reactivate() error {
	if o.State == OrgActive {
		return usersfault.ErrOrgNotInactive
	}
	o.State = OrgActive
	return nil
}

// Remove makes the organization removed, in any state, and ends the tokens of its users like
// Deactivate.
func (o *Org) Remove() {
	o.State = OrgRemoved
	o.Generation++
}

// maxLabel is the longest label of a domain name (RFC 1035, 2.3.4).
const maxLabel = 63

// Slug returns a name as a label of a domain: lower-case letters, digits and single hyphens of ASCII. It
// returns "" for names without letters and digits.
func Slug(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(name)) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r): // the accent that NFKD took from its letter
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxLabel {
			break
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}
