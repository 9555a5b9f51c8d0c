package tenancy_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/contract"
	"herald/shared/secret"
)

// site is an organization with objects. member owns every new project, which is granted to the
// organization partner; home is a project that is never removed.
type site struct{ org, member, home, caller, partner string }

// world is an instance with three organizations beside the first one: the callers' own, a foreign
// one to which none of them belongs, and a third one.
type world struct {
	*whole.Instance
	t            *testing.T
	own, foreign site
	third, home  string
	this         visitor
	db           map[string]*pgx.Conn
	querying     sync.Mutex // a connection runs one query at a time
	importing    sync.Mutex // a caller has two imports at once at most
	settings     sync.Mutex // what an organization has once is removed by one call at a time
	conn         *grpc.ClientConn
	client       *http.Client
	publicKey    string
	count, texts atomic.Int64
	placing      sync.Mutex
	places       map[string]map[place]ids
	victims      []string // ids of the foreign organization's objects
	queries      map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := whole.Postgres(t)
	i := whole.Start(t, "HERALD_DATABASE_URL="+server.TCP())
	w := &world{
		Instance: i, t: t, db: map[string]*pgx.Conn{}, conn: i.Dial(t),
		places: map[string]map[place]ids{},
	}
	w.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: attackers}}
	for _, service := range services.Names() {
		w.db[service] = whole.Database(t, server, service)
	}
	pair, err := secret.NewPairs().Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.publicKey = base64.StdEncoding.EncodeToString(
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pair.Public}))
	_, me := w.Call("GET", "/auth/v1/users/me", "")
	w.home = me["user"].(map[string]any)["details"].(map[string]any)["resourceOwner"].(string)
	w.third = w.make(site{}, "org", nil, "org_id")
	w.own, w.foreign = w.newSite(w.third), w.newSite(w.home)
	w.this = w.visit("the project's owner", w.own.org, "", "")
	w.this.projects, w.own.member = true, w.this.id
	return w
}

func (w *world) newSite(partner string) site {
	s := site{org: w.make(site{}, "org", nil, "org_id"), partner: partner}
	s.member = w.make(s, "user", nil, "user_id")
	s.home = w.make(s, "project", nil, "project_id")
	s.caller = s.member
	return s
}

// methods returns the methods that callers from outside reach with a token.
func (w *world) methods() (all []contract.Method) {
	methods, err := contract.AllMethods()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range methods {
		if !m.Internal() && !m.Access.Public {
			all = append(all, m)
		}
	}
	return all
}

// settled waits until the foreign organization's mails are sent, after which nothing in it changes.
func (w *world) settled() {
	w.t.Helper()
	var mails int // the notices, such as those of new tokens
	if err := w.db["users"].QueryRow(w.t.Context(), `select count(*) from events where organization_id = $1
		and data->>'notice' <> ''`, w.foreign.org).Scan(&mails); err != nil {
		w.t.Fatal(err)
	}
	for _, made := range w.places {
		if made[foreign]["notification_id"] != "" {
			mails++
		}
	}
	w.counts(mails, `org_id = $1 and due_at is null`, w.foreign.org)
}

// mailKnown waits until the service notification has a mail.
func (w *world) mailKnown(id string) { w.counts(1, `id = $1`, id) }

func (w *world) counts(want int, where, arg string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := -1; n != want; <-tick.C {
		w.querying.Lock()
		err := w.db["notification"].QueryRow(ctx, `select count(*) from notifications where `+where, arg).Scan(&n)
		w.querying.Unlock()
		if err != nil {
			w.t.Errorf("%d of %d mails are there: %v", n, want, err)
			return
		}
	}
}

// must makes a request as the administrator in an organization, which must succeed.
func (w *world) must(org, route, body string) map[string]any {
	code, answer := w.post(org, route, body)
	if code != http.StatusOK {
		w.t.Errorf("%s %s answered %d %v", route, body, code, answer)
	}
	return answer
}

func (w *world) post(org, route, body string) (int, map[string]any) {
	r := w.send(w.Token, org, route, body)
	var answer map[string]any
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
		w.t.Errorf("%s answered %d %s", route, r.status, r.body)
	}
	return r.status, answer
}
