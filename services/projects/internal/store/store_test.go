package store_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("projects", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// happened is the event of every change here; the store does not depend on its type.
var happened = &emptypb.Empty{}

// world is a database with the store on it.
type world struct {
	testing.TB
	store.Store
	db *pgxpool.Pool // the test's own connections, because all of the store's may be waiting
}

func newWorld(t testing.TB) world {
	t.Helper()
	j := kit.Journal(t)
	db, err := pgxpool.NewWithConfig(t.Context(), j.DB.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return world{t, store.New(j), db}
}

// ids are those of an organization's project with one object of each kind in it.
type ids struct{ org, project, role, grant, app, key, user, userGrant string }

// make makes the objects of ids. The grant is to org-c.
func (w world) make(i ids) ids {
	w.Helper()
	ctx := w.Context()
	w.must(w.CreateProject(ctx, i.aProject(), &projectsv1.ProjectCreated{}))
	w.must(w.CreateRoles(ctx, i.org, i.project, []domain.Role{{Key: i.role}}, happened))
	w.must(w.CreateProjectGrant(ctx, i.aGrant(), happened))
	w.must(w.CreateUserGrant(ctx, i.aUserGrant(), happened))
	w.must(w.CreateApplication(ctx, i.anApp(), happened))
	w.must(w.AddAppKey(ctx, i.aKey(), []byte{1}, happened))
	return i
}

func (w world) must(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (i ids) aProject() domain.Project {
	return domain.Project{
		ID: i.project, OrgID: i.org, State: domain.ProjectActive, Settings: domain.Settings{Name: i.project},
	}
}

func (i ids) aGrant() domain.ProjectGrant {
	return domain.ProjectGrant{
		ID: i.grant, OrgID: i.org, ProjectID: i.project, GrantedOrgID: "org-c", State: domain.GrantActive,
		RoleKeys: []string{i.role},
	}
}

func (i ids) aUserGrant() domain.UserGrant {
	return domain.UserGrant{
		ID: i.userGrant, OrgID: i.org, ProjectID: i.project, UserID: i.user, RoleKeys: []string{i.role},
	}
}

func (i ids) anApp() domain.Application {
	return domain.Application{
		ID: i.app, OrgID: i.org, ProjectID: i.project, Name: i.app, State: domain.AppActive,
		API: &domain.APIConfig{AuthMethod: domain.APIBasic},
	}
}

func (i ids) aKey() domain.AppKey {
	return domain.AppKey{
		ID: i.key, OrgID: i.org, ProjectID: i.project, ApplicationID: i.app, ExpiresAt: time.Now().Add(time.Hour),
	}
}

// more returns ids of other objects in the same project.
func (i ids) more(suffix string) ids {
	i.grant, i.app, i.key = i.grant+suffix, i.app+suffix, i.key+suffix
	i.user, i.userGrant = i.user+suffix, i.userGrant+suffix
	return i
}

// touch changes no field. The result is still written.
func touch[T any](*T) (proto.Message, error) { return happened, nil }

// hold locks a row until the function is called, so that changes of it wait.
func (w world) hold(table, id string) (release func()) {
	w.Helper()
	tx, err := w.db.Begin(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if _, err := tx.Exec(w.Context(), `select from `+table+` where id = $1 for update`, id); err != nil {
		w.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(context.WithoutCancel(w.Context())); err != nil {
			w.Error(err)
		}
	}
}

// begin calls a function in the background and returns a channel for its error.
func begin(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}

// waiting returns when n connections wait for a lock.
func (w world) waiting(n int) {
	w.Helper()
	testkit.Waiting(w, w.db, n)
}

// renamed returns a change of a project's name.
func renamed(name string) func(*domain.Project) (proto.Message, error) {
	return func(p *domain.Project) (proto.Message, error) {
		p.Name = name
		return happened, nil
	}
}

func deactivated(p *domain.Project) (proto.Message, error) { return happened, p.Deactivate() }

func reactivated(p *domain.Project) (proto.Message, error) { return happened, p.Reactivate() }
