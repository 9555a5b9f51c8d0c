// Package notification is the service that sends mails to users. Each mail is requested by one
// event and sent once, and every attempt is recorded.
package notification

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/notification/internal/api"
	"herald/services/notification/internal/consumer"
	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/smtp"
	"herald/services/notification/internal/store"
	"herald/shared/boot"
	"herald/shared/event"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/search"
	"herald/shared/secret"
)

// Config is the service's settings. What the environment does not set, the API may.
type Config struct {
	SMTP     secret.Text `env:"HERALD_SMTP_URL"`
	MailFrom string      `env:"HERALD_MAIL_FROM"`
	ReplyTo  string      `env:"HERALD_MAIL_REPLY_TO"`
	// Inbox is the address of the inbox of `herald run`. It has the mails until a mail server is set.
	Inbox string
	search.Limit
}

// Help implements boot.Documented.
func (Config) Help() map[string]string {
	return map[string]string{
		"HERALD_SMTP_URL": "mail relay: smtp://host:25 without login, smtp://user:password@host:587 with " +
			"AUTH, smtps://user:password@host:465 with TLS from the start; smtp:// uses STARTTLS where it is " +
			"offered, ?starttls=required refuses to send without, ?starttls=off never uses it, ?ca=FILE " +
			"trusts the certificates of that file; if it is set, PUT /admin/v1/smtp cannot set another one",
		"HERALD_MAIL_FROM": "sender of all mails, with or without a display name; Herald <herald@localhost> unless " +
			"it is set here or by PUT /admin/v1/smtp",
		"HERALD_MAIL_REPLY_TO": "where answers to the mails go, with or without a display name; the sender unless it " +
			"is set here or by PUT /admin/v1/smtp",
	}
}

// Migrations make the service's tables.
var Migrations = store.Migrations

// Restored are the changes after a restore from a backup.
var Restored = store.Restored

// Sealed are the columns with sealed secrets.
var Sealed = []secret.Column{domain.SealedPassword}

// New registers the service. It fails for settings of the environment with which no mail can be sent. It does not
// connect to the mail server, which may start later, or be set later by the API.
func New(ctx context.Context, s *boot.Service, c Config) error {
	sender, err := NewSender(s, c)
	if err != nil {
		return err
	}
	return Start(ctx, s, c, sender)
}

// NewSender returns the sender of the service's mails. It fails for the same settings as New.
func NewSender(s *boot.Service, c Config) (*delivery.Sender, error) {
	if err := search.CheckMax(c.MaxLimit); err != nil {
		return nil, err
	}
	environment, err := c.environment(s.Keys)
	if err != nil {
		return nil, err
	}
	return &delivery.Sender{
		Store: store.New(s.Journal), Users: usersv1.NewInternalClient(s.Calls), Text: textv1.NewTextClient(s.Calls),
		Environment: environment,
		PublicURL:   s.PublicURL.String(), Domain: mailDomain(s.PublicURL), Now: s.Now, Log: s.Log, Outages: s.Outages,
		Mails: delivery.NewCounter(), Times: delivery.UsualTimes(),
		Queued: make(chan struct{}, 1), TestMails: make(chan delivery.TestMail), Changed: make(chan struct{}, 1),
	}, nil
}

// ErrNoServer is returned by Reach while no mail server is set.
var ErrNoServer = delivery.ErrNoServer

// Reach connects to the mail server that mails are sent to at present, logs in, and sends nothing. It reads in the
// service's database which one that is.
func Reach(ctx context.Context, db *pgxpool.Pool, keys secret.Keys, c Config) error {
	environment, err := c.environment(keys)
	if err != nil {
		return err
	}
	route, err := delivery.Current(ctx, store.New(event.Journal{DB: db, Now: time.Now}), environment)
	if err != nil {
		return err
	}
	return route.Reach(ctx)
}

// environment returns the settings that win over those of the API. It fails for settings with which no mail can be
// sent.
func (c Config) environment(keys secret.Keys) (domain.Environment, error) {
	e := domain.Environment{Inbox: c.Inbox, Keys: keys, ReplyTo: c.ReplyTo}
	if !c.SMTP.Empty() {
		relay, err := smtp.NewRelay(c.SMTP)
		if err != nil {
			return e, fmt.Errorf("%s: %w", domain.ServerVariable, err)
		}
		relay.Close()
		server, err := domain.ParseServer(c.SMTP)
		if err != nil {
			return e, fmt.Errorf("%s: %w", domain.ServerVariable, err)
		}
		e.Server = &server
	}
	if c.MailFrom != "" {
		sender, err := smtp.ParseMailbox(c.MailFrom)
		if err != nil {
			return e, fmt.Errorf("%s: %w", domain.SenderVariable, err)
		}
		e.Sender = *sender
	}
	if c.ReplyTo != "" {
		if _, err := smtp.ParseMailbox(c.ReplyTo); err != nil {
			return e, fmt.Errorf("%s: %w", domain.ReplyToVariable, err)
		}
	}
	return e, nil
}

// mailDomain returns the public host as the domain of a Message-ID (RFC 5322, section 3.6.4).
func mailDomain(public *url.URL) string {
	host := public.Hostname()
	if strings.Contains(host, ":") {
		return "[IPv6:" + host + "]"
	}
	return host
}

// Start registers the service with a sender.
func Start(ctx context.Context, s *boot.Service, c Config, sender *delivery.Sender) error {
	if err := consumer.Listen(s.Conn, sender.Reread); err != nil {
		return err
	}
	if err := sender.Begin(ctx); err != nil {
		return err
	}
	if err := s.Metrics.Register(sender.Mails); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	s.Consume(consumer.Handlers(sender.Store, sender.Wake)...)
	s.Background(sender.Run)
	s.Health.Check(s.Name+" mails", func(context.Context) error { return sender.Delayed() })
	return s.Serve(func(r boot.Registrar) {
		notificationv1.RegisterNotificationsServer(r, api.Notifications{
			Store: sender.Store, Users: usersv1.NewUsersClient(s.Calls),
			Credentials: usersv1.NewCredentialsClient(s.Calls), Internal: sender.Users, Mails: sender,
			MaxLimit: c.MaxLimit,
		})
		notificationv1.RegisterEventsServer(r, event.Reader{Journal: s.Journal})
	})
}
