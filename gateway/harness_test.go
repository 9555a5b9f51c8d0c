package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/gateway"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	_ "herald/shared/gen/herald/idp/v1"
	_ "herald/shared/gen/herald/notification/v1"
	_ "herald/shared/gen/herald/projects/v1" // links every contract
	_ "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/secret"
	"herald/shared/testkit"
)

var (
	errUser  = fault.New(fault.NotFound, "USER_NOT_FOUND", "User not found")
	errToken = fault.New(fault.Unauthenticated, "UNAUTHENTICATED", "A valid Bearer token is required")
	errOrg   = fault.New(fault.Denied, "PERMISSION_DENIED", "You are not a member of this organization")
)

// world is a gateway with stand-ins for the services users and auth.
type world struct {
	boot.Ground
	*users
	url      string
	auth     *auth
	services []testkit.Server
	lines    *testkit.Lines
	clock    *clock
}

func start(t testing.TB) *world {
	t.Helper()
	w := &world{users: newUsers(), auth: &auth{}, lines: &testkit.Lines{}, clock: &clock{}}
	w.Ground = testkit.Logged(t, testkit.Ground(t), slog.LevelInfo, w.lines)
	w.Now = w.clock.Now
	w.services = []testkit.Server{
		testkit.Serve(t, w.Ground, "users", w.users, &usersv1.Users_ServiceDesc),
		testkit.Serve(t, w.Ground, "auth", w.auth, &authv1.Auth_ServiceDesc),
	}
	ground := w.Ground
	var err error
	ground.Keys, err = secret.ParseKeys(w.Keys.For(caller.Purpose, bus.Purpose(bus.Gateway)).Reveal())
	if err != nil { // what the gateway's container has
		t.Fatal(err)
	}
	g, err := gateway.New(t.Context(), ground, gateway.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	w.url = "http://" + g.Addr().String()
	return w
}

// clock is a time that a test can advance.
type clock struct {
	ahead atomic.Int64
	// still is the time at which it was stopped; nil while it goes.
	still atomic.Pointer[time.Time]
}

func (c *clock) Now() time.Time {
	now := time.Now()
	if still := c.still.Load(); still != nil {
		now = *still
	}
	return now.Add(time.Duration(c.ahead.Load()))
}

// Stop stops the clock, so that nothing ends because a slow machine takes long.
func (c *clock) Stop() {
	now := time.Now()
	c.still.Store(&now)
}

func (c *clock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }

// users stands in for the service users. It knows tokens and one user, u1 of organization o1.
type users struct {
	usersv1.UnimplementedUsersServer
	testkit.Unguarded
	mu       sync.Mutex
	tokens   map[string]*heraldv1.Caller
	last     proto.Message
	caller   caller.Caller
	id       string // of the request
	importer importer
	fail     func(context.Context) error
	answers  chan struct{} // closed to let ResolveToken return
	resolved atomic.Int64
	// resolving is called with each request of ResolveToken, unless it is nil.
	resolving atomic.Pointer[func(*usersv1.ResolveTokenRequest)]
	called    atomic.Int64
}

func newUsers() *users {
	u := &users{tokens: map[string]*heraldv1.Caller{}, answers: make(chan struct{})}
	close(u.answers)
	return u
}

// token makes a token with roles in o1 and scopes.
func (u *users) token(userID string, roles []string, scopes ...string) string {
	t := secret.PersonalAccessToken.New().Reveal()
	u.grant(t, userID, roles, scopes...)
	return t
}

func (u *users) grant(token, userID string, roles []string, scopes ...string) {
	c := caller.Caller{
		UserID: userID, OrganizationID: "o1", HomeOrganizationID: "o1", Scopes: scopes,
		Memberships: []caller.Membership{{OrganizationID: "o1", Roles: roles}},
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tokens[string(secret.Hash(token))] = c.Proto()
}

// join makes the token's user an owner of one more organization.
func (u *users) join(token, organization string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.tokens[string(secret.Hash(token))]
	c.Memberships = append(c.Memberships, &heraldv1.CallerMembership{
		OrganizationId: organization, Roles: []string{"ORG_OWNER"},
	})
}

func (u *users) revoke(token string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.tokens, string(secret.Hash(token)))
}

func (u *users) owner() string {
	return u.token("u1", []string{"ORG_OWNER"}, "openid", contract.Audience)
}

func (u *users) ResolveToken(_ context.Context, r *usersv1.ResolveTokenRequest) (*usersv1.ResolveTokenResponse, error) {
	caller, answers, err := u.resolve(r)
	u.resolved.Add(1)
	if asked := u.resolving.Load(); asked != nil {
		(*asked)(r)
	}
	<-answers
	return &usersv1.ResolveTokenResponse{Caller: caller}, err
}

func (u *users) resolve(r *usersv1.ResolveTokenRequest) (*heraldv1.Caller, chan struct{}, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, ok := u.tokens[string(r.TokenHash)]
	if len(r.TokenHash) != sha256.Size || !ok {
		return nil, u.answers, errToken
	}
	c = proto.CloneOf(c)
	for _, m := range c.Memberships {
		if r.OrgId == "" || r.OrgId == m.OrganizationId {
			c.Memberships, c.OrganizationId = []*heraldv1.CallerMembership{m}, m.OrganizationId
			return c, u.answers, nil
		}
	}
	return nil, u.answers, errOrg
}

// hold makes ResolveToken wait before it returns, until the function is called.
func (u *users) hold() (release func()) {
	answers := make(chan struct{})
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answers = answers
	return func() { close(answers) }
}

// took records a request and returns the test's answer.
func (u *users) took(ctx context.Context, m proto.Message) error {
	u.called.Add(1)
	u.mu.Lock()
	u.last, u.caller, u.id = proto.Clone(m), caller.From(ctx), rpc.RequestID(ctx)
	fail := u.fail
	u.mu.Unlock()
	if fail != nil {
		return fail(ctx)
	}
	return nil
}

func (u *users) failWith(f func(context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fail = f
}

func (u *users) request() proto.Message {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last
}

func (u *users) GetUser(ctx context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
	if err := u.took(ctx, r); err != nil {
		return nil, err
	}
	if r.UserId != "u1" {
		return nil, errUser
	}
	return &usersv1.GetUserResponse{User: &usersv1.User{Id: "u1", State: usersv1.UserState_USER_STATE_ACTIVE,
		Details: &heraldv1.ObjectDetails{
			Sequence: 7, CreationDate: &timestamppb.Timestamp{Seconds: 1_700_000_000, Nanos: 120_000_000},
		}, Type: &usersv1.User_Machine{Machine: &usersv1.Machine{Name: "robot"}}}}, nil
}

func (u *users) GetMyUser(ctx context.Context, r *usersv1.GetMyUserRequest) (*usersv1.GetMyUserResponse, error) {
	if err := u.took(ctx, r); err != nil {
		return nil, err
	}
	return &usersv1.GetMyUserResponse{User: &usersv1.User{Id: caller.From(ctx).UserID}}, grpc.SetHeader(ctx,
		metadata.Pairs("content-language", "de"))
}

func (u *users) SearchUsers(ctx context.Context, r *usersv1.SearchUsersRequest) (*usersv1.SearchUsersResponse, error) {
	return &usersv1.SearchUsersResponse{Details: &heraldv1.ListDetails{}}, u.took(ctx, r)
}

func (u *users) IsUserUnique(
	ctx context.Context, r *usersv1.IsUserUniqueRequest,
) (*usersv1.IsUserUniqueResponse, error) {
	return &usersv1.IsUserUniqueResponse{}, u.took(ctx, r)
}

func (u *users) ImportHumanUser(
	ctx context.Context, r *usersv1.ImportHumanUserRequest,
) (*usersv1.ImportHumanUserResponse, error) {
	return &usersv1.ImportHumanUserResponse{UserId: r.UserId}, u.took(ctx, r)
}

func (u *users) AddPersonalAccessToken(
	ctx context.Context, r *usersv1.AddPersonalAccessTokenRequest,
) (*usersv1.AddPersonalAccessTokenResponse, error) {
	return &usersv1.AddPersonalAccessTokenResponse{}, u.took(ctx, r)
}

func (u *users) ResendMyEmailVerification(
	ctx context.Context, r *usersv1.ResendMyEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	return &usersv1.ResendEmailVerificationResponse{}, u.took(ctx, r)
}

func (u *users) SearchMyPersonalAccessTokens(
	ctx context.Context, r *usersv1.SearchMyPersonalAccessTokensRequest,
) (*usersv1.SearchPersonalAccessTokensResponse, error) {
	return &usersv1.SearchPersonalAccessTokensResponse{}, u.took(ctx, r)
}

// auth stands in for the service auth. It returns the test's answers to browsers and to programs.
type auth struct {
	authv1.UnimplementedAuthServer
	answer, endpoint func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error)
	mu               sync.Mutex
	callers          map[string]*heraldv1.Caller // by the hash of an access token, or by a JWT
	origins          []string                    // of every token
	asked            []*authv1.ResolveTokenRequest
}

// issue makes auth know an access token or a JWT.
func (a *auth) issue(token string, c caller.Caller) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if secret.AccessToken.WellFormed(token) {
		token = string(secret.Hash(token))
	}
	if a.callers == nil {
		a.callers = map[string]*heraldv1.Caller{}
	}
	a.callers[token] = c.Proto()
}

// end makes auth forget an access token.
func (a *auth) end(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.callers, string(secret.Hash(token)))
}

// questions returns what ResolveToken was asked.
func (a *auth) questions() []*authv1.ResolveTokenRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

func (a *auth) ResolveToken(_ context.Context, r *authv1.ResolveTokenRequest) (*authv1.ResolveTokenResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, proto.CloneOf(r))
	c := a.callers[string(r.GetTokenHash())+r.GetJwt()]
	if c == nil {
		return nil, errToken
	}
	return &authv1.ResolveTokenResponse{Caller: c, Origins: a.origins}, nil
}

func (a *auth) ExternalPage(ctx context.Context, r *authv1.ServePageRequest) (*authv1.ServePageResponse, error) {
	return a.ServePage(ctx, r)
}

func (a *auth) OpenPage(ctx context.Context, r *authv1.ServePageRequest) (*authv1.ServePageResponse, error) {
	return a.ServePage(ctx, r)
}

func (a *auth) OpenEndpoint(
	ctx context.Context, r *authv1.ServeEndpointRequest,
) (*authv1.ServeEndpointResponse, error) {
	return a.ServeEndpoint(ctx, r)
}

func (a *auth) ServePage(_ context.Context, r *authv1.ServePageRequest) (*authv1.ServePageResponse, error) {
	response, err := a.answer(r.Request)
	return &authv1.ServePageResponse{Response: response}, err
}

func (a *auth) ServeEndpoint(
	_ context.Context, r *authv1.ServeEndpointRequest,
) (*authv1.ServeEndpointResponse, error) {
	response, err := a.endpoint(r.Request)
	return &authv1.ServeEndpointResponse{Response: response}, err
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body []byte
}

// do sends a request; pairs are header names and values.
func (w *world) do(t testing.TB, method, path, body string, pairs ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Add(pairs[i], pairs[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, data}
}

// as returns the header Authorization with a token.
func as(token string) []string { return []string{"Authorization", "Bearer " + token} }

// errorBody is the error body of REST.
type errorBody struct {
	Code    int
	Message string
	Details []struct {
		Type            string `json:"@type"`
		ID              string
		FieldViolations []struct{ Field, Description string }
	}
}

// refused fails the test unless the answer is this fault with a complete error body.
func (a answer) refused(t testing.TB, status int, id string) errorBody {
	t.Helper()
	var e errorBody
	if err := json.Unmarshal(a.body, &e); err != nil {
		t.Fatalf("%d %s: %v", a.StatusCode, a.body, err)
	}
	if a.StatusCode != status || len(e.Details) == 0 || e.Details[0].ID != id {
		t.Fatalf("got %d %s, want %d %s", a.StatusCode, a.body, status, id)
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Fatalf("content type %q", got)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, a.body); err != nil || compact.String()+"\n" != string(a.body) {
		t.Fatalf("%q is not a line of JSON without white space: %v", a.body, err)
	}
	return e
}

func (a answer) ok(t testing.TB) answer {
	t.Helper()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("got %d %s", a.StatusCode, a.body)
	}
	return a
}
