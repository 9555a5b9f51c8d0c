package internals

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// noticed are the kinds that are in mails about what ends soon. An invitation is a mail itself.
var noticed = []heraldv1.ExpirationKind{
	heraldv1.ExpirationKind_EXPIRATION_KIND_MACHINE_KEY, heraldv1.ExpirationKind_EXPIRATION_KIND_APPLICATION_KEY,
	heraldv1.ExpirationKind_EXPIRATION_KIND_PAT, heraldv1.ExpirationKind_EXPIRATION_KIND_CLIENT_SECRET,
	heraldv1.ExpirationKind_EXPIRATION_KIND_PROVIDER_SECRET,
}

// listExpirations adds to a mail what ends soon of the organization that the mail is about, and concerns the reader. It
// returns ErrNotificationObsolete if nothing does any more.
func (s Server) listExpirations(ctx context.Context, m store.Mail, out *usersv1.PrepareMailResponse) error {
	now := s.Now()
	read := &heraldv1.ReadExpirationsRequest{
		OrgId: m.AboutOrgID, Until: timestamppb.New(now.Add(domain.ExpirationsAhead)), Kinds: noticed,
		Limit: domain.MostExpirations, Usable: true,
	}
	all, err := s.Store.ExpirationsFor(ctx, m.User.ID, m.Owner, now, read)
	if err != nil {
		return err
	}
	if m.Owner {
		if all, err = s.AllExpirations(ctx, s.Projects, read, all); err != nil {
			return late(err)
		}
	}
	if len(all.Result) == 0 {
		return usersfault.ErrNotificationObsolete
	}
	out.OrgId, out.Expirations = m.AboutOrgID, all.Result
	out.FurtherExpirations = all.Total - int64(len(all.Result))
	return nil
}

// late returns ErrDeadlineExceeded instead of a fault that says that another service is away. The notifier would take
// it for one of users, without which no mail can be sent, and stop sending.
func late(err error) error {
	if code := fault.From(err).Code; code == fault.Unavailable || code == fault.Exhausted {
		return fault.ErrDeadlineExceeded
	}
	return err
}
