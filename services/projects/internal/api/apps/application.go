// Package apps answers the requests of the service Apps.
package apps

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/resource"
	"herald/shared/search"
	"herald/shared/secret"
)

// Server implements the service.
type Server struct {
	base.Base

	// Pairs makes the keys of applications.
	Pairs *secret.Pairs
}

// CreateOidcApp adds an application that logs users in. It may be added to an inactive project, whose
// applications get no tokens.
func (s Server) CreateOidcApp(
	ctx context.Context, r *projectsv1.CreateOidcAppRequest,
) (*projectsv1.CreateOidcAppResponse, error) {
	config, err := checkedConfig(ctx, r)
	if err != nil {
		return nil, err
	}
	app := newApp(ctx, r)
	app.OIDC = &config
	clientSecret, err := s.createApp(ctx, &app)
	if err != nil {
		return nil, err
	}
	return &projectsv1.CreateOidcAppResponse{
		AppId: app.ID, Details: resource.Details(app.Record, app.OrgID), ClientId: app.ID,
		ClientSecret: clientSecret.Reveal(),
	}, nil
}

// CreateApiApp adds an application that only checks tokens.
func (s Server) CreateApiApp(
	ctx context.Context, r *projectsv1.CreateApiAppRequest,
) (*projectsv1.CreateApiAppResponse, error) {
	config := apiConfig(r)
	app := newApp(ctx, r)
	app.API = &config
	clientSecret, err := s.createApp(ctx, &app)
	if err != nil {
		return nil, err
	}
	return &projectsv1.CreateApiAppResponse{
		AppId: app.ID, Details: resource.Details(app.Record, app.OrgID), ClientId: app.ID,
		ClientSecret: clientSecret.Reveal(),
	}, nil
}

// newApp returns the application of a creation, without its configuration.
func newApp(ctx context.Context, r interface {
	GetProjectId() string
	GetName() string
}) domain.Application {
	return domain.Application{
		ID: resource.NewID(), ProjectID: r.GetProjectId(), OrgID: base.OrgID(ctx), Name: domain.Name(r.GetName()),
		State: domain.AppActive,
	}
}

// GetApp reads an application.
func (s Server) GetApp(ctx context.Context, r *projectsv1.GetAppRequest) (*projectsv1.GetAppResponse, error) {
	app, err := s.Store.Application(ctx, base.OrgID(ctx), r.ProjectId, r.AppId)
	if err != nil {
		return nil, err
	}
	return &projectsv1.GetAppResponse{App: Message(app)}, nil
}

// SearchApps lists a project's applications.
func (s Server) SearchApps(
	ctx context.Context, r *projectsv1.SearchAppsRequest,
) (*projectsv1.SearchAppsResponse, error) {
	p, err := s.PageOf(ctx, r.ProjectId, r.Query)
	if err != nil {
		return nil, err
	}
	query := s.Store.Applications(base.OrgID(ctx), r.ProjectId)
	for _, q := range r.Queries {
		if f := q.NameQuery; f != nil {
			query.Text(store.ApplicationName, f.Method, domain.Name(f.Name))
		}
		if f := q.StateQuery; f != nil {
			query.Where("state = ?", domain.AppState(f.State))
		}
	}
	list, err := store.Search[domain.Application](ctx, s.Store, query, p)
	if err != nil {
		return nil, err
	}
	return &projectsv1.SearchAppsResponse{Details: list.Details(), Result: search.Each(list.Rows, Message)}, nil
}

// UpdateApp renames an application.
func (s Server) UpdateApp(ctx context.Context, r *projectsv1.UpdateAppRequest) (*projectsv1.AppResponse, error) {
	return s.changeApp(ctx, r, func(app *domain.Application) (proto.Message, error) {
		if !app.Rename(domain.Name(r.Name)) {
			return nil, nil
		}
		return &projectsv1.ApplicationChanged{ProjectId: app.ProjectID, Changed: []string{"name"}}, nil
	})
}

// UpdateOidcConfig replaces the configuration of an OpenID Connect application.
func (s Server) UpdateOidcConfig(
	ctx context.Context, r *projectsv1.UpdateOidcConfigRequest,
) (*projectsv1.AppResponse, error) {
	config, err := checkedConfig(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.configureApp(ctx, r, func(app *domain.Application) ([]string, error) { return app.ConfigureOIDC(config) })
}

// UpdateApiConfig replaces the configuration of an API application.
func (s Server) UpdateApiConfig(
	ctx context.Context, r *projectsv1.UpdateApiConfigRequest,
) (*projectsv1.AppResponse, error) {
	config := apiConfig(r)
	return s.configureApp(ctx, r, func(app *domain.Application) ([]string, error) { return app.ConfigureAPI(config) })
}

func (s Server) configureApp(
	ctx context.Context, r appOf, configure func(*domain.Application) ([]string, error),
) (*projectsv1.AppResponse, error) {
	return s.changeApp(ctx, r, func(app *domain.Application) (proto.Message, error) {
		changed, err := configure(app)
		if err != nil || changed == nil {
			return nil, err
		}
		return &projectsv1.ApplicationChanged{ProjectId: app.ProjectID, Changed: changed}, nil
	})
}

// DeactivateApp ends an application's tokens, also in an inactive project.
func (s Server) DeactivateApp(ctx context.Context, r *projectsv1.AppRequest) (*projectsv1.AppResponse, error) {
	return s.changeApp(ctx, r, func(app *domain.Application) (proto.Message, error) {
		err := app.Deactivate()
		return &projectsv1.ApplicationDeactivated{ProjectId: app.ProjectID, Generation: uint64(app.Generation)}, err
	})
}

// ReactivateApp lets an application get tokens again.
func (s Server) ReactivateApp(ctx context.Context, r *projectsv1.AppRequest) (*projectsv1.AppResponse, error) {
	return s.changeApp(ctx, r, func(app *domain.Application) (proto.Message, error) {
		return &projectsv1.ApplicationReactivated{ProjectId: app.ProjectID}, app.Reactivate()
	})
}

// appOf is a request with the ids of a project and an application.
type appOf interface {
	GetProjectId() string
	GetAppId() string
}

func (s Server) changeApp(
	ctx context.Context, r appOf, change func(*domain.Application) (proto.Message, error),
) (*projectsv1.AppResponse, error) {
	app, err := s.Store.ChangeApplication(ctx, base.OrgID(ctx), r.GetProjectId(), r.GetAppId(), change)
	if err != nil {
		return nil, err
	}
	return &projectsv1.AppResponse{Details: resource.Changed(app.Record, app.OrgID)}, nil
}

// RemoveApp removes an application.
func (s Server) RemoveApp(ctx context.Context, r *projectsv1.AppRequest) (*projectsv1.AppResponse, error) {
	app, err := s.Store.RemoveApplication(ctx, base.OrgID(ctx), r.ProjectId, r.AppId,
		&projectsv1.ApplicationRemoved{ProjectId: r.ProjectId})
	if err != nil {
		return nil, err
	}
	return &projectsv1.AppResponse{Details: resource.Changed(app.Record, app.OrgID)}, nil
}

func apiConfig(r interface {
	GetAuthMethodType() projectsv1.ApiAuthMethodType
}) domain.APIConfig {
	return domain.APIConfig{AuthMethod: domain.APIAuthMethod(r.GetAuthMethodType())}.WithDefaults()
}

// Message returns the message of an application.
func Message(app domain.Application) *projectsv1.App {
	m := &projectsv1.App{Id: app.ID, Details: resource.Details(app.Record, app.OrgID),
		State: projectsv1.AppState(app.State), Name: app.Name}
	if app.API != nil {
		m.Config = &projectsv1.App_ApiConfig{ApiConfig: &projectsv1.ApiConfig{
			ClientId: app.ID, AuthMethodType: projectsv1.ApiAuthMethodType(app.API.AuthMethod),
		}}
		return m
	}
	m.Config = &projectsv1.App_OidcConfig{OidcConfig: oidcMessage(app)}
	return m
}
