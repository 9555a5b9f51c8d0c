package domain

import (
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
	// PublicKey is the key that was asked for, as SubjectPublicKeyInfo in DER; nil if the application has no such key
	// that is valid now.
	PublicKey []byte
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
	if len(hash) == 0 {
		return false
	}
	former := s.FormerSecretUntil != nil && now.Before(*s.FormerSecretUntil) && secret.Equal(s.FormerSecretHash, hash)
	return secret.Equal(s.SecretHash, hash) || former
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
