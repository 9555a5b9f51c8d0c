package store_test

import (
	"errors"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/gen/fault/authfault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/search"
	"herald/shared/secret"
)

func session(id, userID string) domain.Session {
	l := domain.Login{UserID: userID, UserGeneration: 1, OrgID: "o", OrgGeneration: 1, Credential: "password",
		AuthTime: now, AMR: []string{"pwd"}}
	return l.Session(id, "192.0.2.1", "a browser", now)
}

func (w world) session(cookie string) (id string) {
	w.Helper()
	found, there, err := w.Session(w.Context(), []byte(cookie))
	if err != nil || there != (found.ID != "") {
		w.Fatal(found, there, err)
	}
	return found.ID
}

// A session is found by its newest cookie only, and another user's session is never found.
func TestSessionIsFoundByNewestCookie(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	add := func(cookie string, s domain.Session) { w.must(w.AddSession(t.Context(), []byte(cookie), s)) }
	add("first", session("s1", "u1"))
	add("second", session("s1", "u1"))
	add("foreign", session("s1", "u2"))
	old := session("s2", "u1")
	old.ExpiresAt = now
	add("old", old)
	for cookie, want := range map[string]string{"first": "", "second": "s1", "foreign": "", "old": "", "": ""} {
		if got := w.session(cookie); got != want {
			t.Errorf("cookie %q is of session %q, want %q", cookie, got, want)
		}
	}
	if _, err := w.DeleteExpired(t.Context(), keep); err != nil || w.session("second") != "s1" {
		t.Errorf("after the sweep: %v", err)
	}
	for name, remove := range map[string]func() (bool, error){
		"another user": func() (bool, error) { return w.DeleteOfUser(t.Context(), of("u2")) },
		"another org":  func() (bool, error) { return w.DeleteOfOrg(t.Context(), of("p")) },
	} {
		if _, err := remove(); err != nil || w.session("second") != "s1" {
			t.Errorf("removing %s: %v", name, err)
		}
	}
	if _, err := w.DeleteOfUser(t.Context(), of("u1")); err != nil || w.session("second") != "" {
		t.Errorf("removing the user: %v", err)
	}
	add("third", session("s3", "u1"))
	if _, err := w.DeleteOfOrg(t.Context(), of("o")); err != nil || w.session("third") != "" {
		t.Errorf("removing the organization: %v", err)
	}
}

// A session ends with what its person gave clients, and nothing else does.
func TestEndedSessionEndsItsAuthorizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"s1", "s2"} {
		w.must(w.AddSession(t.Context(), []byte(id), session(id, "u1")))
		a := authorization("of "+id, "u1", time.Hour)
		a.SessionID = id
		w.issue(a, time.Hour)
	}
	old := session("s3", "u1")
	old.ExpiresAt = now
	w.must(w.AddSession(t.Context(), []byte("s3"), old))
	for _, end := range []struct {
		userID, id string
		want       error
	}{
		{"u2", "s1", authfault.ErrSessionNotFound}, {"u1", "s3", authfault.ErrSessionNotFound}, {"u1", "s1", nil},
		{"u1", "s1", authfault.ErrSessionNotFound}, {"u1", "", authfault.ErrSessionNotFound},
	} {
		ended, err := w.EndSession(t.Context(), "o", end.userID, end.id, &authv1.SessionEnded{UserId: "u1"})
		if !errors.Is(err, end.want) || err == nil && (ended.OrgID != "o" || !ended.At.ChangedAt.Equal(now)) {
			t.Errorf("%s ends %s: %+v, %v", end.userID, end.id, ended, err)
		}
	}
	for id, want := range map[string]bool{"s1": false, "s2": true} {
		_, err := w.Token(t.Context(), domain.KindAccess, secret.Hash("of "+id))
		if (w.session(id) == id) != want || (err == nil) != want {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// A user's list has the sessions of the user and the organization as they are now.
func TestListHasValidSessionsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, change := range map[string]func(*domain.Session){
		"good":             func(*domain.Session) {},
		"of somebody else": func(n *domain.Session) { n.UserID = "u2" },
		"of another org":   func(n *domain.Session) { n.OrgID = "p" },
		"before the user":  func(n *domain.Session) { n.UserGeneration = 0 },
		"before the org":   func(n *domain.Session) { n.OrgGeneration = 0 },
		"that has expired": func(n *domain.Session) { n.ExpiresAt = now },
	} {
		n := session(id, "u1")
		change(&n)
		w.must(w.AddSession(t.Context(), []byte(id), n))
	}
	used := session("good", "u1")
	used.UsedAt, used.Client, used.Agent = now.Add(time.Minute), "192.0.2.2", "another"
	foreign := used
	foreign.UserID, foreign.Client = "u2", "192.0.2.3"
	for _, n := range []domain.Session{used, foreign} {
		w.must(w.UseSession(t.Context(), n))
	}
	u := domain.Subject{ID: "u1", OrgID: "o", Generation: 1, Orgs: map[string]domain.Org{"o": {Generation: 1}}}
	list, err := w.SearchSessions(t.Context(), u, search.Page{Limit: 10})
	if err != nil || list.Total != 1 || list.Rows[0].ID != "good" || list.Rows[0].Client != "192.0.2.2" ||
		list.Rows[0].Agent != "another" || !list.Rows[0].UsedAt.Equal(used.UsedAt) {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestLoginEndsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := domain.Login{UserID: "u1", UserGeneration: 1, OrgID: "o", Credential: "password", AuthTime: now,
		AMR: []string{"pwd"}, NeedsFactor: true, ExpiresAt: now.Add(time.Minute)}
	w.must(w.BeginLogin(t.Context(), []byte("a"), l))
	w.must(w.AdvanceLogin(t.Context(), []byte("a"), l.WithFactor(now)))
	got, err := w.Login(t.Context(), []byte("a"))
	if err != nil || !got.Done() || got.UserID != "u1" || len(got.AMR) != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	l.ExpiresAt = now
	w.must(w.BeginLogin(t.Context(), []byte("old"), l))
	w.must(w.EndLogin(t.Context(), []byte("a")))
	for name, err := range map[string]error{
		"ended twice":        w.EndLogin(t.Context(), []byte("a")),
		"advanced after end": w.AdvanceLogin(t.Context(), []byte("a"), l),
		"found after end":    func() error { _, err := w.Login(t.Context(), []byte("a")); return err }(),
		"expired":            func() error { _, err := w.Login(t.Context(), []byte("old")); return err }(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !errors.Is(err, authfault.ErrLoginGone) {
				t.Errorf("%v", err)
			}
		})
	}
}
