package testworld

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"herald/shared/caller"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
)

// Auth stands in for the service auth.
type Auth struct {
	authv1.UnimplementedAuthServer
	// Page and Endpoint answer browsers and programs.
	Page, Endpoint func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error)
	// Opened counts the requests of OpenEndpoint.
	Opened  atomic.Int64
	Origins []string // of every token
	// Projects are those that every token names.
	Projects []string
	mu       sync.Mutex
	callers  map[string]*heraldv1.Caller // by the hash of an access token, or by a JWT
	asked    []*authv1.ResolveTokenRequest
}

// Issue adds an access token or a JWT.
func (a *Auth) Issue(token string, c caller.Caller) {
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

// End removes an access token.
func (a *Auth) End(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.callers, string(secret.Hash(token)))
}

// Questions returns the requests of ResolveToken.
func (a *Auth) Questions() []*authv1.ResolveTokenRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// MayActOn implements rpc.Guard: everybody may act on everybody.
func (*Auth) MayActOn(context.Context, *caller.Target) error { return nil }

// ResolveToken implements authv1.AuthServer.
func (a *Auth) ResolveToken(_ context.Context, r *authv1.ResolveTokenRequest) (*authv1.ResolveTokenResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, proto.CloneOf(r))
	c := a.callers[string(r.GetTokenHash())+r.GetJwt()]
	if c == nil {
		return nil, fault.ErrUnauthenticated
	}
	return &authv1.ResolveTokenResponse{Caller: c, Origins: a.Origins, ProjectIds: a.Projects}, nil
}

// ExternalPage implements authv1.AuthServer.
func (a *Auth) ExternalPage(ctx context.Context, r *authv1.ServePageRequest) (*authv1.ServePageResponse, error) {
	return a.ServePage(ctx, r)
}

// OpenPage implements authv1.AuthServer.
func (a *Auth) OpenPage(ctx context.Context, r *authv1.ServePageRequest) (*authv1.ServePageResponse, error) {
	return a.ServePage(ctx, r)
}

// OpenEndpoint implements authv1.AuthServer.
func (a *Auth) OpenEndpoint(
	ctx context.Context, r *authv1.ServeEndpointRequest,
) (*authv1.ServeEndpointResponse, error) {
	a.Opened.Add(1)
	return a.ServeEndpoint(ctx, r)
}

// ServePage implements authv1.AuthServer.
func (a *Auth) ServePage(_ context.Context, r *authv1.ServePageRequest) (*authv1.ServePageResponse, error) {
	response, err := a.Page(r.Request)
	return &authv1.ServePageResponse{Response: response}, err
}

// ServeEndpoint implements authv1.AuthServer.
func (a *Auth) ServeEndpoint(
	_ context.Context, r *authv1.ServeEndpointRequest,
) (*authv1.ServeEndpointResponse, error) {
	response, err := a.Endpoint(r.Request)
	return &authv1.ServeEndpointResponse{Response: response}, err
}

// EmptyPage is a Page or Endpoint that answers 200 without a body.
func EmptyPage(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
	return &heraldv1.HttpResponse{Status: 200}, nil
}
