// Package consumer handles events of other services: it adds the owner of a new project, and removes the members of a
// removed project, the links to a removed identity provider, and what an application made in the name of a person when
// its access ends. It also requests the mails about what ends soon in all services, this one too.
package consumer

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/api/internals"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	authv1 "herald/shared/gen/herald/auth/v1"
	idpv1 "herald/shared/gen/herald/idp/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Handlers returns the handlers of these events.
func Handlers(u internals.Server) []event.Handler {
	return []event.Handler{
		event.On(func(ctx context.Context, d event.Delivery, created *projectsv1.ProjectCreated) error {
			return makeOwner(ctx, u, d, created.OwnerId)
		}),
		event.On(func(ctx context.Context, d event.Delivery, _ *projectsv1.ProjectRemoved) error {
			return u.Store.RemoveProjectMembers(ctx, d)
		}),
		event.On(func(ctx context.Context, d event.Delivery, _ *idpv1.IdpRemoved) error {
			return u.Store.RemoveIdpLinks(ctx, d)
		}),
		event.On(func(ctx context.Context, d event.Delivery, withdrawn *authv1.ConsentWithdrawn) error {
			return endMade(ctx, u, d, store.MadeBy{UserID: withdrawn.UserId, ClientID: withdrawn.ClientId})
		}),
		event.On(func(ctx context.Context, d event.Delivery, ended *authv1.AuthorizationEnded) error {
			return endMade(ctx, u, d, store.MadeBy{
				UserID: ended.UserId, ClientID: ended.ClientId, AuthorizationID: d.AggregateID,
			})
		}),
		noticing(u, (*usersv1.PersonalAccessTokenExpirationAnnounced).GetUserId),
		noticing(u, nobody[*usersv1.MachineKeyExpirationAnnounced]),
		noticing(u, nobody[*projectsv1.ApplicationKeyExpirationAnnounced]),
		noticing(u, nobody[*projectsv1.ApplicationSecretExpirationAnnounced]),
		noticing(u, nobody[*idpv1.IdpSecretExpirationAnnounced]),
	}
}

// noticing requests the mails about something that ends soon. user returns the user with the token, if it is one. There
// is no mail if the event came only after the end.
func noticing[E any, P interface {
	*E
	proto.Message
	GetExpirationDate() *timestamppb.Timestamp
}](u internals.Server, user func(P) string) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, announced P) error {
		if !announced.GetExpirationDate().AsTime().After(u.Now()) {
			return nil
		}
		return u.Store.RequestExpirationNotices(ctx, d, user(announced))
	})
}

// nobody is for what belongs to an organization and not to a person.
func nobody[P proto.Message](P) string { return "" }

// makeOwner makes the creator of a project its owner, in case projects could not request this at the
// creation. A user who was removed meanwhile does not become owner.
func makeOwner(ctx context.Context, u internals.Server, created event.Delivery, ownerID string) error {
	if ownerID == "" {
		return nil
	}
	_, err := u.MakeProjectOwner(ctx, &usersv1.MakeProjectOwnerRequest{
		OrgId: created.OrganizationID, ProjectId: created.AggregateID, UserId: ownerID,
	})
	if errors.Is(err, usersfault.ErrUserNotFound) {
		return nil
	}
	return err
}

// endMade removes what an application made in the name of a user. The user gets a notice if an authenticator app that
// logins ask for is removed. One whose secret the user made stays: an application that made new recovery codes for it,
// or verified it, could otherwise remove what protects the account. Only those codes end, because it knows them.
func endMade(ctx context.Context, u internals.Server, cause event.Delivery, by store.MadeBy) error {
	if err := u.Store.RemovePATsOf(ctx, cause, by); err != nil {
		return err
	}
	err := u.Store.RemoveOTPOf(ctx, by, func(f *domain.OTP) store.NoticedChange {
		removed := &usersv1.OtpRemoved{Cause: cause.ID}
		change := store.NoticedChange{Event: removed}
		change.Notice, removed.Notice = base.OTPNotice(f, domain.KindOTPRemoved, false)
		return change
	})
	if errors.Is(err, usersfault.ErrOTPNotFound) {
		err = u.Store.RemoveRecoveryCodesOf(ctx, by, &usersv1.OtpRecoveryCodesRemoved{Cause: cause.ID})
	}
	if errors.Is(err, usersfault.ErrOTPNotFound) {
		return nil
	}
	return err
}
