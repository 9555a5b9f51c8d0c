// Package testworld runs the service users for the tests of its packages.
package testworld

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/users"
	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/search"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// Kit makes the databases of the tests.
var Kit = testkit.New("users", users.Migrations)

// Client calls all services of the contract.
type Client struct {
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

// NewClient returns the clients of all services of the contract.
func NewClient(c *rpc.Conn) Client {
	return Client{
		usersv1.NewOrgsClient(c), usersv1.NewMembersClient(c), usersv1.NewUsersClient(c), usersv1.NewMachinesClient(c),
		usersv1.NewCredentialsClient(c), usersv1.NewFactorsClient(c), usersv1.NewLoginsClient(c),
		usersv1.NewImportsClient(c), usersv1.NewInternalClient(c),
	}
}

// World is a running users service and its callers.
type World struct {
	testkit.World
	Gateway Client
	Auth    Client
	Notify  Client
	// Admin is a context of the first administrator, and AdminToken the content of the token's
	// file.
	Admin      context.Context
	AdminID    string
	AdminToken string
	OrgID      string
	// Shop is the service projects.
	Shop *Shop

	*testkit.Clock
}

// New starts the service and returns its world, whose time a test can advance.
func New(t testing.TB) *World {
	t.Helper()
	return NewOn(t, testkit.Ground(t))
}

// NewOn is New on a ground that a test has changed.
func NewOn(t testing.TB, g boot.Ground) *World {
	t.Helper()
	return NewWith(t, g, boot.QuotaSettings{})
}

// NewWith is NewOn with quotas of the operator.
func NewWith(t testing.TB, g boot.Ground, quotas boot.QuotaSettings) *World {
	t.Helper()
	clock := &testkit.Clock{}
	g.Now = clock.Now
	file := t.TempDir() + "/admin.pat"
	w := &World{Clock: clock, World: Kit.Start(t, g, func(s *boot.Service) error {
		config := users.Config{Limit: search.Limit{MaxLimit: 1000}, OTPIssuer: "Herald", TokenFile: file,
			QuotaSettings: quotas, AuditSettings: boot.AuditSettings{AuditKeep: 365 * 24 * time.Hour}}
		_, err := users.New(t.Context(), s, config)
		return err
	})}
	w.Gateway = NewClient(testkit.Calls(t, g, "gateway"))
	w.Auth = NewClient(testkit.Calls(t, g, "auth"))
	w.Notify = NewClient(testkit.Calls(t, g, "notification"))
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.AdminToken = strings.TrimSpace(string(token))
	w.SignIn()
	w.Shop = &Shop{OrgID: w.OrgID}
	testkit.Serve(t, g, "projects", w.Shop, &projectsv1.Internal_ServiceDesc)
	return w
}

// SignIn renews the administrator's context for the current time of the world.
func (w *World) SignIn() {
	w.Helper()
	c, err := w.Resolve(w.AdminToken, "")
	if err != nil {
		w.Fatal(err)
	}
	w.Admin, w.AdminID, w.OrgID = w.As(c), c.UserID, c.OrganizationID
}

// As returns a context with a caller. The signature is dated five minutes ahead, so that it stays valid on slow
// machines.
func (w *World) As(c caller.Caller) context.Context {
	g := w.Ground
	g.Now = func() time.Time { return w.Ground.Now().Add(5 * time.Minute) }
	return testkit.As(w.Context(), g, c)
}

// Resolve returns the caller of a token, as for the gateway.
func (w *World) Resolve(token, orgID string) (caller.Caller, error) {
	r, err := w.Gateway.ResolveToken(w.Context(), &usersv1.ResolveTokenRequest{
		TokenHash: secret.Hash(token), OrgId: orgID,
	})
	return caller.FromProto(r.GetCaller()), err
}

// Person imports an active user of an organization and returns the id.
func (w *World) Person(ctx context.Context, name string) string {
	w.Helper()
	r := Minimal(name)
	r.Email.IsEmailVerified = true
	r.HashedPassword = Hashed(SomeHash)
	return w.Import(ctx, r).UserId
}

// Import imports a person.
func (w *World) Import(ctx context.Context, r *usersv1.ImportHumanUserRequest) *usersv1.ImportHumanUserResponse {
	w.Helper()
	got, err := w.Gateway.ImportHumanUser(ctx, r)
	if err != nil {
		w.Fatal(err)
	}
	return got
}

// Org creates an organization and returns its id and the administrator's
// context in it.
func (w *World) Org(name string) (string, context.Context) {
	w.Helper()
	r, err := w.Gateway.CreateOrg(w.Admin, &usersv1.CreateOrgRequest{Name: name})
	if err != nil {
		w.Fatal(err)
	}
	c, err := w.Resolve(w.AdminToken, r.Id)
	if err != nil {
		w.Fatal(err)
	}
	return r.Id, w.As(c)
}

// PAT creates a personal access token of a user.
func (w *World) PAT(ctx context.Context, userID string) *usersv1.AddPersonalAccessTokenResponse {
	w.Helper()
	r, err := w.Gateway.AddPersonalAccessToken(ctx, &usersv1.AddPersonalAccessTokenRequest{UserId: userID})
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// Caller returns the caller of a new token of a user.
func (w *World) Caller(ctx context.Context, userID, orgID string) caller.Caller {
	w.Helper()
	made := w.PAT(ctx, userID)
	c, err := w.Resolve(made.Token, orgID)
	if err != nil {
		w.Fatal(err)
	}
	// A test that counts notices does not expect one of this token.
	if _, err := w.Service.DB.Exec(w.Context(), `with made as (
			update events set data = data - 'notice' where aggregate_id = $1 returning id
		) delete from notices n using made where n.id = made.id || '-notice'`, made.TokenId); err != nil {
		w.Fatal(err)
	}
	return c
}

// With returns a context of a user with a token of just now, which an application got with an authorization. Both are
// empty for a page of the user's own account.
func (w *World) With(userID, clientID, authorizationID string) context.Context {
	w.Helper()
	c := w.Caller(w.Admin, userID, "")
	c.AuthenticatedAt, c.TokenID, c.ClientID, c.AuthorizationID = w.Ground.Now(), "", clientID, authorizationID
	return w.As(c)
}

// Login creates a token of a user and returns a context with its caller.
func (w *World) Login(ctx context.Context, userID, orgID string) context.Context {
	w.Helper()
	return w.As(w.Caller(ctx, userID, orgID))
}

// Guesses makes fifty wrong guesses at once, and then 150 one after another. It fails the test unless ten in all get
// the fault wrong and the others the fault locked. It repeats guesses whose passwords a slow machine does not hash in
// time, because these do not count.
func Guesses(t testing.TB, wrong, locked string, guess func(i int) error) {
	t.Helper()
	var compared atomic.Int64
	count := func(i int) (err error) {
		for range 50 {
			if err = guess(i); fault.From(err).ID != fault.ErrOverloaded.ID {
				break
			}
		}
		if fault.From(err).ID == wrong {
			compared.Add(1)
		}
		return err
	}
	testkit.Race(t, 50, count, wrong, locked)
	for range 150 {
		testkit.Race(t, 1, count, wrong, locked)
	}
	if compared.Load() != 10 {
		t.Errorf("%d of 200 guesses were compared, want 10", compared.Load())
	}
}

// SomeHash is a valid pbkdf2-sha256 hash.
const SomeHash = "$pbkdf2-sha256$6400$0ZrzXitFSGltTQnBWOsdeQ$Y11AchqV4b0sUisdZd0Xr97KWoymNE0LNNrnEgY4H9M"

// Minimal returns an import of a person with nothing that can be left out.
func Minimal(name string) *usersv1.ImportHumanUserRequest {
	return &usersv1.ImportHumanUserRequest{
		UserName: name, Profile: &usersv1.Profile{FirstName: "Mini", LastName: "Mouse"},
		Email: &usersv1.Email{Email: "mini@example.com"},
	}
}

// EventTypes returns the events of a list, newest first, each with the editor.
func EventTypes(r *heraldv1.SearchChangesResponse) (all []string) {
	for _, c := range r.GetResult() {
		all = append(all, c.EventType+" by "+c.EditorId)
	}
	return all
}

// AddMember gives a user roles in the organization that a caller acts on.
func (w *World) AddMember(ctx context.Context, userID string, roles ...string) {
	w.Helper()
	w.Must(w.Gateway.AddOrgMember(ctx, &usersv1.AddMemberRequest{UserId: userID, Roles: roles}))
}

// AddIamMember gives a user roles in the instance.
func (w *World) AddIamMember(userID string, roles ...string) {
	w.Helper()
	w.Must(w.Gateway.AddIamMember(w.Admin, &usersv1.AddMemberRequest{UserId: userID, Roles: roles}))
}
