package testworld

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// Users stands in for the service users. It knows tokens and one user, u1 of organization o1.
type Users struct {
	usersv1.UnimplementedUsersServer
	usersv1.UnimplementedCredentialsServer
	usersv1.UnimplementedImportsServer
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	mu     sync.Mutex
	tokens map[string]*heraldv1.Caller
	last   proto.Message
	// Caller and RequestID are those of the last request.
	Caller    caller.Caller
	RequestID string
	Importer  Importer
	fail      func(context.Context) error
	answers   chan struct{} // closed to let ResolveToken return
	// Resolved counts the requests of ResolveToken, and Called all others.
	Resolved, Called atomic.Int64
	// Resolving is called with each request of ResolveToken, unless it is nil.
	Resolving atomic.Pointer[func(*usersv1.ResolveTokenRequest)]
}

func newUsers() *Users {
	u := &Users{tokens: map[string]*heraldv1.Caller{}, answers: make(chan struct{})}
	close(u.answers)
	return u
}

// Token makes a token with roles in o1 and scopes.
func (u *Users) Token(userID string, roles []string, scopes ...string) string {
	t := secret.PersonalAccessToken.New().Reveal()
	u.Grant(t, userID, roles, scopes...)
	return t
}

// Grant adds a token with roles in o1 and scopes.
func (u *Users) Grant(token, userID string, roles []string, scopes ...string) {
	c := caller.Caller{
		UserID: userID, OrganizationID: "o1", HomeOrganizationID: "o1", Scopes: scopes,
		Memberships: []caller.Membership{{OrganizationID: "o1", Roles: roles}},
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tokens[string(secret.Hash(token))] = c.Proto()
}

// Join makes the token's user an owner of one more organization.
func (u *Users) Join(token, organization string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.tokens[string(secret.Hash(token))]
	c.Memberships = append(c.Memberships, &heraldv1.CallerMembership{
		OrganizationId: organization, Roles: []string{"ORG_OWNER"},
	})
}

// Move makes the token's user belong to another organization.
func (u *Users) Move(token, organization string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.tokens[string(secret.Hash(token))]
	c.OrganizationId, c.HomeOrganizationId, c.Memberships[0].OrganizationId = organization, organization, organization
}

// Revoke removes a token.
func (u *Users) Revoke(token string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.tokens, string(secret.Hash(token)))
}

// Owner makes a token of u1, an owner of o1.
func (u *Users) Owner() string {
	return u.Token("u1", []string{"ORG_OWNER"}, "openid", contract.Audience)
}

// ResolveToken implements usersv1.UsersServer.
func (u *Users) ResolveToken(_ context.Context, r *usersv1.ResolveTokenRequest) (*usersv1.ResolveTokenResponse, error) {
	caller, answers, err := u.resolve(r)
	u.Resolved.Add(1)
	if asked := u.Resolving.Load(); asked != nil {
		(*asked)(r)
	}
	<-answers
	return &usersv1.ResolveTokenResponse{Caller: caller}, err
}

func (u *Users) resolve(r *usersv1.ResolveTokenRequest) (*heraldv1.Caller, chan struct{}, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, ok := u.tokens[string(r.TokenHash)]
	if len(r.TokenHash) != sha256.Size || !ok {
		return nil, u.answers, fault.ErrUnauthenticated
	}
	c = proto.CloneOf(c)
	for _, m := range c.Memberships {
		if r.OrgId == "" || r.OrgId == m.OrganizationId {
			c.Memberships, c.OrganizationId = []*heraldv1.CallerMembership{m}, m.OrganizationId
			return c, u.answers, nil
		}
	}
	return nil, u.answers, fault.ErrPermissionDenied.Say("You are not a member of this organization")
}

// Hold makes ResolveToken wait before it returns, until the function is called.
func (u *Users) Hold() (release func()) {
	answers := make(chan struct{})
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answers = answers
	return func() { close(answers) }
}

// took records a request and returns the error that the test has set.
func (u *Users) took(ctx context.Context, m proto.Message) error {
	u.Called.Add(1)
	u.mu.Lock()
	u.last, u.Caller, u.RequestID = proto.Clone(m), caller.From(ctx), rpc.RequestID(ctx)
	fail := u.fail
	u.mu.Unlock()
	if fail != nil {
		return fail(ctx)
	}
	return nil
}

// FailWith makes all methods but ResolveToken call f and return its error.
func (u *Users) FailWith(f func(context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fail = f
}

// Request returns the last request.
func (u *Users) Request() proto.Message {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last
}

// GetUser implements usersv1.UsersServer.
func (u *Users) GetUser(ctx context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
	if err := u.took(ctx, r); err != nil {
		return nil, err
	}
	if r.UserId != "u1" {
		return nil, usersfault.ErrUserNotFound
	}
	return &usersv1.GetUserResponse{User: &usersv1.User{Id: "u1", State: usersv1.UserState_USER_STATE_ACTIVE,
		Details: &heraldv1.ObjectDetails{
			Sequence: 7, CreationDate: &timestamppb.Timestamp{Seconds: 1_700_000_000, Nanos: 120_000_000},
		}, Type: &usersv1.User_Machine{Machine: &usersv1.Machine{Name: "robot"}}}}, nil
}

// GetMyUser implements usersv1.UsersServer.
func (u *Users) GetMyUser(ctx context.Context, r *usersv1.GetMyUserRequest) (*usersv1.GetMyUserResponse, error) {
	if err := u.took(ctx, r); err != nil {
		return nil, err
	}
	return &usersv1.GetMyUserResponse{User: &usersv1.User{Id: caller.From(ctx).UserID}}, grpc.SetHeader(ctx,
		metadata.Pairs("content-language", "de"))
}

// SearchUsers implements usersv1.UsersServer.
func (u *Users) SearchUsers(ctx context.Context, r *usersv1.SearchUsersRequest) (*usersv1.SearchUsersResponse, error) {
	return &usersv1.SearchUsersResponse{Details: &heraldv1.ListDetails{}}, u.took(ctx, r)
}

// IsUserUnique implements usersv1.UsersServer.
func (u *Users) IsUserUnique(
	ctx context.Context, r *usersv1.IsUserUniqueRequest,
) (*usersv1.IsUserUniqueResponse, error) {
	return &usersv1.IsUserUniqueResponse{}, u.took(ctx, r)
}

// ImportHumanUser implements usersv1.UsersServer.
func (u *Users) ImportHumanUser(
	ctx context.Context, r *usersv1.ImportHumanUserRequest,
) (*usersv1.ImportHumanUserResponse, error) {
	return &usersv1.ImportHumanUserResponse{UserId: r.UserId}, u.took(ctx, r)
}

// AddPersonalAccessToken implements usersv1.UsersServer.
func (u *Users) AddPersonalAccessToken(
	ctx context.Context, r *usersv1.AddPersonalAccessTokenRequest,
) (*usersv1.AddPersonalAccessTokenResponse, error) {
	return &usersv1.AddPersonalAccessTokenResponse{}, u.took(ctx, r)
}

// ResendMyEmailVerification implements usersv1.UsersServer.
func (u *Users) ResendMyEmailVerification(
	ctx context.Context, r *usersv1.ResendMyEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	return &usersv1.ResendEmailVerificationResponse{}, u.took(ctx, r)
}

// SearchMyPersonalAccessTokens implements usersv1.UsersServer.
func (u *Users) SearchMyPersonalAccessTokens(
	ctx context.Context, r *usersv1.SearchMyPersonalAccessTokensRequest,
) (*usersv1.SearchPersonalAccessTokensResponse, error) {
	return &usersv1.SearchPersonalAccessTokensResponse{}, u.took(ctx, r)
}
