// Package token is the token endpoint (RFC 6749 section 3.2). The endpoint does what all grants share: it authenticates
// the client, checks the allowed grants, the scopes, the audience and that everything is active, and writes the tokens.
// A grant only returns what the tokens are for.
package token

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/accesstoken"
	"herald/services/auth/internal/oauth/claims"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/protocol"
	"herald/shared/secret"
)

// Path is where the token endpoint is.
const Path = "/oauth/v2/token"

// Config is what the endpoint needs.
type Config struct {
	protocol.Clients
	Tokens  accesstoken.Tokens
	Claims  claims.Claims
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Endpoint is the token endpoint.
type Endpoint struct {
	Config
	grants map[domain.GrantType]grant
	count  *prometheus.CounterVec
}

// grant is a kind of grant. redeem returns what a request gets. The client has authenticated and may use the grant. The
// client is empty if alone is set.
type grant struct {
	// alone reports that the grant itself authenticates, and no client does.
	alone  bool
	redeem func(ctx context.Context, f protocol.Form, c domain.Client) (granted, error)
}

// granted is the result of a grant.
type granted struct {
	domain.Authorization
	// Use is the assertion of the request, which cannot be used again.
	Use domain.Use
	// Scopes are those of the access token.
	Scopes []string
	// JWT reports whether the access token is a JSON Web Token.
	JWT bool
	// lifetimes are those of the client's tokens.
	lifetimes domain.Lifetimes
	// expires is when the access token does.
	expires time.Time

	// save stores the tokens of a person's login, whose authorization is stored already. It is nil for a machine.
	save func(ctx context.Context, tokens []domain.NewToken) error
	// client is that of a person's login, user the person or machine user, and nonce the nonce of the request, for the
	// id token.
	client domain.Client
	user   domain.Subject
	nonce  string
	// next is the next refresh token, empty if there is none, and refresh are its scopes.
	next    secret.Text
	refresh []string
}

// New returns the endpoint.
func New(c Config) *Endpoint {
	e := &Endpoint{Config: c, count: protocol.Counter(c.Metrics, "herald_grants_total",
		"Requests to the token endpoint by grant and result.", "grant", "result")}
	e.grants = map[domain.GrantType]grant{
		domain.GrantCredentials: {redeem: e.credentials},
		domain.GrantDevice:      {redeem: e.device},
		domain.GrantJWTBearer:   {alone: true, redeem: e.assertion},
		domain.GrantCode:        {redeem: e.code},
		domain.GrantRefresh:     {redeem: e.refresh},
	}
	return e
}

// Mount answers the endpoint's path.
func (e *Endpoint) Mount(mux *http.ServeMux) {
	mux.HandleFunc(Path, protocol.Only(e.serve, http.MethodPost))
}

// Part returns what clients find by discovery.
func (e *Endpoint) Part() discovery.Part {
	var grants []string
	for g := range e.grants {
		grants = append(grants, string(g))
	}
	return discovery.Part{
		Paths: map[string]string{"token_endpoint": Path},
		Lists: map[string][]string{
			"grant_types_supported":                            grants,
			"token_endpoint_auth_methods_supported":            protocol.Methods(),
			"token_endpoint_auth_signing_alg_values_supported": {protocol.AssertionAlgorithm},
			"scopes_supported":                                 domain.ScopesSupported(),
		},
	}
}

func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	name, answer, err := e.answer(r)
	result := "ok"
	if err != nil {
		result = protocol.Refusal(err).Code
	} else {
		w.Header().Set("Pragma", "no-cache")
	}
	e.count.WithLabelValues(name, result).Inc()
	protocol.Answer(e.Log, w, r, answer, err)
}

// answered is a response of the endpoint (RFC 6749 section 5.1).
type answered struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int64  `json:"expires_in"`
	// Scope has the scopes of the access token, which may be fewer than were asked for.
	Scope        string `json:"scope,omitempty"`
	RefreshToken string `json:"refresh_token,omitempty"`
	IDToken      string `json:"id_token,omitempty"`
}

// answer returns the answer to a request and, for metrics, the name of its grant.
func (e *Endpoint) answer(r *http.Request) (name string, answer answered, err error) {
	name = "unknown"
	f, err := protocol.ReadForm(r)
	if err != nil {
		return name, answered{}, err
	}
	asked, err := f.Needed("grant_type")
	if err != nil {
		return name, answered{}, err
	}
	g, ok := e.grants[domain.GrantType(asked)]
	if !ok {
		return name, answered{}, domain.ErrUnsupportedGrantType.Say("this endpoint does not know that grant_type")
	}
	name = asked
	var client domain.Client
	if !g.alone {
		if client, err = e.Authenticate(r.Context(), r, f); err != nil {
			return name, answered{}, err
		}
		if !client.MayUse(domain.GrantType(asked)) {
			return name, answered{}, domain.ErrUnauthorizedClient.Say("the client may not use this grant_type")
		}
	}
	give, err := g.redeem(r.Context(), f, client)
	if err != nil {
		return name, answered{}, err
	}
	answer, err = e.write(r.Context(), give)
	return name, answer, err
}

// write stores what a grant gives and returns the answer. All tokens are made before anything is stored, so that no
// code or refresh token is used without an answer. If a client does not get the answer to a refresh, it tries again.
func (e *Endpoint) write(ctx context.Context, g granted) (answered, error) {
	now := e.Now()
	g.expires = g.lifetimes.AccessUntil(now, g.Authorization)
	if g.save == nil {
		text, err := e.machines(ctx, g)
		return answerWith(text, g, now), err
	}
	text, stored, err := e.access(ctx, g)
	if err != nil {
		return answered{}, err
	}
	answer := answerWith(text, g, now)
	if slices.Contains(g.Scopes, domain.ScopeOpenID) {
		if answer.IDToken, err = e.idToken(ctx, g, answer.AccessToken); err != nil {
			return answered{}, err
		}
	}
	if g.refresh != nil {
		answer.RefreshToken = g.next.Reveal()
		stored = append(stored, e.Tokens.Refresh(g.next, g.refresh, g.lifetimes.RefreshUntil(now, g.Authorization)))
	}
	return answer, g.save(ctx, stored)
}

// access returns the access token of a person's login, and what to store of it.
func (e *Endpoint) access(ctx context.Context, g granted) (secret.Text, []domain.NewToken, error) {
	if !g.JWT {
		text, stored := e.Tokens.Opaque(g.Scopes, g.expires)
		return text, []domain.NewToken{stored}, nil
	}
	further, err := e.Claims.AccessToken(ctx, g.client, g.user, g.Authorization, g.Scopes)
	if err != nil {
		return secret.Text{}, nil, err
	}
	text, err := e.Tokens.JWT(g.Authorization, g.Scopes, g.expires, true, further)
	return text, nil, err
}

func answerWith(accessToken secret.Text, g granted, now time.Time) answered {
	return answered{
		AccessToken: accessToken.Reveal(), TokenType: "Bearer",
		ExpiresIn: int64(g.expires.Sub(now).Round(time.Second) / time.Second), Scope: strings.Join(g.Scopes, " "),
	}
}

// machines stores the token of a machine and returns it.
func (e *Endpoint) machines(ctx context.Context, g granted) (secret.Text, error) {
	if g.JWT {
		if err := e.Store.Use(ctx, g.Use); err != nil {
			return secret.Text{}, err
		}
		further, err := e.Claims.AccessToken(ctx, g.client, g.user, g.Authorization, g.Scopes)
		if err != nil {
			return secret.Text{}, err
		}
		return e.Tokens.JWT(g.Authorization, g.Scopes, g.expires, false, further)
	}
	text, stored := e.Tokens.Opaque(g.Scopes, g.expires)
	return text, e.Store.Issue(ctx, g.Authorization, g.Use, stored)
}
