package store_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/store"
	"herald/shared/gen/fault/idpfault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("idp", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// happened is the event of every change, because the store does not look at events.
var happened = &emptypb.Empty{}

// world is a database with the store on it.
type world struct {
	testing.TB
	store.Store
	db *pgxpool.Pool
}

func newWorld(t testing.TB) world {
	t.Helper()
	j := kit.Journal(t)
	return world{t, store.New(j), j.DB}
}

// make creates a provider of an organization.
func (w world) make(orgID, id string) {
	w.Helper()
	if _, err := w.CreateIdp(w.Context(), anIdp(orgID, id), &idpv1.IdpCreated{}); err != nil {
		w.Fatal(err)
	}
}

func (w world) rows(sql string) int {
	w.Helper()
	return testkit.Rows(w, w.db, sql)
}

func anIdp(orgID, id string) domain.Idp {
	return domain.Idp{ID: id, OrgID: orgID, State: domain.IdpActive, Name: id, ClientID: id,
		ClientSecret: []byte("sealed"), Settings: domain.Settings{}.WithDefaults()}
}

func touch(i *domain.Idp) (proto.Message, error) {
	i.Name += "!"
	return happened, nil
}

func TestOneOfManyEqualChangesSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.make("org-a", "company")
	for _, c := range []struct {
		change  func(*domain.Idp) (proto.Message, error)
		refusal string
	}{
		{func(i *domain.Idp) (proto.Message, error) { return happened, i.Deactivate() }, idpfault.ErrIdpNotActive.ID},
		{func(i *domain.Idp) (proto.Message, error) { return happened, i.Reactivate() },
			idpfault.ErrIdpNotInactive.ID},
	} {
		testkit.Once(t, 20, func(int) error {
			_, err := w.ChangeIdp(t.Context(), "org-a", "company", c.change)
			return err
		}, c.refusal)
	}
	testkit.Once(t, 20, func(int) error {
		_, err := w.RemoveIdp(t.Context(), "org-a", "company", happened)
		return err
	}, idpfault.ErrIdpNotFound.ID)
	if w.rows("idps") != 0 {
		t.Error("the provider is still there")
	}
}

func TestManyEqualUpdatesWriteOneEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.make("org-a", "company")
	if n := testkit.Race(t, 20, func(int) error {
		_, err := w.ChangeIdp(t.Context(), "org-a", "company", func(i *domain.Idp) (proto.Message, error) {
			if i.Name == "Company" {
				return nil, nil
			}
			i.Name = "Company"
			return happened, nil
		})
		return err
	}); n != 20 || w.rows("events") != 2 {
		t.Errorf("%d succeeded, %d events", n, w.rows("events"))
	}
}

func TestNoRequestViolatesAConstraint(t *testing.T) {
	t.Parallel()
	testkit.Constrained(t, kit.Pool(t), nil, map[string]bool{}, map[string]string{
		"idps_pkey":                  "the api makes a new id",
		"refused_logins_pkey":        "on conflict the row is counted up",
		"refused_logins_idp_id_fkey": "the statement locks the provider",
	})
}
