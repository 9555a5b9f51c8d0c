// Package caller says who makes a request and what they may do. It carries the caller from the gateway to every
// service, with a signature that is valid for 30 s. It holds the table of roles with their permissions, and the rule
// that nobody may grant a permission that they do not have.
package caller

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
)

// Lifetime is how long a signature is valid. It is long enough for the clocks of two machines
// to differ by several seconds.
const Lifetime = 30 * time.Second

// FreshLogin is how old a login may be with which somebody changes how they log in.
const FreshLogin = 10 * time.Minute

// Caller is a user who was authenticated at the gateway, or a service on its own behalf.
type Caller struct {
	UserID string
	// OrganizationID is the organization acted on, HomeOrganizationID the user's own.
	OrganizationID     string
	HomeOrganizationID string
	Scopes             []string
	// Memberships holds the user's roles in the organization acted on, in its
	// projects and in the instance; of other organizations nothing.
	Memberships []Membership
	// AuthenticatedAt is the time of the login behind the token; zero without one.
	AuthenticatedAt time.Time
	// TokenID is the personal access token of the call; empty for other tokens.
	TokenID string
	// ClientID is the application to which the token was issued, ClientProjectID its project. Both are empty for
	// personal access tokens and for tokens that machine users got for themselves.
	ClientID, ClientProjectID string
	// Credential stands for the secret or the key with which the token was asked for; empty for other tokens.
	Credential string
	// Service is set instead of all the above.
	Service string
}

// Can reports whether the caller has a permission in the organization acted on, or on
// the project where one is named.
func (c Caller) Can(name, projectID string) bool {
	return Holds(c.Memberships, name, c.OrganizationID, projectID)
}

// CanIn reports whether the caller has a permission in an organization that a request names.
// In organizations that are not acted on only the roles of the whole instance count.
func (c Caller) CanIn(name, organizationID string) bool {
	return Holds(c.Memberships, name, organizationID, "")
}

// InInstance reports whether the caller has any role in the whole instance.
func (c Caller) InInstance() bool {
	for _, m := range c.Memberships {
		if m.OrganizationID == "" {
			return true
		}
	}
	return false
}

type contextKey struct{}

// With puts a caller into a context.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// From returns the context's caller; the zero caller may do nothing.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(contextKey{}).(Caller)
	return c
}

// Signer signs and checks callers with the key that all services share. While the master key changes
// it also accepts what a process signed that has the keys in another order.
type Signer struct {
	keys     [][]byte // the first one signs
	now      func() time.Time
	verified *verified
}

// Purpose is for what the signing keys are derived.
const Purpose = "caller"

// NewSigner derives the signing keys.
func NewSigner(keys secret.Keys, now func() time.Time) Signer {
	var signing [][]byte
	for _, k := range keys.Each() {
		signing = append(signing, k.Derive(Purpose))
	}
	return Signer{signing, now, &verified{callers: map[string]signed{}}}
}

// Sign returns the header that stands for the caller: base64url of the encoded
// caller, a dot, base64url of its HMAC.
func (s Signer) Sign(c Caller) string {
	m := c.Proto()
	m.ExpiresAt = s.now().Add(Lifetime).UnixMilli()
	payload, err := proto.Marshal(m)
	if err != nil {
		panic(err) // ids and roles come from our own database and are valid UTF-8
	}
	text := base64.RawURLEncoding.EncodeToString(payload)
	return text + "." + mac(s.keys[0], text)
}

func mac(key []byte, text string) string {
	return base64.RawURLEncoding.EncodeToString(secret.MAC(key, text))
}

// Verify is the inverse of Sign. It returns ErrCallerNotAuthentic for a header that Sign did not make. The
// gateway sends the same header for a while, so Verify decodes it once and returns the same
// slices again: they must not be changed.
func (s Signer) Verify(header string) (Caller, error) {
	known, ok := s.verified.find(header)
	if !ok {
		var err error
		if known, err = s.decode(header); err != nil {
			return Caller{}, err
		}
		s.verified.keep(header, known)
	}
	if s.now().UnixMilli() > known.expiresAt {
		return Caller{}, fault.ErrCallerNotAuthentic
	}
	return known.Caller, nil
}

func (s Signer) decode(header string) (signed, error) {
	text, signature, _ := strings.Cut(header, ".")
	// Not decoded: base64 writes the same bytes in more than one way.
	signs := func(key []byte) bool { return hmac.Equal([]byte(signature), []byte(mac(key, text))) }
	if !slices.ContainsFunc(s.keys, signs) {
		return signed{}, fault.ErrCallerNotAuthentic
	}
	payload, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return signed{}, fault.ErrCallerNotAuthentic
	}
	var m heraldv1.Caller
	if err := proto.Unmarshal(payload, &m); err != nil {
		return signed{}, fault.ErrCallerNotAuthentic
	}
	return signed{FromProto(&m), m.ExpiresAt}, nil
}

// Proto returns the caller as a message.
func (c Caller) Proto() *heraldv1.Caller {
	m := &heraldv1.Caller{
		UserId: c.UserID, OrganizationId: c.OrganizationID, HomeOrganizationId: c.HomeOrganizationID,
		Scopes: c.Scopes, Service: c.Service, TokenId: c.TokenID, ClientId: c.ClientID,
		ClientProjectId: c.ClientProjectID, Credential: c.Credential,
	}
	if !c.AuthenticatedAt.IsZero() {
		m.AuthenticatedAt = c.AuthenticatedAt.Unix()
	}
	for _, p := range c.Memberships {
		m.Memberships = append(m.Memberships, &heraldv1.CallerMembership{
			OrganizationId: p.OrganizationID, ProjectId: p.ProjectID, Roles: p.Roles,
		})
	}
	return m
}

// FromProto is the inverse of Proto.
func FromProto(m *heraldv1.Caller) Caller {
	c := Caller{
		UserID: m.GetUserId(), OrganizationID: m.GetOrganizationId(), HomeOrganizationID: m.GetHomeOrganizationId(),
		Scopes: m.GetScopes(), Service: m.GetService(), TokenID: m.GetTokenId(), ClientID: m.GetClientId(),
		ClientProjectID: m.GetClientProjectId(), Credential: m.GetCredential(),
	}
	if at := m.GetAuthenticatedAt(); at != 0 {
		c.AuthenticatedAt = time.Unix(at, 0)
	}
	for _, p := range m.GetMemberships() {
		c.Memberships = append(c.Memberships, Membership{
			OrganizationID: p.OrganizationId, ProjectID: p.ProjectId, Roles: p.Roles,
		})
	}
	return c
}

// Actor returns the user's id, or the service's name, for the event of a change.
func (c Caller) Actor() string {
	if c.UserID != "" {
		return c.UserID
	}
	return c.Service
}
