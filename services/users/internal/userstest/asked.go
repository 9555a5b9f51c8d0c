package userstest

import (
	"strings"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// Asked returns the kinds and the ids of the mails that were requested in the last minutes, newest
// first.
func (w *World) Asked(orgID, userID string) (kinds, ids []string) {
	w.Helper()
	r, err := w.Notify.ListAskedMails(w.Context(), &usersv1.ListAskedMailsRequest{OrgId: orgID, UserId: userID})
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range r.Result {
		kinds, ids = append(kinds, m.Kind), append(ids, m.NotificationId)
		event := strings.TrimSuffix(m.NotificationId, "-notice")
		if n := w.Rows("events where id = $1 and aggregate_id = $2 and time = $3", event, userID,
			m.Time.AsTime()); n != 1 {
			w.Errorf("%d events %v", n, m)
		}
	}
	return kinds, ids
}
