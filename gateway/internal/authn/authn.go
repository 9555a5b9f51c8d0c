// Package authn finds the caller of a request by its token. The users service knows personal access
// tokens, and the auth service all other tokens. Package eventcache keeps their answers for at most two seconds.
// Refusals and unknown tokens are never kept.
package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/singleflight"

	"herald/shared/caller"
	"herald/shared/eventcache"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/queue"
	"herald/shared/rpc"
	"herald/shared/secret"
)

// askLimit is how long a service may take to resolve a token.
const askLimit = 5 * time.Second

var errAnswer = errors.New("authn: a token was resolved to nobody")

// Config is what an Authenticator needs.
type Config struct {
	// Changes are the events that change callers.
	Changes *eventcache.Changes
	// Calls calls services as the gateway.
	Calls  *rpc.Conn
	Signer caller.Signer
	Now    func() time.Time
}

// Authenticator finds callers by their tokens.
type Authenticator struct {
	Config
	users   usersv1.InternalClient
	auth    authv1.AuthClient
	known   *eventcache.Answers[key, Pass]
	flights singleflight.Group
	turns   *queue.Queue
	homes   homes
}

// New returns an Authenticator.
func New(c Config) *Authenticator {
	return &Authenticator{Config: c, users: usersv1.NewInternalClient(c.Calls), auth: authv1.NewAuthClient(c.Calls),
		known: eventcache.NewAnswers[key, Pass](c.Changes), turns: newTurns()}
}

// Pass is an authenticated caller on the way to a service.
type Pass struct {
	// Header is the signed caller.
	Header string
	// Cached reports whether the answer is from the cache or was asked for by another request.
	Cached bool

	caller caller.Caller
	// origins are the origins of web pages that may use the token. If there are none, every page may use it.
	origins []string
	// projects are further projects on which the token depends.
	projects []string
	key      key
	// token is the token of the request. A pass in the cache has no token.
	token secret.Text
}

// Organization returns the id of the organization acted on.
func (p Pass) Organization() string { return p.caller.OrganizationID }

// about returns the objects whose changes may change the pass.
func (p Pass) about() []eventcache.Subject {
	about := []eventcache.Subject{eventcache.User(p.caller.UserID)}
	if p.caller.ClientID != "" {
		about = append(about, eventcache.Application(p.caller.ClientID), eventcache.Project(p.caller.ClientProjectID))
	}
	for _, id := range p.projects {
		about = append(about, eventcache.Project(id))
	}
	return about
}

// key is the key of the cache. It holds a hash, so that tokens are not kept.
type key struct {
	hash         [sha256.Size]byte
	organization string
}

// Authenticate returns the caller for the headers of a request, if the token has the scopes that
// the method needs. It checks token, scopes and organization in this order.
func (a *Authenticator) Authenticate(ctx context.Context, h http.Header, need Need) (Pass, error) {
	token, err := bearer(h)
	if err != nil {
		return Pass{}, err
	}
	home, err := a.resolve(ctx, token, "")
	if err != nil {
		return Pass{}, err
	}
	if err := usable(home.origins, h); err != nil {
		return Pass{}, err
	}
	if err := permits(home.caller.Scopes, need.Scopes); err != nil {
		return Pass{}, err
	}
	organization, err := organization(h)
	if err != nil || organization == "" {
		return home, err
	}
	there, err := a.resolve(ctx, token, organization)
	if need.Home {
		return home, err
	}
	return there, err
}

// In returns the caller for the headers of a request in an organization that its body names, or at home if it names
// none. If the organization does not exist yet, it returns the caller at home, if the caller may see all organizations.
func (a *Authenticator) In(ctx context.Context, h http.Header, organization string) (Pass, error) {
	token, err := bearer(h)
	if err != nil {
		return Pass{}, err
	}
	p, err := a.resolve(ctx, token, organization)
	if organization != "" && fault.From(err).Code == fault.NotFound {
		p, err = a.resolve(ctx, token, "")
	}
	if err == nil {
		err = usable(p.origins, h)
	}
	return p, err
}

// Holder returns the ids of the caller and of the organization that the caller belongs to.
func (p Pass) Holder() (userID, organizationID string) {
	return p.caller.UserID, p.caller.HomeOrganizationID
}

// Holds reports whether the caller holds a permission in the organization acted on. The service
// decides, because the answer may be up to two seconds old.
func (p Pass) Holds(permission string) bool { return p.caller.Can(permission, "") }

func (a *Authenticator) resolve(ctx context.Context, token, organization string) (Pass, error) {
	if !wellFormed(token) {
		return Pass{}, errToken
	}
	k := key{sha256.Sum256([]byte(token)), organization}
	if p, ok := a.known.Find(k); ok {
		p.Cached, p.token = true, secret.NewText(token)
		return p, nil
	}
	return a.ask(ctx, k, secret.NewText(token))
}

// Again resolves the token of a cached pass again, after a service has refused the caller. The caller may have got more
// permissions since the pass was cached.
func (a *Authenticator) Again(ctx context.Context, p Pass) (Pass, error) {
	a.Changes.Drop(eventcache.User(p.caller.UserID))
	return a.ask(ctx, p.key, p.token)
}

// ask resolves a token. If it gets a refusal that another request has asked for, it asks again, because the refusal may
// be older than a change of the caller. A service that does not answer refuses nothing: asking it again would only take
// the same time once more.
func (a *Authenticator) ask(ctx context.Context, k key, token secret.Text) (Pass, error) {
	p, err := a.share(ctx, k, token)
	if err != nil && p.Cached && fault.From(err).Code != fault.Unavailable {
		p, err = a.share(ctx, k, token)
	}
	p.token = token
	return p, err
}

// share asks once for all requests that wait for the same answer. Requests that came before and after an event do not
// share an answer.
func (a *Authenticator) share(ctx context.Context, k key, token secret.Text) (Pass, error) {
	asked, own := a.Changes.Now(), false
	name := strconv.FormatUint(asked.Count(), 16) + "/" + string(k.hash[:]) + k.organization
	flight := a.flights.DoChan(name, func() (any, error) {
		own = true
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
		defer cancel()
		p, err := a.question(ctx, k, token)
		if err != nil {
			return Pass{}, err
		}
		a.known.Keep(k, p, asked, p.about()...)
		return p, nil
	})
	select {
	case r := <-flight:
		p := r.Val.(Pass)
		p.Cached = !own
		return p, r.Err
	case <-ctx.Done():
		return Pass{}, fault.ErrUnavailable.After(time.Second).Because(ctx.Err())
	}
}
