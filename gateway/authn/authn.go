// Package authn turns the token of a request into the caller it stands for. What
// users answered is believed for two seconds at most, and less where an event says
// that it has changed or the bus, by which events come, is away. Refusals and
// unknown tokens are never remembered: whoever was refused is asked for again.
package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/singleflight"

	"herald/shared/caller"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/secret"
)

// askLimit is how long a request waits for the answer to whose token it carries.
const askLimit = 5 * time.Second

var errAnswer = errors.New("authn: a token was resolved to nobody")

// Config is what an Authenticator needs.
type Config struct {
	Conn *nats.Conn
	// Calls is the calling end of the gateway itself.
	Calls  *rpc.Conn
	Signer caller.Signer
	Now    func() time.Time
}

// Authenticator knows whose tokens are whose.
type Authenticator struct {
	Config
	users   usersv1.UsersClient
	known   *cache
	news    news
	flights singleflight.Group
}

// New subscribes to the events by which callers change; they are heard until the
// connection closes.
func New(c Config) (*Authenticator, error) {
	news, err := readNews()
	if err != nil {
		return nil, err
	}
	a := &Authenticator{Config: c, users: usersv1.NewUsersClient(c.Calls), known: newCache(), news: news}
	return a, a.listen()
}

// Pass is an authenticated caller on the way to a service.
type Pass struct {
	// Header is the signed caller.
	Header string
	// Cached tells that nobody was asked for this very request.
	Cached bool

	caller caller.Caller
	key    key
	// asked is when the question was put, reconnects the bus's count at that time.
	asked      time.Time
	reconnects uint64
}

// key is what a caller is remembered by. The token itself is not kept.
type key struct {
	hash         [sha256.Size]byte
	organization string
}

// Authenticate answers with the caller behind the headers of a request, if its token is what
// the method needs. The refusals come in the order token, scope, organization.
func (a *Authenticator) Authenticate(ctx context.Context, h http.Header, need Need) (Pass, error) {
	token, err := bearer(h)
	if err != nil {
		return Pass{}, err
	}
	home, err := a.resolve(ctx, token, "")
	if err != nil {
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

func (a *Authenticator) resolve(ctx context.Context, token, organization string) (Pass, error) {
	if !secret.WellFormedToken(token) {
		return Pass{}, errToken
	}
	k := key{sha256.Sum256([]byte(token)), organization}
	if p, ok := a.known.find(k, a.Now(), a.Conn); ok {
		return p, nil
	}
	return a.ask(ctx, k)
}

// Again asks anew whom a cached pass stands for, after a service has refused it: what
// was granted a moment ago must count.
func (a *Authenticator) Again(ctx context.Context, p Pass) (Pass, error) {
	a.known.remove(p.key)
	return a.ask(ctx, p.key)
}

// ask resolves a token. The refusal of a question that another request put does not
// count: it may be older than what let this one's sender in.
func (a *Authenticator) ask(ctx context.Context, k key) (Pass, error) {
	p, err := a.share(ctx, k)
	if err != nil && p.Cached {
		p, err = a.share(ctx, k)
	}
	return p, err
}

// share puts a question once for all requests that wait for its answer. One from
// before an event does not answer requests that came after it, nor is its answer kept.
func (a *Authenticator) share(ctx context.Context, k key) (Pass, error) {
	epoch, own := a.known.epoch(), false
	name := strconv.FormatUint(epoch, 16) + "/" + string(k.hash[:]) + k.organization
	flight := a.flights.DoChan(name, func() (any, error) {
		own = true
		p := Pass{key: k, asked: a.Now(), reconnects: a.Conn.Stats().Reconnects}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
		defer cancel()
		var err error
		if p.caller, err = a.lookUp(ctx, k); err != nil {
			return Pass{}, err
		}
		p.Header = a.Signer.Sign(p.caller)
		a.known.keep(p, epoch)
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

// lookUp asks the service that knows tokens of this kind.
func (a *Authenticator) lookUp(ctx context.Context, k key) (caller.Caller, error) {
	r, err := a.users.ResolveToken(ctx, &usersv1.ResolveTokenRequest{TokenHash: k.hash[:], OrgId: k.organization})
	switch {
	case errors.Is(err, fault.ErrDeadline): // nothing was changed: trying again is safe
		return caller.Caller{}, fault.ErrUnavailable.After(time.Second).Because(err)
	case err != nil:
		return caller.Caller{}, err
	case r.GetCaller().GetUserId() == "":
		return caller.Caller{}, errAnswer
	}
	return caller.FromProto(r.Caller), nil
}
