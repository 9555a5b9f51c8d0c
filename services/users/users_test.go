package users_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"herald/services/users"
	"herald/shared/boot"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/secret"
	"herald/shared/testkit"
)

var kit = testkit.New("users", users.Migrations)

// refused is used by most tests.
var refused = testkit.Refused

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// client calls all services of the contract.
type client struct {
	usersv1.OrgsClient
	usersv1.MembersClient
	usersv1.UsersClient
	usersv1.MachinesClient
	usersv1.CredentialsClient
	usersv1.FactorsClient
	usersv1.LoginsClient
	usersv1.ImportsClient
	usersv1.InternalClient
}

func newClient(c *rpc.Conn) client {
	return client{
		usersv1.NewOrgsClient(c), usersv1.NewMembersClient(c), usersv1.NewUsersClient(c), usersv1.NewMachinesClient(c),
		usersv1.NewCredentialsClient(c), usersv1.NewFactorsClient(c), usersv1.NewLoginsClient(c),
		usersv1.NewImportsClient(c), usersv1.NewInternalClient(c),
	}
}

// world is a running users service and its callers.
type world struct {
	testing.TB
	ground  boot.Ground
	service *boot.Service
	gateway client
	auth    client
	notify  client
	// admin is a context of the first administrator, and adminToken the content of the token's
	// file.
	admin      context.Context
	adminID    string
	adminToken string
	orgID      string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return startWorld(t, testkit.Ground(t))
}

func startWorld(t testing.TB, g boot.Ground) *world {
	t.Helper()
	w := &world{TB: t, ground: g}
	w.service = kit.Open(t, g)
	file := t.TempDir() + "/admin.pat"
	config := users.Config{MaxLimit: 1000, OTPIssuer: "Herald", TokenFile: file}
	if _, err := users.New(t.Context(), w.service, config); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, w.service)
	w.gateway = newClient(testkit.Calls(t, g, "gateway"))
	w.auth = newClient(testkit.Calls(t, g, "auth"))
	w.notify = newClient(testkit.Calls(t, g, "notification"))
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.adminToken = strings.TrimSpace(string(token))
	w.signIn()
	return w
}

// signIn renews the administrator's context for the current time of the world.
func (w *world) signIn() {
	w.Helper()
	c, err := w.resolve(w.adminToken, "")
	if err != nil {
		w.Fatal(err)
	}
	w.admin, w.adminID, w.orgID = w.as(c), c.UserID, c.OrganizationID
}

// as returns a context with a caller, signed for some minutes, so that slow machines do not fail a
// test.
func (w *world) as(c caller.Caller) context.Context {
	g := w.ground
	g.Now = func() time.Time { return w.ground.Now().Add(5 * time.Minute) }
	return testkit.As(w.Context(), g, c)
}

// resolve returns the caller of a token, as for the gateway.
func (w *world) resolve(token, orgID string) (caller.Caller, error) {
	r, err := w.gateway.ResolveToken(w.Context(), &usersv1.ResolveTokenRequest{
		TokenHash: secret.Hash(token), OrgId: orgID,
	})
	return caller.FromProto(r.GetCaller()), err
}

// person imports an active user of an organization and returns the id.
func (w *world) person(ctx context.Context, name string) string {
	w.Helper()
	r := minimal(name)
	r.Email.IsEmailVerified = true
	r.HashedPassword = &usersv1.HashedPassword{Value: someHash}
	got, err := w.gateway.ImportHumanUser(ctx, r)
	if err != nil {
		w.Fatal(err)
	}
	return got.UserId
}

// org creates an organization and returns its id and the administrator's
// context in it.
func (w *world) org(name string) (string, context.Context) {
	w.Helper()
	r, err := w.gateway.CreateOrg(w.admin, &usersv1.CreateOrgRequest{Name: name})
	if err != nil {
		w.Fatal(err)
	}
	c, err := w.resolve(w.adminToken, r.Id)
	if err != nil {
		w.Fatal(err)
	}
	return r.Id, w.as(c)
}

// caller returns the caller of a new token of a user.
func (w *world) caller(ctx context.Context, userID, orgID string) caller.Caller {
	w.Helper()
	r, err := w.gateway.AddPersonalAccessToken(ctx, &usersv1.AddPersonalAccessTokenRequest{UserId: userID})
	if err != nil {
		w.Fatal(err)
	}
	c, err := w.resolve(r.Token, orgID)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// login creates a token of a user and returns a context with its caller.
func (w *world) login(ctx context.Context, userID, orgID string) context.Context {
	w.Helper()
	return w.as(w.caller(ctx, userID, orgID))
}

// rows returns the number of rows that match a condition.
func (w *world) rows(sql string, args ...any) int {
	w.Helper()
	return testkit.Rows(w, w.service.DB, sql, args...)
}

// patient repeats a call whose passwords a slow machine does not hash in time. It counts as no guess.
func patient(call func() error) (err error) {
	for err = call(); err != nil && strings.Contains(err.Error(), "OVERLOADED"); {
		err = call()
	}
	return err
}

// someHash is a valid pbkdf2-sha256 hash.
const someHash = "$pbkdf2-sha256$6400$0ZrzXitFSGltTQnBWOsdeQ$Y11AchqV4b0sUisdZd0Xr97KWoymNE0LNNrnEgY4H9M"

func minimal(name string) *usersv1.ImportHumanUserRequest {
	return &usersv1.ImportHumanUserRequest{
		UserName: name, Profile: &usersv1.Profile{FirstName: "Mini", LastName: "Mouse"},
		Email: &usersv1.Email{Email: "mini@example.com"},
	}
}
