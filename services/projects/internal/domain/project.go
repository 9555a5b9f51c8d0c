// Package domain holds the rules of projects, their roles, grants and applications. It uses no database and no
// messages.
package domain

import (
	"golang.org/x/text/unicode/norm"

	"herald/shared/gen/fault/projectsfault"
	"herald/shared/resource"
)

// ProjectState is whether a project's applications get tokens.
type ProjectState int16

// The states of a project, numbered as in its contract.
const (
	ProjectActive ProjectState = iota + 1
	ProjectInactive
)

// Project is a group of applications that share their roles.
type Project struct {
	resource.Record
	ID    string
	OrgID string
	State ProjectState
	// Every deactivation increases Generation. Tokens of an older generation are invalid.
	Generation int64
	Settings
}

// Name returns the name of a project or an application as it is stored and compared: in Unicode's form NFC, so that the
// same letters are the same name, however a keyboard writes them.
func Name(text string) string { return norm.NFC.String(text) }

// Settings are what the owner of a project decides.
type Settings struct {
	Name                 string
	ProjectRoleAssertion bool
	ProjectRoleCheck     bool
	HasProjectCheck      bool
	// PrivateLabelingSetting is numbered as in the contract.
	PrivateLabelingSetting int16
}

// Change replaces the settings and returns the names of those that differ.
func (p *Project) Change(s Settings) (changed []string) {
	for _, f := range []struct {
		name    string
		differs bool
	}{
		{"name", p.Name != s.Name},
		{"projectRoleAssertion", p.ProjectRoleAssertion != s.ProjectRoleAssertion},
		{"projectRoleCheck", p.ProjectRoleCheck != s.ProjectRoleCheck},
		{"hasProjectCheck", p.HasProjectCheck != s.HasProjectCheck},
		{"privateLabelingSetting", p.PrivateLabelingSetting != s.PrivateLabelingSetting},
	} {
		if f.differs {
			changed = append(changed, f.name)
		}
	}
	p.Settings = s
	return changed
}

// Deactivate ends the tokens of the project's applications for good. The applications get no new ones.
func (p *Project) Deactivate() error {
	if p.State != ProjectActive {
		return projectsfault.ErrProjectNotActive
	}
	p.State = ProjectInactive
	p.Generation++
	return nil
}

// Reactivate lets the project's applications get tokens again.
func (p *Project) Reactivate() error {
	if p.State != ProjectInactive {
		return projectsfault.ErrProjectNotInactive
	}
	p.State = ProjectActive
	return nil
}
