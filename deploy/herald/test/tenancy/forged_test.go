package tenancy_test

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/postgres/local"
	"herald/shared/secret"
)

// forger knows the passwords of a running instance's NATS users and the key that signs callers, to
// test the checks of the callers' header alone.
type forger struct {
	*testing.T
	keys  secret.Keys
	now   caller.Signer
	conns map[string]*nats.Conn
}

func newForger(t *testing.T, i *whole.Instance) *forger {
	t.Helper()
	text, err := os.ReadFile(i.Dir + "/data/master.key")
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{T: t, conns: map[string]*nats.Conn{}}
	if f.keys, err = secret.ParseKeys(string(text)); err != nil {
		t.Fatal(err)
	}
	f.now = caller.NewSigner(f.keys, time.Now)
	for _, user := range append(services.Names(), bus.Gateway) {
		f.conns[user] = connectAs(t, bus.Address{URL: "nats://" + i.NATS()}, f.keys, user)
	}
	return f
}

// ask sends a request with these headers and returns the fault, or nil for another answer.
func (f *forger) ask(m rawMethod, callers ...string) *fault.Fault {
	f.Helper()
	as := bus.Gateway
	if in := m.access.Internal; len(in) > 0 {
		as = in[0]
	}
	request := &nats.Msg{Subject: m.subject(), Header: nats.Header{}}
	if callers != nil {
		request.Header["Herald-Caller"] = callers
	}
	r, err := f.conns[as].RequestMsg(request, 30*time.Second)
	if err != nil {
		f.Fatalf("%s: %v", m.name, err)
	}
	if r.Header.Get("Fault") == "" {
		return nil
	}
	var s status.Status
	if err := proto.Unmarshal(r.Data, &s); err != nil {
		f.Fatal(err)
	}
	return fault.FromStatus(&s)
}

// owner returns a caller who may do everything, in an organization that does not exist.
func owner() caller.Caller {
	return caller.Caller{
		UserID: "nobody", OrganizationID: "nowhere", HomeOrganizationID: "nowhere", AuthenticatedAt: time.Now(),
		Scopes: []string{"openid"}, Memberships: []caller.Membership{{Roles: []string{"IAM_OWNER"}}},
	}
}

// altered returns a caller that was changed after it was signed.
func (f *forger) altered(change func(*heraldv1.Caller)) string {
	f.Helper()
	payload, mac, _ := strings.Cut(f.now.Sign(owner()), ".")
	b, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		f.Fatal(err)
	}
	var c heraldv1.Caller
	if err := proto.Unmarshal(b, &c); err != nil {
		f.Fatal(err)
	}
	change(&c)
	if b, err = proto.Marshal(&c); err != nil {
		f.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b) + "." + mac
}

// forgeries returns headers that every method must refuse.
func (f *forger) forgeries() map[string][]string {
	others, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		f.Fatal(err)
	}
	good := f.now.Sign(owner())
	past := caller.NewSigner(f.keys, func() time.Time { return time.Now().Add(-caller.Lifetime - time.Second) })
	all := map[string][]string{
		"none": nil, "empty": {""}, "garbage": {"garbage"}, "a dot": {"."}, "long": {strings.Repeat("A", 1<<16)},
		"unsigned":             {strings.SplitAfter(good, ".")[0]},
		"expired":              {past.Sign(owner())},
		"another key":          {caller.NewSigner(others, time.Now).Sign(owner())},
		"two":                  {good, good},
		"another organization": {f.altered(func(c *heraldv1.Caller) { c.OrganizationId = "elsewhere" })},
		"another role":         {f.altered(func(c *heraldv1.Caller) { c.Memberships = nil })},
		"a service by hand":    {f.altered(func(c *heraldv1.Caller) { c.UserId, c.Service = "", "gateway" })},
		"longer":               {f.altered(func(c *heraldv1.Caller) { c.ExpiresAt += time.Hour.Milliseconds() })},
	}
	for _, s := range append(services.Names(), bus.Gateway) {
		service := caller.Caller{Service: s}
		all["expired "+s] = []string{past.Sign(service)}
		all["two, "+s] = []string{f.now.Sign(service), good}
		all[s+" with another key"] = []string{caller.NewSigner(others, time.Now).Sign(service)}
	}
	return all
}

// strangers returns correctly signed callers who may not call the method.
func (f *forger) strangers(m rawMethod) map[string]string {
	all := map[string]string{"nobody": f.now.Sign(caller.Caller{})}
	for _, s := range append(services.Names(), bus.Gateway, bus.Operator, "") {
		all["service "+s] = f.now.Sign(caller.Caller{Service: s})
	}
	for _, s := range m.access.Internal {
		delete(all, "service "+s)
	}
	somebody := owner()
	if somebody.Memberships = nil; m.access.Permission != "" {
		all["a user without roles"] = f.now.Sign(somebody)
		somebody.Memberships = []caller.Membership{{OrganizationID: "elsewhere", Roles: []string{"ORG_OWNER"}}}
		all["an owner elsewhere"] = f.now.Sign(somebody)
	}
	if len(m.access.Internal) > 0 {
		all["a user"] = f.now.Sign(owner())
	}
	return all
}

// Every method refuses a request on the bus, unless its caller was signed by the system less than 30
// seconds ago and may call the method.
func TestForgedCallers(t *testing.T) {
	t.Parallel()
	server := whole.Postgres(t)
	i := whole.Start(t, "HERALD_DATABASE_URL="+server.TCP())
	f := newForger(t, i)
	before := changes(t, server)
	methods, _ := contracts(t)
	for _, m := range methods {
		for what, callers := range f.forgeries() {
			if got := f.ask(m, callers...); got == nil || got.Code != fault.Unauthenticated ||
				got.ID != fault.ErrCallerNotAuthentic.ID {
				t.Errorf("%s by %s: %v", m.name, what, got)
			}
		}
		for who, header := range f.strangers(m) {
			if got := f.ask(m, header); got == nil || got.Code != fault.Unauthenticated && got.Code != fault.Denied {
				t.Errorf("%s by %s: %v", m.name, who, got)
			}
		}
	}
	if after := changes(t, server); after != before {
		t.Errorf("%d changes were made", after-before)
	}
	for _, m := range methods {
		good := owner()
		if len(m.access.Internal) > 0 {
			good = caller.Caller{Service: m.access.Internal[0]}
		}
		got := f.ask(m, f.now.Sign(good))
		for _, refusal := range []*fault.Fault{fault.ErrCallerNotAuthentic, fault.ErrUnauthenticated,
			fault.ErrPermissionDenied} {
			if got != nil && got.ID == refusal.ID {
				t.Errorf("%s refused whom it is for: %v", m.name, got)
			}
		}
	}
}

// changes returns the number of changes that all services have made.
func changes(t *testing.T, server *local.Server) (n int) {
	t.Helper()
	for _, service := range services.Names() {
		var own int
		// Auth makes its signing keys by itself, some of them a moment after its start; no method does.
		if err := whole.Database(t, server, service).QueryRow(t.Context(),
			"select count(*) from events where aggregate <> 'signing_key'").Scan(&own); err != nil {
			t.Fatal(err)
		}
		n += own
	}
	return n
}
