package notification

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/fault"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/testkit"
)

// people stands in for the services users and text. Its events are sent like real ones.
type people struct {
	testing.TB
	service *boot.Service // users
	mu      sync.Mutex
	// answer replaces the usual answer of PrepareMail; nil for the usual one.
	answer func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error)
	// asked returns the answer of ListAskedMails; nil for an empty one.
	asked func() ([]*usersv1.AskedMail, error)
	// renew returns the ids of requested new mails, me the caller.
	renew func(ctx context.Context, kind, userID string) (string, error)
	me    *usersv1.User
	usersv1.UnimplementedUsersServer
	usersv1.UnimplementedCredentialsServer
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	textv1.UnimplementedTextServer
}

func newPeople(t testing.TB, g boot.Ground) *people {
	t.Helper()
	p := &people{TB: t}
	for name, register := range map[string]func(boot.Registrar){
		"users": func(r boot.Registrar) {
			usersv1.RegisterUsersServer(r, p)
			usersv1.RegisterCredentialsServer(r, p)
			usersv1.RegisterInternalServer(r, p)
		},
		"text": func(r boot.Registrar) { textv1.RegisterTextServer(r, p) },
	} {
		s, err := g.Open(t.Context(), name, kit.Database(t), Migrations)
		if err != nil {
			t.Fatal(err)
		}
		if name == "users" {
			p.service = s
		}
		if err := s.Serve(register); err != nil {
			t.Fatal(err)
		}
		testkit.Run(t, s)
	}
	return p
}

// ask sends an event that asks for a mail and returns the mail's id.
func (p *people) ask(userID string) string {
	p.Helper()
	return p.happen(userID, &usersv1.HumanImported{InitMail: usersv1.InitMail_INIT_MAIL_QUEUED})
}

func (p *people) happen(userID string, m proto.Message) string {
	p.Helper()
	eventID := resource.NewID()
	p.happenAs(eventID, userID, m)
	return eventID
}

// happenAs sends an event with a given id.
func (p *people) happenAs(eventID, userID string, m proto.Message) {
	p.Helper()
	save := event.Statement{AggregateID: userID, OrganizationID: "o1", EventID: eventID}
	if _, err := p.service.Journal.Create(p.Context(), m, save); err != nil {
		p.Fatal(err)
	}
}

// tells sets the answer of ListAskedMails for Ada.
func (p *people) tells(mails ...*usersv1.AskedMail) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = func() ([]*usersv1.AskedMail, error) { return mails, nil }
}

func (p *people) answers(f func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

// PrepareMail returns Ada's data for every user. The code is a function of the notification's id.
func (p *people) PrepareMail(_ context.Context, r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
	p.mu.Lock()
	answer := p.answer
	p.mu.Unlock()
	if answer != nil {
		return answer(r)
	}
	return person(r), nil
}

// ListAskedMails knows only Ada, a user of o1.
func (p *people) ListAskedMails(
	ctx context.Context, r *usersv1.ListAskedMailsRequest,
) (*usersv1.ListAskedMailsResponse, error) {
	if c := caller.From(ctx); c.Service != "notification" || c.UserID != "" {
		p.Errorf("%+v asks for mails", c)
	}
	if r.OrgId != "o1" || r.UserId != "ada" {
		return nil, fault.New(fault.NotFound, "USER_NOT_FOUND", "User not found")
	}
	p.mu.Lock()
	asked := p.asked
	p.mu.Unlock()
	if asked == nil {
		return &usersv1.ListAskedMailsResponse{}, nil
	}
	mails, err := asked()
	return &usersv1.ListAskedMailsResponse{Result: mails}, err
}

// ResendInitialization asks for an init mail.
func (p *people) ResendInitialization(
	ctx context.Context, r *usersv1.ResendInitializationRequest,
) (*usersv1.ResendInitializationResponse, error) {
	id, err := p.renew(ctx, "init", r.UserId)
	return &usersv1.ResendInitializationResponse{NotificationId: id}, err
}

// ResendEmailVerification asks for a verifyemail mail.
func (p *people) ResendEmailVerification(
	ctx context.Context, r *usersv1.ResendEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	id, err := p.renew(ctx, "verifyemail", r.UserId)
	return &usersv1.ResendEmailVerificationResponse{NotificationId: id}, err
}

// RequestPasswordReset asks for a passwordreset mail.
func (p *people) RequestPasswordReset(
	ctx context.Context, r *usersv1.RequestPasswordResetRequest,
) (*usersv1.RequestPasswordResetResponse, error) {
	id, err := p.renew(ctx, "passwordreset", r.UserId)
	return &usersv1.RequestPasswordResetResponse{NotificationId: id}, err
}

// GetMyUser returns me.
func (p *people) GetMyUser(context.Context, *usersv1.GetMyUserRequest) (*usersv1.GetMyUserResponse, error) {
	return &usersv1.GetMyUserResponse{User: p.me}, nil
}

var born = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func person(r *usersv1.PrepareMailRequest) *usersv1.PrepareMailResponse {
	return &usersv1.PrepareMailResponse{
		Code: code(r.NotificationId), Expiry: timestamppb.New(born.Add(72 * time.Hour)), Recipient: "ada@example.com",
		FirstName: "Ada", LastName: "Lovelace", NickName: "Countess", DisplayName: "Ada Lovelace", UserName: "ada.l",
		PreferredLanguage: "de-CH", LastPhone: "+41791234567", OrgId: "o1", OrgName: "Analytical & Co",
		CreationDate: timestamppb.New(born), ChangeDate: timestamppb.New(born.Add(time.Minute)),
	}
}

// code returns the end of the id, which is random.
func code(notificationID string) string {
	return strings.ToUpper(notificationID[len(notificationID)-8:])
}

// ResolveMessageText returns texts with all placeholders, in German and English.
func (*people) ResolveMessageText(
	_ context.Context, r *textv1.ResolveMessageTextRequest,
) (*textv1.ResolveMessageTextResponse, error) {
	subject := map[string]string{"init": "Konto für {{.DisplayName}}", "verifyemail": "Adresse {{.LastEmail}}",
		"passwordreset": "Passwort von {{.UserName}}", "emailchanged": "Geändert: {{.LastEmail}}",
		"passwordchanged": "Geändert: Passwort von {{.ChangedBy}}", "otpadded": "Geändert: App von {{.ChangedBy}}",
		"otpremoved": "Geändert: keine App", "recoverycodeused": "Geändert: ein Code weniger"}[r.Kind]
	if subject == "" || r.OrgId == "" {
		return &textv1.ResolveMessageTextResponse{}, nil
	}
	language := "en"
	if strings.HasPrefix(r.PreferredLanguage, "de") {
		language = "de"
	}
	return &textv1.ResolveMessageTextResponse{Language: language, CustomText: &textv1.CustomText{
		Title: "Willkommen", PreHeader: "Konto bei {{.OrgName}}", Subject: subject,
		Greeting: "Guten Tag {{ .FirstName }}",
		Text: "{{.LastName}}|{{.NickName}}|{{.UserName}}|{{.LoginName}}|{{.LoginNames}}|{{.PreferredLoginName}}|" +
			"{{.LastEmail}}|{{.VerifiedEmail}}|" +
			"{{.LastPhone}}|{{.VerifiedPhone}}|{{.UserID}}|{{.OrgID}}|{{.CreationDate}}|{{.ChangeDate}}|" +
			"{{.Expiry}}|{{.Code}}",
		ButtonText: "Passwort setzen", FooterText: "Ihr {{.OrgName}}",
	}}, nil
}
