package apps

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/secret"
)

// createApp writes an application and returns its client secret. The secret is empty if the application uses none.
func (s Server) createApp(ctx context.Context, app *domain.Application) (clientSecret secret.Text, err error) {
	if app.UsesSecret() {
		clientSecret = secret.NewClientSecret()
		app.SecretHash = secret.Hash(clientSecret.Reveal())
	}
	app.Record, err = s.Store.CreateApplication(ctx, *app, &projectsv1.ApplicationCreated{ProjectId: app.ProjectID})
	return clientSecret, err
}

// GenerateOidcClientSecret makes a new client secret for an OpenID Connect application,
// whatever its state.
func (s Server) GenerateOidcClientSecret(
	ctx context.Context, r *projectsv1.GenerateClientSecretRequest,
) (*projectsv1.GenerateClientSecretResponse, error) {
	return s.generateSecret(ctx, r, (*domain.Application).RenewOIDCSecret)
}

// GenerateApiClientSecret makes a new client secret for an API application.
func (s Server) GenerateApiClientSecret(
	ctx context.Context, r *projectsv1.GenerateClientSecretRequest,
) (*projectsv1.GenerateClientSecretResponse, error) {
	return s.generateSecret(ctx, r, (*domain.Application).RenewAPISecret)
}

func (s Server) generateSecret(
	ctx context.Context, r *projectsv1.GenerateClientSecretRequest,
	renew func(*domain.Application, []byte, time.Duration, time.Time) error,
) (*projectsv1.GenerateClientSecretResponse, error) {
	clientSecret := secret.NewClientSecret()
	done, err := s.changeApp(ctx, r, func(app *domain.Application) (proto.Message, error) {
		err := renew(app, secret.Hash(clientSecret.Reveal()), r.Overlap.AsDuration(), s.Store.Now())
		return &projectsv1.ApplicationSecretGenerated{ProjectId: app.ProjectID}, err
	})
	if err != nil {
		return nil, err
	}
	return &projectsv1.GenerateClientSecretResponse{ClientSecret: clientSecret.Reveal(), Details: done.Details}, nil
}
