package domain

import "herald/shared/gen/fault/usersfault"

// AccessTokenType is the format of a machine's access tokens.
type AccessTokenType int16

// The types of access tokens, numbered as in their contract.
const (
	AccessTokenBearer AccessTokenType = iota + 1
	AccessTokenJWT
)

// MachineData has the fields of a machine user that a caller sets.
type MachineData struct {
	UserName    string
	Name        string
	Description string
	// AccessTokenType is AccessTokenBearer if it is 0.
	AccessTokenType AccessTokenType
}

// NewMachine returns a machine user of an organization, which is active at once.
func NewMachine(orgID, id string, d MachineData) User {
	u := User{ID: id, OrgID: orgID, Type: Machine, State: UserActive}
	u.setMachine(d)
	return u
}

// ChangeMachine replaces the fields of a machine user and returns the names of the changed ones.
func (u *User) ChangeMachine(d MachineData) (changed []string, err error) {
	if u.Type != Machine {
		return nil, usersfault.ErrUserNotMachine
	}
	old := *u
	u.setMachine(d)
	for _, f := range []struct {
		name    string
		differs bool
	}{
		{"userName", old.UserName != u.UserName},
		{"name", old.DisplayName != u.DisplayName},
		{"description", old.Description != u.Description},
		{"accessTokenType", old.AccessTokenType != u.AccessTokenType},
	} {
		if f.differs {
			changed = append(changed, f.name)
		}
	}
	return changed, nil
}

func (u *User) setMachine(d MachineData) {
	u.UserName, u.DisplayName, u.Description = d.UserName, d.Name, d.Description
	if u.AccessTokenType = d.AccessTokenType; u.AccessTokenType == 0 {
		u.AccessTokenType = AccessTokenBearer
	}
}

// MayHaveKeys returns a fault for a person, and for a user who may not have tokens.
func (u *User) MayHaveKeys() error {
	if u.Type != Machine {
		return usersfault.ErrUserNotMachine
	}
	return u.MayHaveTokens()
}

// SetSecret replaces a machine user's secret by the one with this hash.
func (u *User) SetSecret(hash Hidden) error {
	if err := u.MayHaveKeys(); err != nil {
		return err
	}
	u.SecretHash = hash
	return nil
}

// RemoveSecret removes a machine user's secret, in any state of the user.
func (u *User) RemoveSecret() error {
	if u.Type != Machine {
		return usersfault.ErrUserNotMachine
	}
	if u.SecretHash == "" {
		return usersfault.ErrSecretNotFound
	}
	u.SecretHash = ""
	return nil
}
