package store_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/store"
	"herald/shared/event"
	"herald/shared/gen/fault/idpfault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
	"herald/shared/testkit"
)

var kit = testkit.New("idp", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// happened is the event of every change, because the store does not look at events.
var happened = &emptypb.Empty{}

func newStore(t *testing.T) (store.Store, func(sql string, args ...any) int) {
	t.Helper()
	db := kit.Pool(t)
	return store.New(event.Journal{DB: db, Now: time.Now, Committed: func(event.Event) {}}),
		func(sql string, args ...any) int { return testkit.Rows(t, db, sql, args...) }
}

func anIdp(orgID, id string) domain.Idp {
	return domain.Idp{ID: id, OrgID: orgID, State: domain.IdpActive, Name: id, ClientID: id,
		ClientSecret: []byte("sealed"), Settings: domain.Settings{}.WithDefaults()}
}

func touch(i *domain.Idp) (proto.Message, error) {
	i.Name += "!"
	return happened, nil
}

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
		var list *heraldv1.SearchChangesResponse
		list, err := s.Changes(ctx, orgID, id, search.Page{Limit: 100})
		return len(list.GetResult()), err
	}},
	{[]string{"Offered"}, true, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		found, err := s.Offered(ctx, orgID)
		return len(slices.DeleteFunc(found, func(i domain.Idp) bool { return i.ID != id })), err
	}},
	{[]string{"NoteRefusedLogin"}, false, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		return 1, s.NoteRefusedLogin(ctx, orgID, id, &idpv1.IdpLoginRefused{})
	}},
	{[]string{"RemoveIdp"}, false, func(ctx context.Context, s store.Store, orgID, id string) (int, error) {
		return one(s.RemoveIdp(ctx, orgID, id, happened))
	}},
}

// No method finds or changes a provider of another organization. Each finds it in its own.
func TestOwnerInEveryQuery(t *testing.T) {
	t.Parallel()
	s, rows := newStore(t)
	for _, org := range []string{"org-a", "org-b"} {
		if _, err := s.CreateIdp(t.Context(), anIdp(org, "of "+org), &idpv1.IdpCreated{}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, m := range everything {
		names = append(names, m.names...)
		n, err := m.ask(t.Context(), s, "org-b", "of org-a")
		if m.list && (n != 0 || err != nil) || !m.list && !errors.Is(err, idpfault.ErrIdpNotFound) {
			t.Errorf("%s in another organization: %d, %v", m.names, n, err)
		}
	}
	if rows("events") != 2 {
		t.Error("something was written")
	}
	for _, m := range everything {
		if n, err := m.ask(t.Context(), s, "org-a", "of org-a"); n == 0 || err != nil {
			t.Errorf("%s where it is: %d, %v", m.names, n, err)
		}
	}
	if rows("idps where org_id = 'org-a'") != 0 || rows("idps where name = 'of org-b'") != 1 {
		t.Error("another one was changed or removed")
	}
	for org, want := range map[string]int{"org-a": 0, "org-b": 1} {
		if some, err := s.SomeIdps(t.Context(), org, 10); len(some) != want || err != nil {
			t.Errorf("%s has %v, %v", org, some, err)
		}
	}
	testkit.Listed[store.Store](t, names, map[string]string{"CreateIdp": "needs nothing that is there",
		"SomeIdps": "are of an organization that is gone"})
}

// Of several equal changes of a provider's state, or removals, at once one succeeds. Of several
// equal updates one writes an event.
func TestOneOfManyEqualChangesSucceeds(t *testing.T) {
	t.Parallel()
	s, rows := newStore(t)
	if _, err := s.CreateIdp(t.Context(), anIdp("org-a", "company"), happened); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*domain.Idp) (proto.Message, error)
		loser  string
	}{
		{func(i *domain.Idp) (proto.Message, error) { return happened, i.Deactivate() }, idpfault.ErrIdpNotActive.ID},
		{func(i *domain.Idp) (proto.Message, error) { return happened, i.Reactivate() },
			idpfault.ErrIdpNotInactive.ID},
	} {
		if n := testkit.Race(t, 20, func(int) error {
			_, err := s.ChangeIdp(t.Context(), "org-a", "company", c.change)
			return err
		}, c.loser); n != 1 {
			t.Errorf("%d succeeded, the others are %s", n, c.loser)
		}
	}
	before := rows("events")
	if n := testkit.Race(t, 20, func(int) error {
		_, err := s.ChangeIdp(t.Context(), "org-a", "company", func(i *domain.Idp) (proto.Message, error) {
			if i.Name == "Company" {
				return nil, nil
			}
			i.Name = "Company"
			return happened, nil
		})
		return err
	}); n != 20 || rows("events") != before+1 {
		t.Errorf("%d succeeded, %d events", n, rows("events")-before)
	}
	if n := testkit.Race(t, 20, func(int) error {
		_, err := s.RemoveIdp(t.Context(), "org-a", "company", happened)
		return err
	}, idpfault.ErrIdpNotFound.ID); n != 1 || rows("idps") != 0 {
		t.Errorf("%d removed it", n)
	}
}

// No request violates a constraint: the only one is the id's, which the service makes.
func TestConstraints(t *testing.T) {
	t.Parallel()
	testkit.Constrained(t, kit.Pool(t), nil, map[string]bool{}, map[string]string{
		"idps_pkey": "the api makes a new id",
	})
}
