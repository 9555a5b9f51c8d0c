package store_test

import (
	"errors"
	"fmt"
	"testing"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/testkit"
)

// link returns an account at a provider.
func link(idpID, externalID string) domain.IdpLink {
	return domain.IdpLink{IdpID: idpID, ExternalUserID: externalID, DisplayName: externalID}
}

// createLinked creates a user who is linked to an account.
func (w world) createLinked(orgID, id, idpID, externalID string) error {
	u := user(orgID, id)
	u.IdpLinks = []domain.IdpLink{link(idpID, externalID)}
	_, err := w.CreateUser(w.Context(), u, happened)
	return err
}

// addLink links a user of org-a to another account.
func (w world) addLink(id, idpID, externalID string) error {
	l := link(idpID, externalID)
	l.UserID, l.OrgID = id, "org-a"
	_, err := w.AddIdpLink(w.Context(), l, mayLink)
	return err
}

func mayLink(u *domain.User) (store.NoticedChange, error) { return noted(u), nil }

// A user is linked to no more accounts than the maximum, also if several are linked at once.
func TestIdpLinkLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.user("org-a", "u1")
	w.user("org-a", "u2")
	w.must(nil, w.addLink("u2", "idp-a", "of u2"))
	w.must(nil, postgres.SetQuotas(t.Context(), w.db, quota.Settings{Quotas: "idp_links=0,idp_links@org-a=7"}))
	made := testkit.Race(t, 12, func(i int) error {
		return w.addLink("u1", "idp-a", fmt.Sprint(i))
	}, usersfault.ErrIdpLinkLimit.ID)
	if n := testkit.Rows(t, w.db, "user_idp_links where user_id = 'u1'"); made != 7 || n != made {
		t.Errorf("%d links were made, there are %d", made, n)
	}
}

// Whoever set a user's password is a maker of the links that a login with it adds. So these links end with the user's
// promotion.
func TestPlantedLinks(t *testing.T) {
	t.Parallel()
	w := newPlantedWorld(t)
	l := link("idp-a", "planted")
	l.UserID, l.OrgID = "k", "org-a"
	w.must(w.AddIdpLink(by(t.Context(), "k", "password"), l, mayLink))
	w.has(map[string]int{"user_idp_links where external_user_id = 'planted' and makers = '{a,k}'": 1})
	w.must(w.CreateMember(t.Context(), owner("k", "org-a", ""), joined))
	w.has(map[string]int{"user_idp_links where external_user_id = 'planted'": 0})
}

// All links to a removed provider are removed, with an event for each user. The users and their
// other links stay. The provider's event can be delivered twice.
func TestRemoveIdpLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	const users = 2500
	w.must(w.db.Exec(t.Context(), `insert into users (id, org_id, type, state, user_name, user_name_folded, sequence,
			created_at, changed_at)
		select 'u' || n, 'org-a', 1, 1, 'u' || n, 'u' || n, 1, now(), now() from generate_series(1, $1) n`, users))
	w.must(w.db.Exec(t.Context(), `insert into user_idp_links (user_id, idp_id, external_user_id, tenant_id,
			display_name, makers, sequence, created_at, changed_at)
		select u.id, p, u.id || a, '', '', '{}', 1, now(), now()
		from users u, unnest('{idp-a,idp-b}'::text[]) p, unnest('{first,second}'::text[]) a`))
	removed := event.Delivery{ID: "cause", AggregateID: "idp-a", OrganizationID: "org-a", Actor: "somebody"}
	for range 2 {
		if err := w.RemoveIdpLinks(t.Context(), removed); err != nil {
			t.Fatal(err)
		}
		if a, b := testkit.Rows(t, w.db, "user_idp_links where idp_id = 'idp-a'"), testkit.Rows(t, w.db,
			"user_idp_links where idp_id = 'idp-b'"); a != 0 || b != 2*users {
			t.Errorf("%d links stay, and %d to another provider", a, b)
		}
		const each = `(select distinct aggregate_id from events where aggregate = 'idp_link' and name = 'removed'
			and data = '{"idpId": "idp-a", "cause": "cause"}' and actor = 'somebody' and organization_id = 'org-a') x`
		if n := testkit.Rows(t, w.db, each); n != users {
			t.Errorf("%d users have an event", n)
		}
		if n := testkit.Rows(t, w.db, "events where aggregate = 'idp_link'"); n != users {
			t.Errorf("%d events", n)
		}
	}
	if n := testkit.Rows(t, w.db, "users"); n != users {
		t.Errorf("%d users stay", n)
	}
}

// The removal of a provider waits for a user who is just being linked, and later links are refused,
// so that no link stays.
func TestLinkedWhileRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	tx, err := w.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.must(tx.Exec(t.Context(), `with u as (
			insert into users (id, org_id, type, state, user_name, user_name_folded, sequence, created_at, changed_at)
			values ('u1', 'org-a', 1, 1, 'u1', 'u1', 1, now(), now()) returning id
		)
		insert into user_idp_links (user_id, idp_id, external_user_id, tenant_id, display_name, makers, sequence,
			created_at, changed_at)
		select id, 'idp-a', 'mini', '', '', '{}', 1, now(), now() from u`))
	removed, later := make(chan error, 1), make(chan error, 1)
	go func() { removed <- w.RemoveIdpLinks(t.Context(), event.Delivery{ID: "c", AggregateID: "idp-a"}) }()
	testkit.Waiting(t, w.db, 1)
	go func() { later <- w.createLinked("org-a", "u2", "idp-a", "moritz") }()
	testkit.Waiting(t, w.db, 2)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
	if err := <-later; !errors.Is(err, usersfault.ErrIdpUnknown) {
		t.Errorf("linked afterwards: %v", err)
	}
	if n := testkit.Rows(t, w.db, "user_idp_links"); n != 0 {
		t.Errorf("%d links stay", n)
	}
}

// Of twenty links to one account at once one succeeds, and of twenty removals of a link at once
// too.
func TestOneLinkOfTwenty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	if n := testkit.Race(t, 20, func(i int) error {
		return w.createLinked("org-a", fmt.Sprint("u", i), "idp-a", "mini")
	}, usersfault.ErrIdpLinkTaken.ID); n != 1 || testkit.Rows(t, w.db, "users") != 1 {
		t.Errorf("%d are linked", n)
	}
	var id string
	if err := w.db.QueryRow(t.Context(), `select id from users`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	key := link("idp-a", "mini")
	key.OrgID, key.UserID = "org-a", id
	testkit.Once(t, 20, func(int) error {
		_, err := w.RemoveIdpLink(t.Context(), key, happened)
		return err
	}, usersfault.ErrIdpLinkNotFound.ID)
}
