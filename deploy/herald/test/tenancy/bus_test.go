package tenancy_test

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/deploy/herald/internal/command"
	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/bus"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
)

// internals are the internal methods with their callers. forwards are the methods that a service may
// call in a user's name. They repeat the contracts on purpose, so that no method is opened by
// mistake.
var (
	internals = map[string][]string{
		"herald.auth.v1.Auth.ExternalPage":              {"gateway"},
		"herald.auth.v1.Auth.OpenEndpoint":              {"gateway"},
		"herald.auth.v1.Auth.OpenPage":                  {"gateway"},
		"herald.auth.v1.Auth.ResolveToken":              {"gateway"},
		"herald.auth.v1.Auth.ServeEndpoint":             {"gateway"},
		"herald.auth.v1.Auth.ServePage":                 {"gateway"},
		"herald.auth.v1.Events.ReadEvents":              {"users"},
		"herald.idp.v1.Events.ReadEvents":               {"users"},
		"herald.idp.v1.Idps.BeginIdpLogin":              {"auth"},
		"herald.idp.v1.Idps.FinishIdpLogin":             {"auth"},
		"herald.idp.v1.Idps.ListOfferedIdps":            {"auth"},
		"herald.idp.v1.Idps.NoteRefusedLogin":           {"auth"},
		"herald.idp.v1.Idps.ReadExpirations":            {"users"},
		"herald.idp.v1.Idps.ResolveIdps":                {"users", "auth"},
		"herald.notification.v1.Events.ReadEvents":      {"users"},
		"herald.projects.v1.Events.ReadEvents":          {"users"},
		"herald.projects.v1.Internal.FindTaken":         {"users"},
		"herald.projects.v1.Internal.ReadExpirations":   {"users"},
		"herald.projects.v1.Internal.ResolveAccess":     {"auth"},
		"herald.projects.v1.Internal.ResolveClient":     {"auth"},
		"herald.projects.v1.Internal.ResolveProject":    {"users"},
		"herald.text.v1.Events.ReadEvents":              {"users"},
		"herald.text.v1.Text.ResolveBranding":           {"auth"},
		"herald.text.v1.Text.ResolveLanguages":          {"auth"},
		"herald.text.v1.Text.ResolveLogo":               {"auth"},
		"herald.text.v1.Text.ResolveMessageText":        {"notification"},
		"herald.users.v1.Events.ReadEvents":             {"users"},
		"herald.users.v1.Internal.CheckCode":            {"auth"},
		"herald.users.v1.Internal.CheckEscalation":      {"auth"},
		"herald.users.v1.Internal.CheckExternalAccount": {"auth"},
		"herald.users.v1.Internal.CheckFactor":          {"auth"},
		"herald.users.v1.Internal.CheckPassword":        {"auth"},
		"herald.users.v1.Internal.ChooseNextPassword":   {"auth"},
		"herald.users.v1.Internal.CompleteCode":         {"auth"},
		"herald.users.v1.Internal.CreateExternalUser":   {"auth"},
		"herald.users.v1.Internal.LinkExternalAccount":  {"auth"},
		"herald.users.v1.Internal.ListAskedMails":       {"notification"},
		"herald.users.v1.Internal.MakeProjectOwner":     {"projects"},
		"herald.users.v1.Internal.NoteCertificate":      {"gateway"},
		"herald.users.v1.Internal.PrepareMail":          {"notification"},
		"herald.users.v1.Internal.RequestCode":          {"auth"},
		"herald.users.v1.Internal.ResolveCaller":        {"auth"},
		"herald.users.v1.Internal.ResolveOrg":           {"projects"},
		"herald.users.v1.Internal.ResolveSubject":       {"auth"},
		"herald.users.v1.Internal.ResolveToken":         {"gateway", "auth"},
		"herald.users.v1.Internal.ResolveUser":          {"projects"},
		"herald.users.v1.Internal.UpdateExternalUser":   {"auth"},
	}
	forwards = map[string][]string{
		"herald.users.v1.Factors.AddMyOtp":                         {"auth"},
		"herald.users.v1.Members.AcceptMyMembership":               {"auth"},
		"herald.users.v1.Members.RemoveMyMembership":               {"auth"},
		"herald.users.v1.Members.SearchMyMemberships":              {"auth"},
		"herald.users.v1.Credentials.AddMyPersonalAccessToken":     {"auth"},
		"herald.users.v1.Users.GetMyUser":                          {"auth", "notification"},
		"herald.users.v1.Factors.RegenerateMyRecoveryCodes":        {"auth"},
		"herald.users.v1.Logins.RemoveMyIdpLink":                   {"auth"},
		"herald.users.v1.Factors.RemoveMyOtp":                      {"auth"},
		"herald.users.v1.Credentials.RemoveMyPersonalAccessToken":  {"auth"},
		"herald.users.v1.Credentials.RequestPasswordReset":         {"notification"},
		"herald.users.v1.Credentials.ResendEmailVerification":      {"notification"},
		"herald.users.v1.Credentials.ResendInitialization":         {"notification"},
		"herald.users.v1.Credentials.ResendMyEmailVerification":    {"auth"},
		"herald.users.v1.Factors.SearchMyAuthFactors":              {"auth"},
		"herald.users.v1.Logins.SearchMyIdpLinks":                  {"auth"},
		"herald.users.v1.Credentials.SearchMyPersonalAccessTokens": {"auth"},
		"herald.users.v1.Credentials.UpdateMyEmail":                {"auth"},
		"herald.users.v1.Credentials.UpdateMyPassword":             {"auth"},
		"herald.users.v1.Users.UpdateMyProfile":                    {"auth"},
		"herald.users.v1.Credentials.VerifyMyEmail":                {"auth"},
		"herald.users.v1.Factors.VerifyMyOtp":                      {"auth"},
	}
)

// rawMethod is a method's options, read without the code under test.
type rawMethod struct {
	name, owner string
	access      *heraldv1.Access
}

func (c rawMethod) subject() string { return "rpc." + c.name }

// contracts returns all methods and the subjects of all events.
func contracts(t *testing.T) (methods []rawMethod, events map[string]string) {
	t.Helper()
	events = map[string]string{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		parts := strings.Split(string(f.Package()), ".")
		if parts[0] != "herald" || len(parts) != 3 {
			return true
		}
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				m := f.Services().Get(i).Methods().Get(j)
				methods = append(methods, rawMethod{
					string(m.FullName()), parts[1],
					proto.GetExtension(m.Options(), heraldv1.E_Access).(*heraldv1.Access),
				})
			}
		}
		for i := range f.Messages().Len() {
			if e := proto.GetExtension(f.Messages().Get(i).Options(), heraldv1.E_Event).(*heraldv1.Event); e != nil {
				events["events."+parts[1]+"."+e.Aggregate+"."+e.Name+".o"] = parts[1]
			}
		}
		return true
	})
	if len(methods) < 50 || len(events) < 20 {
		t.Fatalf("only %d methods and %d events", len(methods), len(events))
	}
	slices.SortFunc(methods, func(a, b rawMethod) int { return strings.Compare(a.name, b.name) })
	return methods, events
}

// rights lists, by subject, the only users that may publish or subscribe.
type rights map[string][]string

// ending are the services with events after which the gateway and auth drop what they keep.
var ending = []string{"auth", "projects", "users"}

// expected returns the rights on each subject of the system.
func expected(t *testing.T) (publish, subscribe rights) {
	t.Helper()
	methods, events := contracts(t)
	publish, subscribe = rights{}, rights{}
	for _, m := range methods {
		publish[m.subject()], subscribe[m.subject()] = append([]string{"gateway"}, forwards[m.name]...),
			[]string{m.owner}
		if internals[m.name] != nil {
			publish[m.subject()] = internals[m.name]
		}
		publish[m.subject()+"x"] = nil
	}
	for subject, service := range events {
		publish[subject], subscribe[subject] = []string{service, "operator"}, []string{"subscriber"}
		if slices.Contains(ending, service) {
			subscribe[subject] = []string{"subscriber", "gateway", "auth"}
		}
	}
	services := services.Names()
	for _, s := range services {
		publish["rpc.herald."+s+".v1.Other.Nothing"], subscribe["rpc.herald."+s+".>"] = nil, []string{s}
		publish["dead."+s+".events.users.org.created.o"], subscribe["dead."+s+".>"] = []string{s}, nil
		publish["outbox."+s], subscribe["outbox."+s] = []string{s}, []string{s}
		if slices.Contains(ending, s) {
			subscribe["outbox."+s] = []string{s, "gateway", "auth"}
		}
		if s == "users" { // mails do not wait for the events before theirs
			subscribe["outbox."+s] = append(subscribe["outbox."+s], "notification")
		}
		for _, stream := range []string{"EVENTS", "DEAD", "OTHER"} {
			own := []string{s}
			if stream != "EVENTS" {
				own = nil
			}
			consumer := stream + "." + s
			for _, api := range []string{"CONSUMER.CREATE.", "CONSUMER.INFO.", "CONSUMER.MSG.NEXT."} {
				publish["$JS.API."+api+consumer] = own
			}
			publish["$JS.API.CONSUMER.CREATE."+consumer+".events.any.>"] = own
			publish["$JS.ACK."+consumer+".1.1.1.1.1"] = own
			for _, api := range []string{"CONSUMER.DURABLE.CREATE.", "CONSUMER.DELETE.", "CONSUMER.PAUSE.",
				"CONSUMER.UNPIN.", "CONSUMER.RESET.", "CONSUMER.LEADER.STEPDOWN."} {
				publish["$JS.API."+api+consumer] = nil
			}
		}
	}
	expectStreams(publish, services)
	publish["$JS.API.INFO"] = services
	publish["events.gateway.any.thing.o"], publish["events.nobody.any.thing.o"] = []string{"operator"},
		[]string{"operator"}
	for _, subject := range []string{
		"$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.ACCOUNT.PURGE.$G", "$JS.API.META.LEADER.STEPDOWN",
		"$JS.API.SERVER.REMOVE",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$SYS.ACCOUNT.$G.CONNECT", "_INBOX.any", "any",
		"rpc.herald.gateway.any",
	} {
		publish[subject] = nil
	}
	for _, subject := range []string{
		">", "*", "*.>", "rpc.>", "rpc.herald.>", "rpc.herald.*.v1.Users.GetUser", "rpc.*.users.>", "outbox.>",
		"outbox.*", "dead.>", "_INBOX.>", "_INBOX_*.>",
		"$JS.>", "$JS.API.>", "$JS.ACK.>", "$JS.EVENT.>", "$SYS.>", "$SRV.>", "$G.>", "events", "EVENTS",
	} {
		subscribe[subject] = nil
	}
	subscribe["events.>"] = []string{"subscriber"}
	for _, user := range busUsers() {
		publish["_INBOX_"+user+".any"] = nil // only as the reply to a request
		subscribe["_INBOX_"+user+".any"] = []string{user}
		subscribe["_INBOX_"+user+".>"] = []string{user}
	}
	subscribe["_INBOX_subscriber.any"], subscribe["_INBOX_subscriber.>"] = nil, nil // it sends no requests
	return publish, subscribe
}

// expectStreams adds the rights to ask about streams.
func expectStreams(publish rights, services []string) {
	for _, stream := range []string{"EVENTS", "DEAD", "OTHER"} {
		for _, api := range []string{
			"STREAM.DELETE.", "STREAM.PURGE.", "STREAM.MSG.GET.", "STREAM.SNAPSHOT.", "STREAM.RESTORE.",
			"STREAM.LEADER.STEPDOWN.", "STREAM.PEER.REMOVE.",
			"STREAM.CREATE.", "STREAM.UPDATE.", "STREAM.INFO.", "STREAM.MSG.DELETE.", "DIRECT.GET.",
			"CONSUMER.CREATE.", "CONSUMER.NAMES.", "CONSUMER.LIST.",
		} {
			publish["$JS.API."+api+stream] = nil
		}
		publish["$JS.API.DIRECT.GET."+stream+".events.users.org.created.o"] = nil
		publish["$JS.API.STREAM.INFO."+stream] = services
	}
	for _, stream := range []string{"EVENTS", "DEAD"} {
		publish["$JS.API.STREAM.CREATE."+stream], publish["$JS.API.STREAM.UPDATE."+stream] = services, services
	}
	publish["$JS.API.CONSUMER.LIST.EVENTS"], publish["$JS.API.DIRECT.GET.EVENTS"] = services, services
	publish["$JS.API.STREAM.INFO.DEAD"] = append(slices.Clone(services), "operator")
	for _, api := range []string{"STREAM.MSG.DELETE.DEAD", "DIRECT.GET.DEAD", "STREAM.DELETE.EVENTS"} {
		publish["$JS.API."+api] = []string{"operator"}
	}
}

func busUsers() []string {
	return slices.Sorted(slices.Values(append(services.Names(), "gateway", "subscriber", "operator")))
}

// The lists above are equal to the contracts.
func TestOpenedMethods(t *testing.T) {
	t.Parallel()
	methods, _ := contracts(t)
	absent := maps.Clone(internals)
	maps.Copy(absent, forwards)
	for _, m := range methods {
		if !slices.Equal(m.access.Internal, internals[m.name]) {
			t.Errorf("%s is internal for %v, and internals in bus_test.go says %v: if these services are to call it, "+
				"write them there", m.name, m.access.Internal, internals[m.name])
		}
		if !slices.Equal(m.access.Forwarded, forwards[m.name]) {
			t.Errorf("%s is forwarded by %v, and forwards in bus_test.go says %v: if these services are to pass on "+
				"users' calls of it, write them there", m.name, m.access.Forwarded, forwards[m.name])
		}
		if m.access.Public {
			t.Errorf("%s is open to everybody: no method is; take `public` out of its contract", m.name)
		}
		delete(absent, m.name)
	}
	for name := range absent {
		t.Errorf("there is no method %s: take it out of internals and forwards in bus_test.go", name)
	}
}

// modes are the ways to run NATS. Each returns a server and its address.
var modes = map[string]func(*testing.T, secret.Keys, string) (*server.Server, bus.Address){
	"in the process": func(t *testing.T, keys secret.Keys, _ string) (*server.Server, bus.Address) {
		s, err := bus.Embedded{Dir: t.TempDir(), Keys: keys}.Start()
		if err != nil {
			t.Fatal(err)
		}
		return s, bus.Address{Server: s}
	},
	"embedded, over TCP": func(t *testing.T, keys secret.Keys, _ string) (*server.Server, bus.Address) {
		s, err := bus.Embedded{Dir: t.TempDir(), Listen: "127.0.0.1:0", Keys: keys}.Start()
		if err != nil {
			t.Fatal(err)
		}
		return s, bus.Address{URL: s.ClientURL()}
	},
	// The configuration of the container, with other ports and another folder for streams.
	"compose": func(t *testing.T, _ secret.Keys, secrets string) (*server.Server, bus.Address) {
		dir := t.TempDir()
		for from, to := range map[string]string{
			whole.Root(t) + "/deploy/nats/nats.conf": "nats.conf", secrets + "/nats/users.conf": "users/users.conf",
		} {
			text, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, to), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
		if err != nil {
			t.Fatal(err)
		}
		if !o.JetStream || !o.SyncAlways || o.MaxPayload != bus.MaxPayload || o.NoAuthUser != "" ||
			len(o.Users) != len(busUsers()) {
			t.Errorf("JetStream %v, each message on the disk %v, payload %d, without a login %q, %d users", o.JetStream,
				o.SyncAlways, o.MaxPayload, o.NoAuthUser, len(o.Users))
		}
		if o.PingInterval != bus.PingInterval || o.MaxPingsOut != bus.MaxPings {
			t.Errorf("a client is given up after %d pings, %s apart", o.MaxPingsOut, o.PingInterval)
		}
		o.Host, o.Port, o.HTTPPort, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT,
			0, t.TempDir(), true, true
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		if !s.ReadyForConnections(30 * time.Second) {
			t.Fatal("NATS was not ready")
		}
		return s, bus.Address{URL: s.ClientURL()}
	},
}

// In every mode each NATS user has exactly the rights in the table on each subject.
func TestBusPermissions(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	if err := command.WriteSecrets(secrets); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(secrets + "/keys/master.key")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := secret.ParseKeys(string(text))
	if err != nil {
		t.Fatal(err)
	}
	publish, subscribe := expected(t)
	for mode, start := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s, address := start(t, keys, secrets)
			t.Cleanup(func() { bus.Stop(s) })
			if nc, err := nats.Connect(address.URL, nats.InProcessServer(s)); err == nil {
				nc.Close()
				t.Error("somebody without a name got in")
			}
			t.Run("users", func(t *testing.T) { // ends before the server
				for _, user := range busUsers() {
					t.Run(user, func(t *testing.T) {
						t.Parallel()
						nc := connectAs(t, address, keys, user)
						for _, subject := range slices.Sorted(maps.Keys(publish)) {
							if err := nc.Publish(subject, nil); err != nil {
								t.Fatal(err)
							}
							judge(t, nc, "publish", subject, slices.Contains(publish[subject], user))
						}
						for _, subject := range slices.Sorted(maps.Keys(subscribe)) {
							sub, err := nc.SubscribeSync(subject)
							if err != nil {
								t.Fatal(err)
							}
							judge(t, nc, "subscri", subject, slices.Contains(subscribe[subject], user))
							_ = sub.Unsubscribe()
						}
					})
				}
			})
			answersOnce(t, connectAs(t, address, keys, "users"), connectAs(t, address, keys, "gateway"))
		})
	}
}

func connectAs(t *testing.T, address bus.Address, keys secret.Keys, user string) *nats.Conn {
	t.Helper()
	address.User, address.Password = user, bus.Password(keys, user)
	nc, err := bus.Connect(t.Context(), address, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// judge compares the server's answer to the last publish or subscribe with the expected one.
func judge(t *testing.T, nc *nats.Conn, verb, subject string, allowed bool) {
	t.Helper()
	flush(t, nc)
	said := ""
	if err := nc.LastError(); err != nil {
		said = strings.ToLower(err.Error())
	}
	refused := strings.Contains(said, verb) && strings.Contains(said, `"`+strings.ToLower(subject)+`"`)
	if refused == allowed {
		t.Errorf("%s to %s: refused %v", verb, subject, refused)
	}
}

// answersOnce checks that a service may send one reply to each received request.
func answersOnce(t *testing.T, service, gateway *nats.Conn) {
	t.Helper()
	const subject = "rpc.herald.users.v1.Users.GetUser"
	if _, err := service.Subscribe(subject, func(m *nats.Msg) {
		_, _ = m.Respond([]byte("one")), m.Respond([]byte("two"))
	}); err != nil {
		t.Fatal(err)
	}
	flush(t, service)
	inbox := gateway.NewInbox()
	answers, err := gateway.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	if err := gateway.PublishRequest(subject, inbox, nil); err != nil {
		t.Fatal(err)
	}
	if m, err := answers.NextMsg(30 * time.Second); err != nil || string(m.Data) != "one" {
		t.Fatal(m, err)
	}
	flush(t, service)
	flush(t, gateway)
	if n, _, _ := answers.Pending(); n != 0 {
		t.Error("answered twice")
	}
	if err := service.LastError(); err == nil || !strings.Contains(strings.ToLower(err.Error()),
		"permissions violation") {
		t.Errorf("the second answer: %v", err)
	}
}

func flush(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if err := nc.FlushTimeout(30 * time.Second); err != nil {
		t.Fatal(err)
	}
}
