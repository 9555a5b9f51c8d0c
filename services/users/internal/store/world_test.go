package store_test

import (
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("users", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// happened is the event of every change, because the store does not look at events. It may have no organization.
var happened = &usersv1.MemberAdded{}

// joined returns the event of every new member.
func joined(domain.Member) proto.Message { return happened }

// noted is happened, without a notice.
func noted(*domain.User) store.NoticedChange { return store.NoticedChange{Event: happened} }

// roles returns a change after which a member has these roles.
func roles(all ...string) func(*domain.Member) (proto.Message, error) {
	return func(m *domain.Member) (proto.Message, error) {
		m.Roles = all
		return happened, nil
	}
}

// world is a database with the store on it.
type world struct {
	testing.TB
	store.Store
	db *pgxpool.Pool
}

// keep is how long refused logins are kept.
const keep = 30 * 24 * time.Hour

func newWorld(t testing.TB) world {
	t.Helper()
	j := kit.Journal(t)
	return world{t, store.New(j), j.DB}
}

func (w world) must(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// org creates an organization whose name and domain are its id.
func (w world) org(id string) {
	w.Helper()
	w.must(w.CreateOrg(w.Context(), org(id), "", happened))
}

// user creates an active user whose login name is the id.
func (w world) user(orgID, id string) {
	w.Helper()
	w.must(w.CreateUser(w.Context(), user(orgID, id), &usersv1.HumanCreated{
		InitMail: usersv1.InitMail_INIT_MAIL_QUEUED,
	}))
}

// machine creates a machine user whose names are the id.
func (w world) machine(orgID, id string) {
	w.Helper()
	w.must(w.CreateUser(w.Context(), store.NewUser{
		User: domain.NewMachine(orgID, id, domain.MachineData{UserName: id, Name: id}),
	}, happened))
}

func org(id string) domain.Org {
	return domain.Org{ID: id, Name: id, PrimaryDomain: id, State: domain.OrgActive}
}

func user(orgID, id string) store.NewUser {
	return store.NewUser{User: domain.User{
		ID: id, OrgID: orgID, UserName: id, Type: domain.Human, State: domain.UserActive,
	}}
}

// changed is a change of an app without a notice.
var changed = store.NoticedChange{Event: happened}

// gone is that of a removed app.
func gone(*domain.OTP) store.NoticedChange { return changed }

// owner returns a membership of the owner of a project, or of an organization if projectID is
// empty.
func owner(userID, orgID, projectID string) domain.Member {
	role := "ORG_OWNER"
	if projectID != "" {
		role = "PROJECT_OWNER"
	}
	return domain.Member{UserID: userID, OrgID: orgID, ProjectID: projectID, Roles: []string{role}}
}

func token(userID, orgID, id string) domain.PAT {
	return domain.PAT{ID: id, UserID: userID, OrgID: orgID, ExpiresAt: time.Now(), Scopes: domain.PATScopes()}
}

func app(userID, orgID string) domain.OTP {
	return domain.OTP{UserID: userID, OrgID: orgID, State: domain.FactorNotReady, Secret: []byte("sealed")}
}

func machineKey(userID, orgID, id string) domain.MachineKey {
	return domain.MachineKey{ID: id, UserID: userID, OrgID: orgID, ExpiresAt: time.Now()}
}

// instance returns the objects of a first start. Their ids begin with a prefix.
func instance(prefix string) store.Instance {
	o := org(prefix + "-org")
	o.Name, o.PrimaryDomain = "Herald", "herald.localhost"
	administrator := user(o.ID, prefix+"-admin").User
	administrator.UserName = prefix
	return store.Instance{
		Org: o, Administrator: administrator, PAT: token(administrator.ID, o.ID, prefix+"-token"),
		PATHash: []byte(prefix),
	}
}

var instanceHappened = store.InstanceEvents{Org: happened, Administrator: happened, Member: happened, PAT: happened}

// whileLocked returns the result of a change that waits for a lock of tx. It commits tx once the change waits.
func (w world) whileLocked(tx pgx.Tx, change func() error) error {
	w.Helper()
	ended := make(chan error, 1)
	go func() { ended <- change() }()
	for waits := false; !waits; {
		select {
		case err := <-ended:
			w.Fatalf("the change did not wait: %v", err)
		default:
			if err := w.db.QueryRow(w.Context(), `select exists (select from pg_stat_activity
				where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits); err != nil {
				w.Fatal(err)
			}
		}
	}
	if err := tx.Commit(w.Context()); err != nil {
		w.Fatal(err)
	}
	return <-ended
}
