package upstream

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"herald/shared/eventcache"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Cached returns services whose answers are cached for at most 2 s, for checks of tokens. An answer is not cached if a
// client or user is not active, if a secret is wrong, or if the request names a key, because each use of a key must be
// proved again.
func (o *Services) Cached(c *eventcache.Changes) *Services {
	return New(cachedProjects{
		o.Projects, eventcache.NewAnswers[string, *projectsv1.ResolveClientResponse](c),
		eventcache.NewAnswers[string, *projectsv1.ResolveAccessResponse](c),
	}, cachedUsers{
		o.Users, eventcache.NewAnswers[string, *usersv1.ResolveSubjectResponse](c),
		eventcache.NewAnswers[string, *usersv1.ResolveTokenResponse](c),
	})
}

// question is the cache key of an answer. It contains only the hash of a secret or token.
func question(m proto.Message) string {
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m) // cannot fail: all texts are checked before
	return string(b)
}

// cachedProjects caches answers of the service projects.
type cachedProjects struct {
	projectsv1.InternalClient
	clients *eventcache.Answers[string, *projectsv1.ResolveClientResponse]
	access  *eventcache.Answers[string, *projectsv1.ResolveAccessResponse]
}

// ResolveClient implements projectsv1.InternalClient.
func (p cachedProjects) ResolveClient(
	ctx context.Context, in *projectsv1.ResolveClientRequest, opts ...grpc.CallOption,
) (*projectsv1.ResolveClientResponse, error) {
	return p.clients.Ask(question(in), func() (*projectsv1.ResolveClientResponse, []eventcache.Subject, error) {
		r, err := p.InternalClient.ResolveClient(ctx, in, opts...)
		proves := len(in.SecretHash) > 0 || in.Credential != ""
		if err != nil || in.KeyId != "" || !application(r).Active || proves && r.Credential == "" {
			return r, nil, err
		}
		return r, []eventcache.Subject{eventcache.Application(in.ClientId), eventcache.Project(r.Project.GetId())}, nil
	})
}

// ResolveAccess implements projectsv1.InternalClient.
func (p cachedProjects) ResolveAccess(
	ctx context.Context, in *projectsv1.ResolveAccessRequest, opts ...grpc.CallOption,
) (*projectsv1.ResolveAccessResponse, error) {
	return p.access.Ask(question(in), func() (*projectsv1.ResolveAccessResponse, []eventcache.Subject, error) {
		r, err := p.InternalClient.ResolveAccess(ctx, in, opts...)
		about := []eventcache.Subject{eventcache.User(in.UserId)}
		for _, id := range append([]string{in.ProjectId}, in.NamedIds...) {
			about = append(about, eventcache.Project(id))
		}
		return r, about, err
	})
}

// cachedUsers caches answers of the service users.
type cachedUsers struct {
	usersv1.InternalClient
	subjects *eventcache.Answers[string, *usersv1.ResolveSubjectResponse]
	tokens   *eventcache.Answers[string, *usersv1.ResolveTokenResponse]
}

// ResolveSubject implements usersv1.InternalClient.
func (u cachedUsers) ResolveSubject(
	ctx context.Context, in *usersv1.ResolveSubjectRequest, opts ...grpc.CallOption,
) (*usersv1.ResolveSubjectResponse, error) {
	return u.subjects.Ask(question(in), func() (*usersv1.ResolveSubjectResponse, []eventcache.Subject, error) {
		r, err := u.InternalClient.ResolveSubject(ctx, in, opts...)
		if err != nil || !keepable(in, r) {
			return r, nil, err
		}
		var about []eventcache.Subject
		if in.UserId != "" {
			about = append(about, eventcache.User(in.UserId))
		}
		for _, o := range r.Orgs {
			about = append(about, eventcache.Organization(o.Id))
		}
		return r, about, nil
	})
}

// keepable reports whether an answer may be cached, because it refuses nothing.
func keepable(in *usersv1.ResolveSubjectRequest, r *usersv1.ResolveSubjectResponse) bool {
	if in.KeyId != "" || (len(in.SecretHash) > 0 || in.Credential != "") && r.Credential == "" {
		return false
	}
	s := subject(in.UserId, r)
	for _, o := range s.Orgs {
		if !o.Active {
			return false
		}
	}
	return in.UserId == "" || s.Active
}

// ResolveToken implements usersv1.InternalClient.
func (u cachedUsers) ResolveToken(
	ctx context.Context, in *usersv1.ResolveTokenRequest, opts ...grpc.CallOption,
) (*usersv1.ResolveTokenResponse, error) {
	return u.tokens.Ask(question(in), func() (*usersv1.ResolveTokenResponse, []eventcache.Subject, error) {
		r, err := u.InternalClient.ResolveToken(ctx, in, opts...)
		return r, []eventcache.Subject{eventcache.User(r.GetCaller().GetUserId())}, err
	})
}
