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
	// KeyID and PublicKey are those of the requested key. They are empty if the application has no such key that is
	// valid now. PublicKey is a SubjectPublicKeyInfo in DER.
	KeyID     string
	PublicKey []byte
}

// Proof is what a request names as the credential of an application: a secret, a key, or the credential of an earlier
// proof. At most one field is set.
type Proof struct {
	SecretHash []byte
	KeyID      string
	// Credential is the result of Client.Credential for an earlier proof.
	Credential string
}

const (
	keyCredential    = "key:"
	secretCredential = "secret:"
)

// RequestedKey returns the id of the key that a proof names. It is empty if the proof names no key.
func (p Proof) RequestedKey() string {
	if id, ok := strings.CutPrefix(p.Credential, keyCredential); ok {
		return id
	}
	return p.KeyID
}

// Credential returns an identifier of the secret or key of a proof. Tokens keep it, so that they end with the secret or
// key. It is empty if the application cannot authenticate with that secret or key now.
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

// Matches reports whether the hash is that of the client secret, or of the former one while it still works.
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

// AccessQuery asks what a user of an organization, and the organization of an application, have on some projects.
type AccessQuery struct {
	ProjectIDs                 []string
	UserID, OrgID, ClientOrgID string
}

// Access is what they have on one project.
type Access struct {
	Project Project
	// OrgHasProject reports whether the user's organization owns the project or has accepted an active grant of it.
	OrgHasProject bool
	// Grounds names why the organization of the application may have tokens for the project; empty if it may not. It
	// has the generations of the project and of the grant.
	Grounds string
	// Roles are sorted by key, then by organization.
	Roles []GrantedRole
}

// GrantedRole is a role on a project and the organization that granted it.
type GrantedRole struct{ Key, OrgID string }
