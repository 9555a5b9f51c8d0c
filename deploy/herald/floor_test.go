package main_test

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

	"herald/services/users"
	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/id"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/secret"
)

// floor is what the whole system is measured beside: HTTP → NATS → the rows of one import in one statement and
// commit: no checks, no callers, no relay. Postgres and NATS are set up as in `herald run`.
type floor struct {
	db    *pgxpool.Pool
	calls *nats.Conn
	org   string
}

// insert is what an import writes: the user, the event, and its place in the outbox.
const insert = `with event as (
	insert into events (id, aggregate, aggregate_id, name, organization_id, actor, data, time)
	values ($1, 'human', $2, 'imported', $3, 'bench', '{"state":"USER_STATE_ACTIVE","initMail":"INIT_MAIL_NOT_NEEDED"}', now()) returning position, time
), outboxed as (
	insert into outbox select position from event
), created as (
	insert into users (id, org_id, type, state, user_name, user_name_folded, first_name, first_name_folded, last_name, last_name_folded,
		display_name, display_name_folded, email, email_folded, email_verified, password_hash, sequence, created_at, changed_at)
	select $2, $3, 1, 1, $4, $4, 'Mini', 'mini', 'Mouse', 'mouse', 'Mini Mouse', 'mini mouse', $5, $5, true, $6, position, time, time from event
) select position from event`

func startFloor(b *testing.B) string {
	b.Helper()
	f := floor{org: id.New()}
	dir := dataDir(b)
	server, err := local.Start(b.Context(), local.Options{Dir: dir + "/postgres"})
	check(b, err)
	b.Cleanup(func() { _ = server.Stop(context.Background()) })
	keys, err := secret.ParseKeys(secret.NewKeyText())
	check(b, err)
	url, err := postgres.Provision(b.Context(), secret.NewText(server.URL()), keys, "users")
	check(b, err)
	f.db, err = postgres.Open(b.Context(), url, noop.NewTracerProvider())
	check(b, err)
	b.Cleanup(f.db.Close)
	check(b, postgres.Migrate(b.Context(), f.db, "event_version", event.Migrations))
	check(b, postgres.Migrate(b.Context(), f.db, "schema_version", users.Migrations))
	_, err = f.db.Exec(b.Context(), `insert into organizations (id, name, name_folded, primary_domain, state, `+
		`sequence, created_at, changed_at) values ($1, 'a', 'a', 'a', 1, 1, now(), now())`, f.org)
	check(b, err)
	f.serve(b, dir, keys)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	web := &http.Server{Handler: f}
	go func() { _ = web.Serve(l) }()
	b.Cleanup(func() { _ = web.Close() })
	return "http://" + l.Addr().String()
}

// serve answers on NATS as the users service would, with a worker a request.
func (f *floor) serve(b *testing.B, dir string, keys secret.Keys) {
	server, err := bus.Embedded{Dir: dir + "/nats", Keys: keys}.Start()
	check(b, err)
	b.Cleanup(func() { bus.Stop(server) })
	connect := func(user string) *nats.Conn {
		nc, err := nats.Connect("", nats.InProcessServer(server),
			nats.UserInfo(user, bus.Password(keys, user).Reveal()), nats.CustomInboxPrefix("_INBOX_"+user))
		check(b, err)
		b.Cleanup(nc.Close)
		return nc
	}
	f.calls = connect(bus.Gateway)
	_, err = connect("users").Subscribe(subject, func(m *nats.Msg) {
		go func() {
			var u struct{ UserID, UserName, Email, Hash string }
			if json.Unmarshal(m.Data, &u) != nil {
				return
			}
			var position int64
			if err := f.db.QueryRow(context.Background(), insert, id.New(), u.UserID, f.org, u.UserName, u.Email,
				u.Hash).Scan(&position); err != nil {
				b.Error(err)
			}
			_ = m.Respond(fmt.Appendf(nil, `{"userId":%q,"sequence":"%d"}`, u.UserID, position))
		}()
	})
	check(b, err)
}

const subject = "rpc.herald.users.v1.Users.ImportHumanUser"

func (f floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var u struct {
		UserName string
		Email    struct{ Email string }
		Hashed   struct{ Value string } `json:"hashedPassword"`
	}
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &u); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data, _ := json.Marshal(map[string]string{
		"UserID": id.New(), "UserName": u.UserName, "Email": u.Email.Email, "Hash": u.Hashed.Value,
	})
	m, err := f.calls.RequestWithContext(r.Context(), subject, data)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(m.Data)
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

var serial atomic.Int64

// person is an import of somebody new who needs no mail.
func person(verified bool) (name, body string) {
	name = fmt.Sprintf("user-%d-%d", time.Now().UnixNano(), serial.Add(1))
	return name, fmt.Sprintf(`{"userName":%q,"profile":{"firstName":"Mini","lastName":"Mouse"},"email":{"email":"%s@example.com","isEmailVerified":%t},"hashedPassword":{"value":"$pbkdf2-sha256$6400$0ZrzXitFSGltTQnBWOsdeQ$Y11AchqV4b0sUisdZd0Xr97KWoymNE0LNNrnEgY4H9M"}}`, name, name, verified)
}
