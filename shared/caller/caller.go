// Package caller describes who makes a request and what they may do. It carries the caller from the gateway to every
// service, with a signature that is valid for 30 s. It has the table of roles and permissions, and the rule that
// nobody may grant a permission that they do not have.
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

// Lifetime is how long a signature is valid. It is long enough if the clocks of two machines differ by several
// seconds.
const Lifetime = 30 * time.Second

// FreshLogin is the largest age of a login with which users may change how they log in.
const FreshLogin = 10 * time.Minute

// Caller is a user whom the gateway has authenticated, or a service that calls on its own behalf.
type Caller struct {
	UserID string
	// OrganizationID is the organization that the request acts on. HomeOrganizationID is the user's own.
	OrganizationID     string
	HomeOrganizationID string
	Scopes             []string
	// Memberships are the user's roles in the organization that the request acts on, in its projects and in the
	// instance. Roles in other organizations are not included.
	Memberships []Membership
	// AuthenticatedAt is the time of the login behind the token. It is zero if there was no login.
	AuthenticatedAt time.Time
	// TokenID is the id of the personal access token of the call. It is empty for other tokens.
	TokenID string
	// ClientID is the application to which the token was issued, or which made the personal access token. It is empty
	// for other personal access tokens, and for tokens that machine users requested for themselves. ClientProjectID is
	// the project of an application to which the token was issued.
	ClientID, ClientProjectID string
	// ClientTrusted reports whether the user's organization trusts that application, which is its own, and trusted it
	// already when the user gave the authorization.
	ClientTrusted bool
	// AuthorizationID is what the user gave that application at a login, with an id of the service auth. What the
	// application makes in the name of the user ends with it.
	AuthorizationID string
	// Credential identifies the secret or key with which the token was requested. It is empty for other tokens.
	Credential string
	// Service is the name of a service that calls on its own behalf. Then all fields above are empty.
	Service string
}

// Can reports whether the caller has a permission in the organization that the request acts on. With a projectID it
// reports whether the caller has the permission on that project.
func (c Caller) Can(name, projectID string) bool {
	return Holds(c.Memberships, name, c.OrganizationID, projectID)
}

// CanIn reports whether the caller has a permission in an organization that a request names. If the request does not
// act on that organization, only roles on the instance count.
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

// From returns the context's caller. Without one it returns the zero caller, who may do nothing.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(contextKey{}).(Caller)
	return c
}

// Signer signs and verifies callers with the key that all services share. While the master key is rotated, it also
// accepts signatures of processes that have the keys in another order.
type Signer struct {
	keys     [][]byte // the first one signs
	now      func() time.Time
	verified *verified
}

// Purpose is the key purpose from which the signing keys are derived.
const Purpose = "caller"

// NewSigner returns a signer with signing keys that are derived from the master keys.
func NewSigner(keys secret.Keys, now func() time.Time) Signer {
	var signing [][]byte
	for _, k := range keys.Each() {
		signing = append(signing, k.Derive(Purpose))
	}
	return Signer{signing, now, &verified{callers: map[string]signed{}}}
}

// Sign returns the caller as a header: the encoded caller in base64url, a dot, and its HMAC in base64url.
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

// Verify is the inverse of Sign. It returns ErrCallerNotAuthentic for a header that Sign did not make. The gateway
// sends the same header for some time. So Verify decodes it once and then returns the same slices again, which must
// not be changed.
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
	// The signature is compared without decoding, because different base64 texts can decode to the same bytes.
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
		ClientProjectId: c.ClientProjectID, Credential: c.Credential, AuthorizationId: c.AuthorizationID,
		ClientTrusted: c.ClientTrusted,
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
		ClientProjectID: m.GetClientProjectId(), Credential: m.GetCredential(), AuthorizationID: m.GetAuthorizationId(),
		ClientTrusted: m.GetClientTrusted(),
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

// Untrusted reports whether the caller's token is one of an application that is not trusted.
func (c Caller) Untrusted() bool { return c.ClientID != "" && !c.ClientTrusted }

// Actor returns the user's id or the service's name. Events name it as the actor of a change.
func (c Caller) Actor() string {
	if c.UserID != "" {
		return c.UserID
	}
	return c.Service
}
