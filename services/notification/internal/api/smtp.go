package api

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/shared/gen/fault/notificationfault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	"herald/shared/resource"
	"herald/shared/secret"
)

// ofInstance is the resource owner in details: how mails are sent belongs to no organization.
const ofInstance = ""

// GetSmtp reads how mails are sent, and where that comes from.
func (n Notifications) GetSmtp(
	ctx context.Context, _ *notificationv1.GetSmtpRequest,
) (*notificationv1.GetSmtpResponse, error) {
	set, err := n.Store.SMTP(ctx)
	if err != nil {
		return nil, err
	}
	live := set.Live(n.Mails.Environment)
	answer := &notificationv1.Smtp{
		Details: resource.Details(live.Record, ofInstance), Url: live.URL, User: live.User,
		PasswordSet: live.PasswordSet, SenderAddress: live.Sender.Address, SenderName: live.Sender.Name,
		ReplyTo: live.ReplyTo,
	}
	for _, o := range live.Origins() {
		answer.Origins = append(answer.Origins, o.Message())
	}
	return &notificationv1.GetSmtpResponse{Smtp: answer}, nil
}

// SetSmtp replaces how mails are sent.
func (n Notifications) SetSmtp(
	ctx context.Context, r *notificationv1.SetSmtpRequest,
) (*notificationv1.SetSmtpResponse, error) {
	set, err := n.Store.ChangeSMTP(ctx, func(s *domain.SMTP) (proto.Message, error) {
		changed, route, err := n.replace(s, r)
		if err != nil || len(changed) == 0 {
			return nil, err
		}
		route.Close()
		return &notificationv1.SmtpChanged{Changed: changed}, nil
	})
	if err != nil {
		return nil, err
	}
	n.Mails.Reread() // the event tells the other replicas
	return &notificationv1.SetSmtpResponse{Details: resource.Changed(set.Record, ofInstance)}, nil
}

// TestSmtp sends a test mail as SetSmtp would have it sent. It may reach any address, also inside Herald's own
// network, because the mail server often is there, and only owners of the instance choose it.
func (n Notifications) TestSmtp(
	ctx context.Context, r *notificationv1.TestSmtpRequest,
) (*notificationv1.SendTestMailResponse, error) {
	if r.Smtp == nil {
		return n.sendTest(ctx, r.Recipient, nil)
	}
	set, err := n.Store.SMTP(ctx)
	if err != nil {
		return nil, err
	}
	_, route, err := n.replace(&set, r.Smtp)
	if err != nil {
		return nil, err
	}
	defer route.Close()
	return n.sendTest(ctx, r.Recipient, route)
}

// replace sets the values of a request, and returns the names of the changed fields and the route that they make.
func (n Notifications) replace(
	s *domain.SMTP, r *notificationv1.SetSmtpRequest,
) (changed []string, by *delivery.Route, err error) {
	changed, err = s.Replace(domain.SMTPChange{
		Server:        domain.Server{URL: r.Url, User: r.User, Password: secret.NewText(r.Password)},
		SenderAddress: r.SenderAddress, SenderName: r.SenderName, ReplyTo: r.ReplyTo,
	}, n.Mails.Environment)
	if err != nil {
		return nil, nil, err
	}
	live, err := s.Open(n.Mails.Environment)
	if err != nil { // another master key sealed the stored one
		return nil, nil, notificationfault.ErrSmtpPasswordRequired
	}
	by, err = delivery.NewRoute(live)
	return changed, by, err
}
