package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"herald/shared/secret"
)

// Client is an application with what its tokens depend on: its project, and a key with which it authenticates.
type Client struct {
	Application
	ProjectName            string
	ProjectState           ProjectState
	ProjectGeneration      int64
	ProjectRoleAssertion   bool
	ProjectRoleCheck       bool
	HasProjectCheck        bool
	PrivateLabelingSetting int16
	// KeyID and PublicKey, as SubjectPublicKeyInfo in DER, are those of the key that was asked for; empty if the
	// application has no such key that is valid now.
	KeyID     string
	PublicKey []byte
}

// Proof is with what somebody says that an application authenticates or did before. At most one of these is set.
type Proof struct {
	SecretHash []byte
	KeyID      string
	// Credential is what an earlier answer had.
	Credential string
}

const (
	keyCredential    = "key:"
	secretCredential = "secret:"
)

// AskedKey returns the id of the key of a proof; empty if it is none of a key.
func (p Proof) AskedKey() string {
	if id, ok := strings.CutPrefix(p.Credential, keyCredential); ok {
		return id
	}
	return p.KeyID
}

// Credential returns what tokens keep of the secret or key of a proof, so that they end with it. It is empty if the
// application does not authenticate with it now.
func (c Client) Credential(p Proof, now time.Time) string {
	if c.KeyID != "" {
		return keyCredential + c.KeyID
	}
	for _, hash := range c.live(now) {
		named := credentialOf(hash)
		if secret.Equal(hash, p.SecretHash) || named == p.Credential {
			return named
		}
	}
	return ""
}

func credentialOf(secretHash []byte) string {
	sum := sha256.Sum256(secretHash)
	return secretCredential + hex.EncodeToString(sum[:8])
}

// Project returns the application's project, without its times.
func (c Client) Project() Project {
	return Project{
		ID: c.ProjectID, OrgID: c.OrgID, State: c.ProjectState, Generation: c.ProjectGeneration,
		Settings: Settings{
			Name: c.ProjectName, ProjectRoleAssertion: c.ProjectRoleAssertion, ProjectRoleCheck: c.ProjectRoleCheck,
			HasProjectCheck: c.HasProjectCheck, PrivateLabelingSetting: c.PrivateLabelingSetting,
		},
	}
}

// Matches reports whether the hash is that of the client secret, or of the one before it while that works too.
func (s ClientSecret) Matches(hash []byte, now time.Time) bool {
	return slices.ContainsFunc(s.live(now), func(known []byte) bool { return secret.Equal(known, hash) })
}

// live returns the hashes of the secrets that work.
func (s ClientSecret) live(now time.Time) (hashes [][]byte) {
	if len(s.SecretHash) > 0 {
		hashes = append(hashes, s.SecretHash)
	}
	if s.FormerSecretUntil != nil && now.Before(*s.FormerSecretUntil) {
		hashes = append(hashes, s.FormerSecretHash)
	}
	return hashes
}

// Access is what a user has on a project.
type Access struct {
	// OrgHasProject reports whether the user's organization owns the project or has an active grant of it.
	OrgHasProject bool
	// Roles are sorted by key, then by organization.
	Roles []GrantedRole
}

// GrantedRole is a role on a project and the organization that gave it.
type GrantedRole struct{ Key, OrgID string }
