package domain

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pquerna/otp/totp"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/secret"
)

// Digest has a keyed digest of each field of the first import of a user, to recognize a repeated
// import. The values cannot be computed from it.
type Digest map[string]string

// NewDigest returns the digest of fields by their JSON paths, without empty fields.
func NewDigest(lasting Lasting, userID string, fields map[string]string) Digest {
	d, mac := Digest{}, secret.MACs(lasting.digest)
	for path, value := range fields {
		if value != "" {
			d[path] = hex.EncodeToString(mac(userID, path, value)[:16])
		}
	}
	return d
}

// Compare returns nil for equal digests, else a fault that names the different fields.
func (d Digest) Compare(other Digest) error {
	var differ []string
	all := maps.Clone(d)
	maps.Copy(all, other)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if d[path] != other[path] {
			differ = append(differ, path)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	f := usersfault.ErrImportDiffers.Say("The user id was imported with another %s", strings.Join(differ, ", "))
	for _, path := range differ {
		f = f.On(path, "differs from the first import")
	}
	return f
}

// Known is an existing user whose id is in an import.
type Known struct {
	OrgID string
	// Digest is nil for a user who was not imported with a chosen id.
	Digest Digest
}

// Repeat returns nil if an import into an organization equals the user's first import, else the
// fault. It does not compare digests with a user of another organization.
func (k Known) Repeat(orgID string, d Digest) error {
	if k.OrgID != orgID || k.Digest == nil {
		return usersfault.ErrUserIDTaken
	}
	return k.Digest.Compare(d)
}

// SettleAs is Settle for a user with a state in another system. A user who is inactive or locked there is so here too,
// and gets the mail after a reactivation or unlock. With 0, UserActive and UserInitial the state is that of Settle.
func (u *User) SettleAs(state UserState, linked bool) Kind {
	kind := u.Settle(linked)
	if state != UserInactive && state != UserLocked {
		return kind
	}
	u.leave(state)
	u.OwedMail = kind
	return ""
}

// Refusal returns the fault for which a row of an import is refused. It returns false for an error
// that is not the row's own; then no row of the statement was imported.
func Refusal(err error) (*fault.Fault, bool) {
	f := fault.From(err)
	switch f.Code {
	case fault.Internal, fault.Unavailable, fault.Deadline, fault.Exhausted, fault.Unauthenticated:
		return nil, false
	default:
		return f, true
	}
}

// OTPSecret parses an authenticator app's secret: base32 in any case, with or without padding,
// spaces and hyphens. It returns the form to store.
func OTPSecret(s string) (string, error) {
	s = strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "=", "").Replace(s))
	if len(s) < 16 || len(s) > 104 { // 10 and 64 bytes
		return "", usersfault.ErrOTPCodeInvalid
	}
	if _, err := totp.GenerateCode(s, time.Unix(0, 0)); err != nil {
		return "", usersfault.ErrOTPCodeInvalid
	}
	return s, nil
}
