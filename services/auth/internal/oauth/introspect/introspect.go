// Package introspect has two endpoints: introspection, which reports whether a token is active and what it grants (RFC
// 7662), and revocation (RFC 7009).
package introspect

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/accesstoken"
	"herald/services/auth/internal/oauth/claims"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/protocol"
	"herald/shared/fault"
	"herald/shared/secret"
)

// The paths of the endpoints.
const (
	Path       = "/oauth/v2/introspect"
	RevokePath = "/oauth/v2/revoke"
)

// Config is what the endpoints need.
type Config struct {
	Clients protocol.Clients
	Tokens  accesstoken.Tokens
	Claims  claims.Claims
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Endpoint is both endpoints.
type Endpoint struct {
	Config
	introspections, revocations *prometheus.CounterVec
}

// New returns the endpoints.
func New(c Config) Endpoint {
	return Endpoint{
		c, protocol.Counter(c.Metrics, "herald_introspections_total", "Introspections by result.", "result"),
		protocol.Counter(c.Metrics, "herald_revocations_total", "Revocations of tokens by result.", "result"),
	}
}

// Mount answers the endpoints' paths.
func (e Endpoint) Mount(mux *http.ServeMux) {
	mux.HandleFunc(Path, protocol.Only(e.introspect, http.MethodPost))
	mux.HandleFunc(RevokePath, protocol.Only(e.revoke, http.MethodPost))
}

// Part returns what clients find by discovery. A public client may revoke its tokens, but not introspect.
func (e Endpoint) Part() discovery.Part {
	private := slices.DeleteFunc(protocol.Methods(), func(m string) bool { return m == string(domain.AuthNone) })
	return discovery.Part{
		Paths: map[string]string{"introspection_endpoint": Path, "revocation_endpoint": RevokePath},
		Lists: map[string][]string{
			"introspection_endpoint_auth_methods_supported":            private,
			"introspection_endpoint_auth_signing_alg_values_supported": {protocol.AssertionAlgorithm},
			"revocation_endpoint_auth_methods_supported":               protocol.Methods(),
			"revocation_endpoint_auth_signing_alg_values_supported":    {protocol.AssertionAlgorithm},
		},
	}
}

func (e Endpoint) introspect(w http.ResponseWriter, r *http.Request) {
	answer, err := e.about(r)
	result := "active"
	switch {
	case err != nil:
		result = protocol.Refusal(err).Code
	case answer["active"] == false:
		result = "inactive"
	}
	e.introspections.WithLabelValues(result).Inc()
	protocol.Answer(e.Log, w, r, answer, err)
}

// found is a live token with its user.
type found struct {
	domain.Token
	kind domain.TokenKind
	user domain.Subject
}

// about returns the answer to a request. The client and the token are looked up at the same time. A refused client gets
// no information about the token.
func (e Endpoint) about(r *http.Request) (domain.Claims, error) {
	f, text, err := tokenOf(r)
	if err != nil {
		return nil, err
	}
	var (
		both     sync.WaitGroup
		client   domain.Client
		refusal  error
		token    found
		tokenErr error
	)
	both.Go(func() { client, refusal = e.client(r, f) })
	both.Go(func() { token, tokenErr = e.live(r.Context(), text) })
	both.Wait()
	if refusal == nil {
		refusal = e.active(r.Context(), client, token.user)
	}
	if refusal != nil {
		return nil, refusal
	}
	dead := fault.From(tokenErr).Code == fault.Unauthenticated
	if tokenErr != nil && !dead {
		return nil, tokenErr
	}
	if dead || !token.MayIntrospect(client, token.kind) {
		return domain.Claims{"active": false}, nil
	}
	return e.answer(r.Context(), client, token)
}

// tokenOf returns the parameters of a request, and the token among them.
func tokenOf(r *http.Request) (protocol.Form, string, error) {
	f, err := protocol.ReadForm(r)
	if err != nil {
		return nil, "", err
	}
	text, err := f.Needed("token")
	return f, text, err
}

// client returns the client of the request. A public client may not introspect. A machine user may introspect its own
// tokens.
func (e Endpoint) client(r *http.Request, f protocol.Form) (domain.Client, error) {
	client, err := e.Clients.Authenticate(r.Context(), r, f)
	if err == nil && client.Public() {
		err = domain.ErrInvalidClient.Say("a public client may not introspect")
	}
	return client, err
}

// active refuses a client whose organization is not active. It asks no service if that is one of the known
// organizations of the token's user.
func (e Endpoint) active(ctx context.Context, client domain.Client, user domain.Subject) (err error) {
	orgs := user.Orgs
	if client.Machine != nil {
		orgs = client.Machine.Orgs
	}
	if _, known := orgs[client.OrgID]; !known {
		if orgs, err = e.Tokens.Upstream.Orgs(ctx, client.OrgID); err != nil {
			return err
		}
	}
	if !orgs[client.OrgID].Active {
		return domain.ErrInvalidClient.Say("the organization of the client is not active")
	}
	return nil
}

// live returns an access or refresh token if everything on which it depends is active. Otherwise it returns
// fault.ErrUnauthenticated. The form of a token shows its kind, so no hint is needed.
func (e Endpoint) live(ctx context.Context, text string) (found, error) {
	t, kind, err := e.find(ctx, text)
	if err != nil {
		return found{}, err
	}
	_, user, err := e.Tokens.Check(ctx, t.Authorization)
	return found{t, kind, user}, err
}

func (e Endpoint) find(ctx context.Context, text string) (domain.Token, domain.TokenKind, error) {
	if secret.RefreshToken.WellFormed(text) {
		t, err := e.Tokens.Store.Token(ctx, domain.KindRefresh, secret.Hash(text))
		return t, domain.KindRefresh, err
	}
	t, err := e.Tokens.Find(ctx, text)
	return t, domain.KindAccess, err
}

// answer returns the response for a live token (RFC 7662 section 2.2).
func (e Endpoint) answer(ctx context.Context, client domain.Client, t found) (domain.Claims, error) {
	answer, err := e.Claims.Introspection(ctx, client, t.user, t.Token)
	if err != nil {
		return nil, err
	}
	maps.Copy(answer, domain.Claims{
		"active": true, "iss": e.Tokens.Issuer, "sub": t.Subject(), "aud": t.TokenAudience(), "client_id": t.ClientID,
		"iat": t.IssuedAt.Unix(), "exp": t.TokenExpiresAt.Unix(),
	})
	for name, value := range map[string]string{
		"scope": strings.Join(t.TokenScopes, " "), "jti": t.JTI, "username": t.user.Profile.UserName,
	} {
		if value != "" {
			answer[name] = value
		}
	}
	if t.kind == domain.KindAccess {
		answer["token_type"] = "Bearer"
	}
	return answer, nil
}
