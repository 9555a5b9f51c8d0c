package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/store"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/search"
	"herald/shared/testkit"
)

// asked is a call of a method of the store about a provider of an organization. It returns how many
// it found or changed.
type asked struct {
	names []string // a search has one for the query and one to run it
	list  bool     // returns nothing where other methods return a fault
	ask   func(ctx context.Context, s store.Store, orgID, id string) (int, error)
}

func one[T any](_ T, err error) (int, error) { return 1, err }

// everything has a call of every method about an organization. The removal comes last.
var everything = []asked{
	{[]string{"Idp"}, false, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		return one(s.Idp(ctx, orgID, id))
	}},
	{[]string{"Some"}, true, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		found, err := s.Some(ctx, orgID, []string{id})
		return len(found), err
	}},
	{[]string{"ChangeIdp"}, false, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		return one(s.ChangeIdp(ctx, orgID, id, touch))
	}},
	{[]string{"Idps", "SearchIdps"}, true, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		list, err := s.SearchIdps(ctx, s.Idps(orgID).Where("id = ?", id), search.Page{Limit: 100})
		return int(list.Total), err
	}},
	{[]string{"Changes"}, true, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		list, err := s.Changes(ctx, orgID, id, search.Page{Limit: 100})
		return len(list.GetResult()), err
	}},
	{[]string{"Offered"}, true, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		found, err := s.Offered(ctx, orgID)
		return len(slices.DeleteFunc(found, func(i domain.Idp) bool { return i.ID != id })), err
	}},
	{[]string{"NoteRefusedLogin"}, false, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		return 1, s.NoteRefusedLogin(ctx, orgID, id, "WHY", time.Now(), report)
	}},
	{[]string{"RemoveIdp"}, false, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		return one(s.RemoveIdp(ctx, orgID, id, happened))
	}},
}

// No method finds or changes a provider of another organization. Each finds it in its own.
func TestQueriesFindOnlyObjectsOfTheirOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.make("org-a", "of org-a")
	w.make("org-b", "of org-b")
	var names []string
	for _, m := range everything {
		names = append(names, m.names...)
		t.Run(m.names[0]+" in another organization", func(t *testing.T) {
			n, err := m.ask(t.Context(), w.Store, "org-b", "of org-a")
			if m.list && (n != 0 || err != nil) || !m.list && !errors.Is(err, idpfault.ErrIdpNotFound) {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	if w.rows("events") != 2 {
		t.Error("something was written")
	}
	for _, m := range everything {
		t.Run(m.names[0], func(t *testing.T) {
			if n, err := m.ask(t.Context(), w.Store, "org-a", "of org-a"); n == 0 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	if w.rows("idps where org_id = 'org-a'") != 0 || w.rows("idps where name = 'of org-b'") != 1 {
		t.Error("another one was changed or removed")
	}
	for org, want := range map[string]int{"org-a": 0, "org-b": 1} {
		if some, err := w.SomeIdps(t.Context(), org, 10); len(some) != want || err != nil {
			t.Errorf("%s has %v, %v", org, some, err)
		}
	}
	testkit.Listed[store.Store](t, names, map[string]string{
		"CreateIdp": "needs no existing object", "SomeIdps": "reads for a removed organization",
		"ReportRefusedLogins": "writes the events of all organizations",
		"Events":              "users names the organization: TestReadEvents",
		"Expirations":         "users names the organization: TestClientSecretExpires",
	})
}
