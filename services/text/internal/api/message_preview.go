package api

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/mail"
	"herald/shared/mailer"
	"herald/shared/resource"
)

// sampleID is the id of a user who does not exist. So the link in a preview has no valid code.
const sampleID = "sample-user"

// sample returns the reader of a preview. It is always the same, so that equal texts have equal
// previews.
func sample() *usersv1.PrepareMailResponse {
	made := time.Date(2026, time.January, 5, 9, 30, 0, 0, time.UTC)
	return &usersv1.PrepareMailResponse{
		Code: "K7MPX4RD", Expiry: timestamppb.New(made.Add(72 * time.Hour)), Recipient: "ada.lovelace@example.com",
		FirstName: "Ada", LastName: "Lovelace", NickName: "Ada", DisplayName: "Ada Lovelace", UserName: "ada.lovelace",
		VerifiedEmail: "ada@example.com", LastPhone: "+41791234567", VerifiedPhone: "+41791234567",
		OrgId: "sample-organization", OrgName: "Example Ltd", CreationDate: timestamppb.New(made),
		ChangeDate: timestamppb.New(made), Expirations: []*heraldv1.Expiration{{
			Kind: heraldv1.ExpirationKind_EXPIRATION_KIND_MACHINE_KEY, Name: "deploy",
			ExpirationDate: timestamppb.New(made.AddDate(0, 0, 1)),
		}, {
			Kind: heraldv1.ExpirationKind_EXPIRATION_KIND_APPLICATION_KEY, Name: "shop",
			ExpirationDate: timestamppb.New(made.AddDate(0, 0, 7)),
		}}, FurtherExpirations: 3,
	}
}

// PreviewMessageText renders the mail as the notifier does, for a sample reader, with the default
// text for parts that are not given.
func (t Text) PreviewMessageText(
	ctx context.Context, r *textv1.SetMessageTextRequest,
) (*textv1.PreviewMessageTextResponse, error) {
	k, err := t.written(ctx, r.Kind, r.Language)
	if err != nil {
		return nil, err
	}
	own, err := given(r).Accept(mail.Kind(k.Kind))
	if err != nil {
		return nil, err
	}
	standard, err := t.Catalog.Default(k.Kind, k.Language)
	if err != nil {
		return nil, err
	}
	branding, err := t.branding(ctx, k.OrganizationID)
	if err != nil {
		return nil, err
	}
	reader := sample()
	rendered, err := mailer.Mail{
		PublicURL: t.PublicURL, Kind: mail.Kind(k.Kind), UserID: sampleID, Reader: reader, Language: k.Language,
		Text: customText(own.Or(standard), resource.Record{}, k), Branding: branding,
	}.Render()
	if err != nil {
		return nil, err
	}
	if !mail.Kind(k.Kind).Notice() {
		if rendered, err = rendered.Fill(reader.Code); err != nil {
			return nil, err
		}
	}
	return &textv1.PreviewMessageTextResponse{Subject: rendered.Subject, Text: rendered.Text, Html: rendered.HTML}, nil
}
