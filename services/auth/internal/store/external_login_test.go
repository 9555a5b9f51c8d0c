package store_test

import (
	"errors"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/gen/fault/authfault"
)

// A login comes back once, until it expires.
func TestExternalLoginComesBackOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := domain.ExternalLogin{OrgID: "o", IdpID: "i", RequestID: "r", Language: "de", Again: true, Confirmed: "t/o",
		BegunAt: now.Add(-time.Minute), ExpiresAt: now.Add(time.Minute)}
	w.must(w.BeginExternalLogin(t.Context(), []byte("one"), l))
	old := l
	old.ExpiresAt = now
	w.must(w.BeginExternalLogin(t.Context(), []byte("old"), old))
	got, err := w.ExternalLogin(t.Context(), []byte("one"))
	if got.BegunAt, got.ExpiresAt = got.BegunAt.UTC(), got.ExpiresAt.UTC(); err != nil || got != l {
		t.Errorf("%+v, %v", got, err)
	}
	for _, cookie := range []string{"old", "two", ""} {
		if _, err := w.ExternalLogin(t.Context(), []byte(cookie)); !errors.Is(err, authfault.ErrExternalLoginGone) {
			t.Errorf("%q: %v", cookie, err)
		}
	}
	w.must(w.EndExternalLogin(t.Context(), []byte("one")))
	if err := w.EndExternalLogin(t.Context(), []byte("one")); !errors.Is(err, authfault.ErrExternalLoginGone) {
		t.Error(err)
	}
}

// The logins with accounts of a removed provider end, and no others.
func TestRemovedProviderEndsItsLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	credentials := map[string]string{"a": "idp:i1:x", "b": "idp:i1:", "c": "idp:i11:x", "d": "password",
		"e": "idp:i2:i1:",
		"f": "key:idp:i1:"}
	for id, credential := range credentials {
		s := session(id, "u-"+id)
		s.Credential = credential
		w.must(w.AddSession(t.Context(), []byte(id), s))
		w.must(w.BeginLogin(t.Context(), []byte(id), domain.Login{UserID: "u-" + id, Credential: credential,
			AMR: []string{}, AuthTime: now, ExpiresAt: now.Add(time.Minute)}))
		a := authorization(id, "u-"+id, time.Hour)
		a.Credential = credential
		w.issue(a, time.Hour)
	}
	for _, none := range []string{"", "i", "%", "i3"} {
		if more, err := w.DeleteOfIdp(t.Context(), of(none)); more || err != nil {
			t.Errorf("%q: %v, %v", none, more, err)
		}
	}
	if more, err := w.DeleteOfIdp(t.Context(), of("i1")); more || err != nil {
		t.Errorf("%v, %v", more, err)
	}
	for id := range credentials {
		gone := id == "a" || id == "b"
		_, err := w.Login(t.Context(), []byte(id))
		var left int
		w.must(w.db.QueryRow(t.Context(), `select count(*) from authorizations where id = $1`, id).Scan(&left))
		if (w.session(id) == "") != gone || (err != nil) != gone || (left == 0) != gone {
			t.Errorf("%s: session %q, login %v, %d authorizations", credentials[id], w.session(id), err, left)
		}
	}
}
