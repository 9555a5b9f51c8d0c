// Package notification is the service that sends mails to users. Each mail is requested by one
// event and sent once, and every attempt is recorded.
package notification

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"herald/services/notification/internal/api"
	"herald/services/notification/internal/consumer"
	"herald/services/notification/internal/delivery"
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

// Config is the service's settings.
type Config struct {
	SMTP     secret.Text `env:"HERALD_SMTP_URL"`
	MailFrom string      `env:"HERALD_MAIL_FROM" envDefault:"Herald <herald@localhost>"`
	ReplyTo  string      `env:"HERALD_MAIL_REPLY_TO"`
	search.Limit
}

// Help implements boot.Documented.
func (Config) Help() map[string]string {
	return map[string]string{
		"HERALD_SMTP_URL": "mail relay: smtp://host:25 without login, smtp://user:password@host:587 with " +
			"AUTH, smtps://user:password@host:465 with TLS from the start; smtp:// uses STARTTLS where it is " +
			"offered, ?starttls=required refuses to send without, ?starttls=off never uses it, ?ca=FILE " +
			"trusts the certificates of that file",
		"HERALD_MAIL_FROM": "sender of all mails, with or without a display name",
		"HERALD_MAIL_REPLY_TO": "where answers to the mails go, with or without a display name; empty for the " +
			"sender",
	}
}

// Migrations make the service's tables.
var Migrations = store.Migrations

// Restored are the changes after a restore from a backup.
var Restored = store.Restored

// New registers the service. It fails for settings with which no mail can be sent. It does not connect to the mail
// server, which may start later.
func New(_ context.Context, s *boot.Service, c Config) error {
	sender, err := NewSender(s, c)
	if err != nil {
		return err
	}
	return Start(s, c, sender)
}

// NewSender returns the sender of the service's mails. It fails for the same settings as New.
func NewSender(s *boot.Service, c Config) (*delivery.Sender, error) {
	if err := search.CheckMax(c.MaxLimit); err != nil {
		return nil, err
	}
	relay, err := c.relay()
	if err != nil {
		return nil, err
	}
	return &delivery.Sender{
		Store: store.New(s.Journal), Users: usersv1.NewInternalClient(s.Calls), Text: textv1.NewTextClient(s.Calls),
		Relay: relay, From: c.MailFrom, ReplyTo: c.ReplyTo,
		PublicURL: s.PublicURL.String(), Domain: mailDomain(s.PublicURL), Now: s.Now, Log: s.Log, Outages: s.Outages,
		Mails: delivery.NewCounter(), Times: delivery.UsualTimes(),
		Queued: make(chan struct{}, 1), TestMails: make(chan delivery.TestMail),
	}, nil
}

// Reach connects to the mail relay and logs in, and sends nothing.
func Reach(ctx context.Context, c Config) error {
	relay, err := c.relay()
	if err != nil {
		return err
	}
	return relay.Reach(ctx)
}

// relay returns the mail relay. It fails for settings with which no mail can be sent.
func (c Config) relay() (*smtp.Relay, error) {
	if c.SMTP.Empty() {
		return nil, errors.New("HERALD_SMTP_URL is not set: mails need a relay, such as " +
			"smtp://user:password@mail.example.com:587")
	}
	relay, err := smtp.NewRelay(c.SMTP)
	if err != nil {
		return nil, fmt.Errorf("HERALD_SMTP_URL: %w", err)
	}
	if err := smtp.CheckMailbox(c.MailFrom); err != nil {
		return nil, fmt.Errorf("HERALD_MAIL_FROM: %w", err)
	}
	if c.ReplyTo != "" {
		if err := smtp.CheckMailbox(c.ReplyTo); err != nil {
			return nil, fmt.Errorf("HERALD_MAIL_REPLY_TO: %w", err)
		}
	}
	return relay, nil
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
func Start(s *boot.Service, c Config, sender *delivery.Sender) error {
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
