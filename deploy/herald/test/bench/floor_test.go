package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/deploy/herald/test/whole"
	"herald/services/users"
	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/resource"
	"herald/shared/secret"
)

// floor is the least that a request needs, with which Herald is compared: HTTP → NATS → one
// statement of Postgres, without checks, callers and relay. NATS has the settings of `herald run`.
type floor struct {
	b     *testing.B
	serve *nats.Conn
	calls *nats.Conn
	mux   *http.ServeMux
	url   string
}

func newFloor(b *testing.B) *floor {
	b.Helper()
	keys, err := secret.ParseKeys(secret.NewKeyText())
	check(b, err)
	server, err := bus.Embedded{Dir: whole.Dir(b) + "/nats", Keys: keys}.Start()
	check(b, err)
	b.Cleanup(func() { bus.Stop(server) })
	connect := func(user string) *nats.Conn {
		nc, err := nats.Connect("", nats.InProcessServer(server),
			nats.UserInfo(user, bus.Password(keys, user).Reveal()), nats.CustomInboxPrefix("_INBOX_"+user))
		check(b, err)
		b.Cleanup(nc.Close)
		return nc
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	f := &floor{b: b, serve: connect("users"), calls: connect(bus.Gateway), mux: http.NewServeMux(),
		url: "http://" + l.Addr().String()}
	web := &http.Server{Handler: f.mux}
	go func() { _ = web.Serve(l) }()
	b.Cleanup(func() { _ = web.Close() })
	return f
}

// handle serves a path. It sends what read returns for the request over NATS to answer, which runs
// in a goroutine per request.
func (f *floor) handle(path, method string, read func(*http.Request) ([]byte, error),
	answer func([]byte) ([]byte, error)) {
	subject := "rpc.herald.users.v1." + method
	_, err := f.serve.Subscribe(subject, func(m *nats.Msg) {
		go func() {
			data, err := answer(m.Data)
			if err != nil {
				f.b.Error(err)
			}
			_ = m.Respond(data)
		}()
	})
	check(f.b, err)
	f.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		data, err := read(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		m, err := f.calls.RequestWithContext(r.Context(), subject, data)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(m.Data)
	})
}

// row serves a path with the columns of the row that has the id in the path.
func row[T any](f *floor, db *pgxpool.Pool, path, method, sql string) {
	id := func(r *http.Request) ([]byte, error) { return []byte(r.PathValue("id")), nil }
	f.handle(path, method, id, func(id []byte) ([]byte, error) {
		found, err := postgres.One[T](context.Background(), db, sql, postgres.Args{"id": string(id)})
		if err != nil {
			return nil, err
		}
		return json.Marshal(found)
	})
}

// userRow and projectRow have the columns that Herald returns.
type userRow struct {
	ID, OrgID, UserName, FirstName, LastName, NickName, DisplayName, PreferredLanguage, Email, Phone string
	Type, State, Gender                                                                              int16
	EmailVerified, PhoneVerified                                                                     bool
	Sequence                                                                                         int64
	CreatedAt, ChangedAt                                                                             time.Time
}

type projectRow struct {
	ID, OrgID, Name                                         string
	State, PrivateLabelingSetting                           int16
	ProjectRoleAssertion, ProjectRoleCheck, HasProjectCheck bool
	Sequence                                                int64
	CreatedAt, ChangedAt                                    time.Time
}

// insert writes the rows of an import: the user, the event and its position in the outbox.
const insert = `with event as (
	insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
	values ($1, 'human', $2, $2, 'imported', $3, 'bench',
		'{"state":"USER_STATE_ACTIVE","initMail":"INIT_MAIL_NOT_NEEDED"}', now()) returning position, time
), outboxed as (
	insert into outbox select position from event
), created as (
	insert into users (id, org_id, type, state, user_name, user_name_folded, first_name, first_name_folded, last_name,
		last_name_folded, display_name, display_name_folded, email, email_folded, email_verified, password_hash,
		sequence, created_at, changed_at)
	select $2, $3, 1, 1, $4, $4, 'Mini', 'mini', 'Mouse', 'mouse', 'Mini Mouse', 'mini mouse', $5, $5, true, $6,
		position, time, time from event
) select position from event`

// startFloor starts a floor for imports. Postgres has the settings of `herald run`.
func startFloor(b *testing.B) string {
	b.Helper()
	db, org := floorTables(b, ownServer(b))
	f := newFloor(b)
	f.handle("/management/v1/users/human/_import", "Imports.ImportHumanUser", readImport,
		func(data []byte) ([]byte, error) {
			var u struct{ UserID, UserName, Email, Hash string }
			if err := json.Unmarshal(data, &u); err != nil {
				return nil, err
			}
			var position int64
			err := db.QueryRow(context.Background(), insert, resource.NewID(), u.UserID, org, u.UserName, u.Email,
				u.Hash).Scan(&position)
			return fmt.Appendf(nil, `{"userId":%q,"sequence":"%d"}`, u.UserID, position), err
		})
	return f.url
}

// floorTables makes the tables of users on a server, with one organization.
func floorTables(b *testing.B, server *local.Server) (db *pgxpool.Pool, org string) {
	b.Helper()
	keys, err := secret.ParseKeys(secret.NewKeyText())
	check(b, err)
	url, err := postgres.Provision(b.Context(), secret.NewText(server.URL()), keys, "users")
	check(b, err)
	db, err = postgres.Open(b.Context(), url, noop.NewTracerProvider())
	check(b, err)
	b.Cleanup(db.Close)
	check(b, postgres.Migrate(b.Context(), db, "event_version", event.Migrations))
	check(b, postgres.AddQuotas(b.Context(), db))
	check(b, postgres.Migrate(b.Context(), db, "schema_version", users.Migrations))
	org = resource.NewID()
	_, err = db.Exec(b.Context(), `insert into organizations (id, name, name_folded, primary_domain, state, sequence,`+
		` created_at, changed_at) values ($1, 'a', 'a', 'a', 1, 1, now(), now())`, org)
	check(b, err)
	return db, org
}

func readImport(r *http.Request) ([]byte, error) {
	var u struct {
		UserName string
		Email    struct{ Email string }
		Hashed   struct{ Value string } `json:"hashedPassword"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &u)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{
		"UserID": resource.NewID(), "UserName": u.UserName, "Email": u.Email.Email, "Hash": u.Hashed.Value,
	})
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

var serial atomic.Int64

// person returns the import of a new person who gets no mail.
func person(verified bool) (name, body string) {
	name = fmt.Sprintf("user-%d-%d", time.Now().UnixNano(), serial.Add(1))
	return name, fmt.Sprintf(`{"userName":%q,"profile":{"firstName":"Mini","lastName":"Mouse"},
		"email":{"email":"%s@example.com","isEmailVerified":%t},"hashedPassword":{"value":%q}}`,
		name, name, verified, whole.Hash)
}
