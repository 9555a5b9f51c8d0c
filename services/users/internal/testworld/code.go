package testworld

import (
	"strings"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// Mail prepares a user's newest mail, as the service notification does.
func (w *World) Mail(userID string) *usersv1.PrepareMailResponse {
	w.Helper()
	var id string
	if err := w.Service.DB.QueryRow(w.Context(), `select id from events
		where aggregate_id = $1 and (data->>'initMail' = 'INIT_MAIL_QUEUED' or data->>'mail' <> '') 
		order by position desc limit 1`, userID).Scan(&id); err != nil {
		w.Fatal(err)
	}
	m, err := w.Notify.PrepareMail(w.Context(), &usersv1.PrepareMailRequest{NotificationId: id, UserId: userID})
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// Initial creates a person who waits for the first mail, and returns the id.
func (w *World) Initial(name string) string {
	w.Helper()
	return w.Import(w.Admin, Minimal(name)).UserId
}

// Complete uses the code of an initialize-user mail, as its page does.
func (w *World) Complete(userID, code, password string) (string, error) {
	return w.CompleteKind("init", userID, code, password)
}

// CompleteKind uses the code of a mail of a kind, and returns the login name.
func (w *World) CompleteKind(kind, userID, code, password string) (string, error) {
	r, err := w.Auth.CompleteCode(w.Context(), &usersv1.CompleteCodeRequest{
		Kind: kind, UserId: userID, Code: code, Password: password,
	})
	return r.GetLoginName(), err
}

// Request asks for another mail of a kind.
func (w *World) Request(kind, userID string) {
	w.Helper()
	if _, err := w.Auth.RequestCode(w.Context(), &usersv1.RequestCodeRequest{Kind: kind, UserId: userID}); err != nil {
		w.Error(err)
	}
}

// Unwritten calls run and fails the test if it changes users, codes or events. Counted guesses do not
// matter.
func (w *World) Unwritten(run func()) {
	w.Helper()
	digest := func() (text string) {
		w.Helper()
		if err := w.Service.DB.QueryRow(w.Context(),
			`select md5(concat((select string_agg(u::text, '|' order by id) from users u),
			(select string_agg((to_jsonb(c) - 'tries')::text, '|' order by user_id, purpose) from codes c),
			(select max(position) from events)))`).Scan(&text); err != nil {
			w.Fatal(err)
		}
		return text
	}
	before := digest()
	run()
	if digest() != before {
		w.Error("something was written")
	}
}

// SetColumns sets columns of a user in the database, also to values that no method sets.
func (w *World) SetColumns(userID, set string) {
	w.Helper()
	w.Must(w.Service.DB.Exec(w.Context(), "update users set "+set+" where id = $1", userID))
}

// State returns the state of a user.
func (w *World) State(userID string) usersv1.UserState {
	w.Helper()
	return w.User(userID).State
}

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
		if n := w.Rows("events where id = $1 and $2 in (aggregate_id, data->>'userId') and time = $3", event, userID,
			m.Time.AsTime()); n != 1 {
			w.Errorf("%d events %v", n, m)
		}
	}
	return kinds, ids
}
