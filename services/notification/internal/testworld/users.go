package testworld

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/notification"
	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/testkit"
)

// Prepare answers PrepareMail.
type Prepare func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error)

// Users stands in for the services users and text. Its events are published like real ones.
type Users struct {
	testing.TB
	Service *boot.Service
	// Renew returns the ids of requested new mails.
	Renew func(ctx context.Context, kind, userID string) (string, error)
	// Me is the caller.
	Me *usersv1.User

	mu      sync.Mutex
	prepare Prepare
	asked   func() ([]*usersv1.AskedMail, error)
	usersv1.UnimplementedUsersServer
	usersv1.UnimplementedCredentialsServer
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	textv1.UnimplementedTextServer
}

func newUsers(t testing.TB, g boot.Ground) *Users {
	t.Helper()
	u := &Users{TB: t}
	u.Asked(nil)
	var err error
	// The service needs the tables of the outbox, and the migrations of every service make them.
	if u.Service, err = g.Open(t.Context(), "users", kit.Database(t), notification.Migrations); err != nil {
		t.Fatal(err)
	}
	if err := u.Service.Serve(func(r boot.Registrar) {
		usersv1.RegisterUsersServer(r, u)
		usersv1.RegisterCredentialsServer(r, u)
		usersv1.RegisterInternalServer(r, u)
	}); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, u.Service)
	testkit.Serve(t, g, "text", u, &textv1.Text_ServiceDesc)
	return u
}

// Ask publishes an event that asks for a mail and returns the mail's id.
func (u *Users) Ask(userID string) string {
	u.Helper()
	return u.Publish(userID, &usersv1.HumanImported{InitMail: usersv1.InitMail_INIT_MAIL_QUEUED})
}

// Publish publishes an event about a user of o1 and returns its id.
func (u *Users) Publish(userID string, m proto.Message) string {
	u.Helper()
	eventID := resource.NewID()
	u.PublishAs(eventID, userID, m)
	return eventID
}

// PublishAs is like Publish, for an event with a known id.
func (u *Users) PublishAs(eventID, userID string, m proto.Message) {
	u.Helper()
	save := event.Statement{AggregateID: userID, OrganizationID: "o1", EventID: eventID}
	if _, err := u.Service.Journal.Create(u.Context(), m, save); err != nil {
		u.Fatal(err)
	}
}

// Asked sets the answer of ListAskedMails for Ada.
func (u *Users) Asked(refusal error, mails ...*usersv1.AskedMail) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = func() ([]*usersv1.AskedMail, error) { return mails, refusal }
}

// Prepares sets the answer of PrepareMail. Nil is for the usual one, Person.
func (u *Users) Prepares(p Prepare) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.prepare = p
}

// Block makes the first request for a mail wait until release is called. held is closed when the request arrived.
func (u *Users) Block() (held <-chan struct{}, release func()) {
	arrived, gate := make(chan struct{}), make(chan struct{})
	var asked atomic.Int64
	u.Prepares(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		if asked.Add(1) == 1 {
			close(arrived)
			select {
			case <-gate:
			case <-u.Context().Done():
			}
		}
		return Person(r), nil
	})
	return arrived, func() { close(gate) }
}

// PrepareMail implements the contract.
func (u *Users) PrepareMail(_ context.Context, r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
	u.mu.Lock()
	prepare := u.prepare
	u.mu.Unlock()
	if prepare == nil {
		return Person(r), nil
	}
	return prepare(r)
}

// ListAskedMails knows only Ada, a user of o1.
func (u *Users) ListAskedMails(
	ctx context.Context, r *usersv1.ListAskedMailsRequest,
) (*usersv1.ListAskedMailsResponse, error) {
	if c := caller.From(ctx); c.Service != "notification" || c.UserID != "" {
		u.Errorf("%+v asks for mails", c)
	}
	if r.OrgId != "o1" || r.UserId != "ada" {
		return nil, usersfault.ErrUserNotFound
	}
	u.mu.Lock()
	asked := u.asked
	u.mu.Unlock()
	mails, err := asked()
	return &usersv1.ListAskedMailsResponse{Result: mails}, err
}

// ResendInitialization asks for an init mail.
func (u *Users) ResendInitialization(
	ctx context.Context, r *usersv1.ResendInitializationRequest,
) (*usersv1.ResendInitializationResponse, error) {
	id, err := u.Renew(ctx, "init", r.UserId)
	return &usersv1.ResendInitializationResponse{NotificationId: id}, err
}

// ResendEmailVerification asks for a verifyemail mail.
func (u *Users) ResendEmailVerification(
	ctx context.Context, r *usersv1.ResendEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	id, err := u.Renew(ctx, "verifyemail", r.UserId)
	return &usersv1.ResendEmailVerificationResponse{NotificationId: id}, err
}

// RequestPasswordReset asks for a passwordreset mail.
func (u *Users) RequestPasswordReset(
	ctx context.Context, r *usersv1.RequestPasswordResetRequest,
) (*usersv1.RequestPasswordResetResponse, error) {
	id, err := u.Renew(ctx, "passwordreset", r.UserId)
	return &usersv1.RequestPasswordResetResponse{NotificationId: id}, err
}

// GetMyUser returns Me.
func (u *Users) GetMyUser(context.Context, *usersv1.GetMyUserRequest) (*usersv1.GetMyUserResponse, error) {
	return &usersv1.GetMyUserResponse{User: u.Me}, nil
}

// Person returns Ada's data for every user.
func Person(r *usersv1.PrepareMailRequest) *usersv1.PrepareMailResponse {
	born := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	return &usersv1.PrepareMailResponse{
		Code: Code(r.NotificationId), Expiry: timestamppb.New(born.Add(72 * time.Hour)), Recipient: "ada@example.com",
		FirstName: "Ada", LastName: "Lovelace", NickName: "Countess", DisplayName: "Ada Lovelace", UserName: "ada.l",
		PreferredLanguage: "de-CH", LastPhone: "+41791234567", OrgId: "o1", OrgName: "Analytical & Co",
		CreationDate: timestamppb.New(born), ChangeDate: timestamppb.New(born.Add(time.Minute)),
	}
}

// Code returns the code of a mail: the end of the id, which is random.
func Code(notificationID string) string {
	return strings.ToUpper(notificationID[len(notificationID)-8:])
}

// ResolveMessageText returns texts with all placeholders, in German and English.
func (*Users) ResolveMessageText(
	_ context.Context, r *textv1.ResolveMessageTextRequest,
) (*textv1.ResolveMessageTextResponse, error) {
	language := "en"
	if strings.HasPrefix(r.PreferredLanguage, "de") {
		language = "de"
	}
	return &textv1.ResolveMessageTextResponse{Language: language, CustomText: &textv1.CustomText{
		Title: "Willkommen", PreHeader: "Konto bei {{.OrgName}}", Subject: r.Kind + " für {{.DisplayName}}",
		Greeting: "Guten Tag {{ .FirstName }}",
		Text: "{{.LastName}}|{{.NickName}}|{{.UserName}}|{{.LoginName}}|{{.LoginNames}}|{{.PreferredLoginName}}|" +
			"{{.LastEmail}}|{{.VerifiedEmail}}|" +
			"{{.LastPhone}}|{{.VerifiedPhone}}|{{.UserID}}|{{.OrgID}}|{{.CreationDate}}|{{.ChangeDate}}|" +
			"{{.Expiry}}|{{.Code}}",
		ButtonText: "Passwort setzen", FooterText: "Ihr {{.OrgName}}",
	}}, nil
}
