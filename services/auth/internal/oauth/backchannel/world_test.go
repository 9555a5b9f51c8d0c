package backchannel_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/auth/internal/oauth/backchannel"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/testworld"
	"herald/services/auth/internal/upstream"
	"herald/shared/boot"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

// projects stands in for the service projects, and has the addresses of applications by their ids.
type projects struct {
	projectsv1.UnimplementedInternalServer
	testkit.Unguarded
	mu    sync.Mutex
	uris  map[string]string
	state projectsv1.AppState
	// fails is the error of the next request, if it is not nil.
	fails error
}

func (p *projects) ResolveClient(
	_ context.Context, r *projectsv1.ResolveClientRequest,
) (*projectsv1.ResolveClientResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.fails; err != nil {
		p.fails = nil
		return nil, err
	}
	uri, there := p.uris[r.ClientId]
	if !there {
		return nil, fault.New(fault.NotFound, "APP_NOT_FOUND", "Application not found")
	}
	return &projectsv1.ResolveClientResponse{
		OrgId: "o1", Project: &projectsv1.Project{Id: "p1", State: projectsv1.ProjectState_PROJECT_STATE_ACTIVE},
		App: &projectsv1.App{Id: r.ClientId, State: p.state, Config: &projectsv1.App_OidcConfig{
			OidcConfig: &projectsv1.OidcConfig{BackChannelLogoutUri: uri, ClockSkew: durationpb.New(5 * time.Second)},
		}},
	}, nil
}

// world is a service whose notifiers run, with stand-ins for projects.
type world struct {
	testing.TB
	*boot.Service
	projects *projects
	// replicas share the work. Only the first is woken, and counts, unless the test wakes another one.
	replicas []*backchannel.Notifier
	keys     *signing.Keys
	lines    *testkit.Lines
}

// newWorld opens a service. Its applications are reached at private addresses only if that is allowed.
func newWorld(t *testing.T, private bool, replicas int) world {
	t.Helper()
	w := world{TB: t, lines: &testkit.Lines{}, projects: &projects{uris: map[string]string{},
		state: projectsv1.AppState_APP_STATE_ACTIVE}}
	g := testkit.Logged(t, testkit.Ground(t), 0, w.lines)
	w.Service = testworld.Kit.Open(t, g)
	testkit.Serve(t, g, "projects", w.projects, &projectsv1.Internal_ServiceDesc)
	testworld.ShareKeys(t, w.Service)
	db := store.New(w.Journal)
	var err error
	w.keys, err = signing.Open(t.Context(), signing.Config{Store: db, Sealing: w.Keys, Now: time.Now,
		Log: w.Service.Log})
	w.must(err)
	own := upstream.New(projectsv1.NewInternalClient(w.Calls), usersv1.NewInternalClient(w.Calls))
	for range replicas {
		w.replicas = append(w.replicas, backchannel.Start(w.Service, backchannel.Config{
			Store: db, Upstream: own, Keys: w.keys, Issuer: testworld.Public, Private: private, Now: time.Now,
			Log:     w.Service.Log,
			Metrics: w.Metrics,
		}))
	}
	testkit.Run(t, w.Service)
	return w
}

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// change changes what projects has.
func (w world) change(f func(*projects)) {
	w.projects.mu.Lock()
	defer w.projects.mu.Unlock()
	f(w.projects)
}

// dueNow makes all logouts due, and wakes the notifier.
func (w world) dueNow() {
	w.Helper()
	_, err := w.DB.Exec(w.Context(), `update logouts set due_at = now()`)
	w.must(err)
	w.replicas[0].Wake()
}

// serve makes an application with that id, whose back channel answers.
func (w world) serve(id string, answer http.HandlerFunc) {
	w.Helper()
	s := httptest.NewServer(answer)
	w.Cleanup(s.Close)
	w.change(func(p *projects) { p.uris[id] = s.URL + "/logout?tenant=1" })
}

// queue queues a logout of the session s1 for an application of an organization, and wakes the notifier.
func (w world) queue(clientID, orgID string, tries int) {
	w.Helper()
	_, err := w.DB.Exec(w.Context(), `insert into logouts (session_id, client_id, client_org_id, user_id, due_at, tries)
		values ('s1', $1, $2, 'u1', $3, $4)`, clientID, orgID, time.Now(), tries)
	w.must(err)
	w.replicas[0].Wake()
}

// until waits until a condition on the queue holds.
func (w world) until(condition string) {
	w.Helper()
	testkit.Until(w.TB, w.DB, "logouts", condition)
}

const empty = `not exists (select from logouts)`

// counted fails the test unless one try had that result.
func (w world) counted(result string) {
	w.Helper()
	var n float64
	families, err := w.Metrics.Gather()
	w.must(err)
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "herald_logout_notifications_total" && m.Label[0].GetValue() == result {
				n += m.Counter.GetValue()
			}
		}
	}
	if n != 1 {
		w.Errorf("counted %g times", n)
	}
}
