package consent

import (
	"context"
	"embed"
	"html/template"
	"io/fs"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
)

//go:embed question.html
var files embed.FS

// Body returns the body of a page with the templates "offered" and "asked". They write a Question: who asks, and what
// for. The data of the page has the Question embedded.
func Body(page fs.FS, name string) *template.Template {
	return template.Must(frame.Body(page, name).ParseFS(files, "question.html"))
}

// Question is what a page tells a person before they let an application in.
type Question struct {
	// Text names the texts that say what the application asks for: Text.title and Text.text. It is empty if it is an
	// application of the own organization that does not want to act as the person.
	Text string
	// Organization offers the application.
	Application, Organization string
	// Disclosed are the keys of the texts for the data that the application gets.
	Disclosed []string
	// Projects are those to which the application gets access, beside its own.
	Projects []Project
}

// Project is a project with the name of the organization that owns it.
type Project struct{ Name, Organization string }

// disclosed has the key of the text for the data that a scope gives a client.
var disclosed = map[string]string{
	domain.ScopeOpenID: "shared.account", domain.ScopeProfile: "shared.profile", domain.ScopeEmail: "shared.email",
	domain.ScopePhone: "shared.phone", domain.ScopeOfflineAccess: "shared.later",
	domain.ScopeResourceOwner: "shared.organization",
}

// Question returns what to tell a person who has logged in about a client that asks for scopes. It returns
// domain.ErrInvalidScope if the scopes name a project for which the client may have no tokens any more.
func (c Consents) Question(
	ctx context.Context, client domain.Client, scopes []string, s domain.Session,
) (Question, error) {
	asks := client.Asks(scopes)
	var reach domain.Reach
	if len(asks.Named()) > 0 {
		var err error
		if reach, err = c.Upstream.Reach(ctx, asks); err != nil {
			return Question{}, err
		}
	}
	if err := asks.Admit(reach); err != nil {
		return Question{}, err
	}
	ids := []string{client.OrgID}
	for _, a := range reach.Named {
		ids = append(ids, a.Project.OrgID)
	}
	orgs, err := c.Upstream.Orgs(ctx, ids...)
	if err != nil {
		return Question{}, err
	}
	q := Question{Application: client.Name, Organization: orgs[client.OrgID].Name}
	for _, a := range reach.Named {
		q.Projects = append(q.Projects, Project{a.Project.Name, orgs[a.Project.OrgID].Name})
	}
	switch {
	case domain.AuthRequest{Scopes: scopes}.ActsAsUser(): // its text says that the client gets all rights
		q.Text = "consent"
	case s.OrgID != client.OrgID:
		q.Text = "share"
		for _, scope := range domain.PersonalScopes(scopes, client.Project.ID) {
			if key := disclosed[scope]; key != "" {
				q.Disclosed = append(q.Disclosed, key)
			}
		}
	}
	return q, nil
}
