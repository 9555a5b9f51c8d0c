package internals

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// askedFor is how long after its event ListAskedMails lists a mail. Events are delivered within
// seconds. Older mails are not listed, so that a finished mail is not queued again.
const askedFor = 5 * time.Minute

// ListAskedMails lists the mails to a user of an organization that were requested in the last
// minutes, because their events may not have reached the service notification.
func (s Server) ListAskedMails(
	ctx context.Context, r *usersv1.ListAskedMailsRequest,
) (*usersv1.ListAskedMailsResponse, error) {
	if _, err := s.Store.User(ctx, r.OrgId, r.UserId); err != nil {
		return nil, err
	}
	asked, err := s.Store.AskedMails(ctx, r.OrgId, r.UserId, s.Now().Add(-askedFor))
	if err != nil {
		return nil, err
	}
	response := &usersv1.ListAskedMailsResponse{}
	for _, m := range asked {
		response.Result = append(response.Result, &usersv1.AskedMail{
			NotificationId: m.NotificationID, Kind: string(m.Kind), Time: timestamppb.New(m.Time),
		})
	}
	return response, nil
}
