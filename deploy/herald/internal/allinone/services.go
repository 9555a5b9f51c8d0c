package allinone

import (
	"context"
	"embed"
	"fmt"
	"io"
	"net"
	"net/url"

	"herald/gateway"
	"herald/services/auth"
	"herald/services/notification"
	"herald/services/projects"
	"herald/services/text"
	"herald/services/users"
	"herald/shared/boot"
	"herald/shared/secret"
)

// Services is the settings of the gateway and of every service.
type Services struct {
	Gateway      gateway.Config
	Users        users.Config
	Text         text.Config
	Notification notification.Config
	Auth         auth.Config
	Projects     projects.Config
}

// Names lists the services.
func Names() []string { return []string{"users", "text", "notification", "auth", "projects"} }

// Configs lists where settings go.
func (s *Services) Configs() []any {
	return []any{&s.Gateway, &s.Users, &s.Text, &s.Notification, &s.Auth, &s.Projects}
}

// PublicURL is the setting, or localhost at the gateway's port.
func (s *Services) PublicURL(setting string) (*url.URL, error) {
	if setting != "" {
		return boot.ParsePublicURL(setting)
	}
	_, port, err := net.SplitHostPort(s.Gateway.Listen)
	if err != nil {
		return nil, fmt.Errorf("HERALD_LISTEN: %w", err)
	}
	return boot.ParsePublicURL("http://localhost:" + port)
}

// Open opens a service on its database and registers it.
func (s *Services) Open(
	ctx context.Context, g boot.Ground, name string, database secret.Text,
) (*boot.Service, users.Administrator, error) {
	migrations := map[string]embed.FS{
		"users": users.Migrations, "text": text.Migrations, "notification": notification.Migrations,
		"auth":     auth.Migrations,
		"projects": projects.Migrations,
	}
	service, err := g.Open(ctx, name, database, migrations[name])
	if err != nil {
		return nil, users.Administrator{}, err
	}
	var admin users.Administrator
	switch name {
	case "users":
		admin, err = users.New(ctx, service, s.Users)
	case "text":
		err = text.New(ctx, service, s.Text)
	case "notification":
		err = notification.New(ctx, service, s.Notification)
	case "auth":
		err = auth.New(ctx, service, s.Auth)
	case "projects":
		err = projects.New(ctx, service, s.Projects)
	}
	if err != nil {
		service.Close()
		return nil, users.Administrator{}, fmt.Errorf("service %s: %w", name, err)
	}
	return service, admin, nil
}

// Welcome tells the operator, once, how the administrator logs in.
func Welcome(w io.Writer, admin users.Administrator) {
	if admin.LoginName != "" {
		fmt.Fprintf(w, "administrator: login name %s, one-time password %s (shown only now)\n", admin.LoginName,
			admin.Password.Reveal())
	}
}
