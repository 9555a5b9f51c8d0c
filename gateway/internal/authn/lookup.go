package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"herald/shared/caller"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/queue"
	"herald/shared/secret"
)

const (
	// atOnce is how many tokens are resolved at a time, and waiting how many may wait.
	atOnce  = 256
	waiting = 1024
	// maxHomes is how many tokens have a known organization. When there are more, all are removed.
	maxHomes = 10_000
)

// newTurns returns the queue of requests that resolve tokens. While other lines have requests too, a line has at most
// half of the processors.
func newTurns() *queue.Queue { return queue.NewShared(atOnce, queue.Processors()/2, waiting) }

// homes are the organizations of tokens that were resolved once. The next request with such a token waits in the line
// of its organization, and not behind a client who sends invented tokens. They give a token no rights.
type homes struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]string
}

func (h *homes) of(hash [sha256.Size]byte) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[hash]
}

func (h *homes) keep(hash [sha256.Size]byte, organization string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil || len(h.all) >= maxHomes {
		h.all = map[[sha256.Size]byte]string{}
	}
	h.all[hash] = organization
}

// question asks for the caller of a token when it is the request's turn. The request waits in the line of the token's
// organization if that is known, else in the line of ctx.
func (a *Authenticator) question(ctx context.Context, k key, token secret.Text) (Pass, error) {
	if home := a.homes.of(k.hash); home != "" {
		ctx = queue.In(ctx, home)
	}
	turn, err := a.turns.Enter(ctx)
	if err != nil {
		return Pass{}, err
	}
	defer turn.End()
	defer time.AfterFunc(queue.LongCall, turn.MarkLong).Stop()
	found, err := a.lookUp(ctx, k, token)
	if err != nil {
		return Pass{}, err
	}
	p := Pass{key: k, caller: caller.FromProto(found.Caller), origins: found.Origins, projects: found.ProjectIds}
	p.Header = a.Signer.Sign(p.caller)
	a.homes.keep(k.hash, p.caller.HomeOrganizationID)
	return p, nil
}

// lookUp returns the owner of a token, and what else is known of it.
func (a *Authenticator) lookUp(ctx context.Context, k key, token secret.Text) (*authv1.ResolveTokenResponse, error) {
	found, err := a.askOwner(ctx, k, token.Reveal())
	switch {
	case errors.Is(err, fault.ErrDeadlineExceeded): // nothing was changed, so the client may try again
		return nil, fault.ErrUnavailable.After(time.Second).Because(err)
	case err != nil:
		return nil, err
	case found.GetCaller().GetUserId() == "":
		return nil, errAnswer
	}
	return found, nil
}

// askOwner asks the service that knows tokens of this kind.
func (a *Authenticator) askOwner(ctx context.Context, k key, token string) (*authv1.ResolveTokenResponse, error) {
	if secret.PersonalAccessToken.Begins(token) {
		r, err := a.users.ResolveToken(ctx, &usersv1.ResolveTokenRequest{TokenHash: k.hash[:], OrgId: k.organization})
		return &authv1.ResolveTokenResponse{Caller: r.GetCaller()}, err
	}
	question := &authv1.ResolveTokenRequest{OrgId: k.organization}
	if secret.AccessToken.Begins(token) {
		question.Token = &authv1.ResolveTokenRequest_TokenHash{TokenHash: k.hash[:]}
	} else {
		question.Token = &authv1.ResolveTokenRequest_Jwt{Jwt: token}
	}
	return a.auth.ResolveToken(ctx, question)
}
