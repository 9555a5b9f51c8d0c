// Package consumer handles the events of other services. It deletes the data of removed users, organizations and
// applications, and sessions that a change of a user or an organization has ended. It also deletes expired rows.
// Everything that it deletes is already refused before. Only notifications of logouts wait for it.
package consumer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/boot"
	"herald/shared/event"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	idpv1 "herald/shared/gen/herald/idp/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/orgremoval"
	"herald/shared/retry"
)

// interval is how often a replica looks for expired rows.
const interval = time.Minute

// Config is what the consumer needs.
type Config struct {
	Store    store.Store
	Upstream *upstream.Services
	// Ended is called when sessions may have ended.
	Ended func()
	// Keep is how long past logins are kept.
	Keep time.Duration
}

// Start adds the consumer to a service.
func Start(s *boot.Service, c Config) {
	w := consumer{Config: c, log: s.Log}
	s.Background(w.run)
	s.Consume(append(w.handlers(), orgremoval.Start(s, w.removed()))...)
}

type consumer struct {
	Config
	log *slog.Logger
}

// run deletes expired rows until ctx ends.
func (s consumer) run(ctx context.Context) {
	for again := true; again; again = retry.Wait(ctx, interval) {
		if err := each(ctx, s.expired); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "expired tokens and past logins stay a while longer", "err", err)
		}
	}
}

func (s consumer) expired(ctx context.Context) (more bool, err error) {
	return s.Store.DeleteExpired(ctx, s.Keep)
}

// handlers end the sessions and authorizations that depend on what has changed or was removed. These must be all
// changes after which domain.Session.Alive or domain.Authorization.Alive is false, or an authorization needs a consent.
func (s consumer) handlers() []event.Handler {
	return []event.Handler{
		on[usersv1.UserRemoved](s.ends(s.Store.DeleteOfUser)),
		on[usersv1.UserLocked](s.changed),
		on[usersv1.UserDeactivated](s.changed),
		on[usersv1.HumanPasswordChanged](s.changed),
		on[usersv1.HumanPasswordRemoved](s.changed),
		on[usersv1.IdpLinkRemoved](s.changed),
		on[idpv1.IdpDeactivated](s.endIdp),
		on[idpv1.IdpRemoved](s.endIdp),
		deactivated(s, s.Store.EndChangedOrg, (*usersv1.OrgDeactivated).GetGeneration),
		deactivated(s, s.Store.EndChangedProject, (*projectsv1.ProjectDeactivated).GetGeneration),
		deactivated(s, s.Store.EndChangedApp, (*projectsv1.ApplicationDeactivated).GetGeneration),
		granted[projectsv1.ProjectGrantDeactivated](s),
		granted[projectsv1.ProjectGrantRemoved](s),
		granted[projectsv1.ProjectGrantEnded](s),
		// The applications of the project have events of their own.
		on[projectsv1.ProjectRemoved](s.ends(s.Store.EndNamed)),
		promoted[usersv1.MemberAdded](s, func(e *usersv1.MemberAdded) bool {
			return e.State != usersv1.MembershipState_MEMBERSHIP_STATE_PENDING
		}),
		promoted[usersv1.MemberAccepted](s, func(*usersv1.MemberAccepted) bool { return true }),
		event.On(s.configured),
		// A logout has queued notifications.
		on[authv1.SessionEnded](func(context.Context, event.Delivery) error {
			s.Ended()
			return nil
		}),
		on[projectsv1.ApplicationRemoved](s.ends(s.Store.DeleteOfClient)),
	}
}

// on returns a handler of events that only needs their delivery.
func on[E any, P interface {
	*E
	proto.Message
}](handle func(context.Context, event.Delivery) error) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, _ P) error { return handle(ctx, d) })
}

// deactivated returns a handler of a deactivation, which ends what depends on a generation before the new one.
func deactivated[E any, P interface {
	*E
	proto.Message
}](
	s consumer, batch func(context.Context, event.Delivery, int64) (bool, error), generation func(P) uint64,
) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, e P) error {
		return s.ends(func(ctx context.Context, d event.Delivery) (bool, error) {
			return batch(ctx, d, int64(generation(e)))
		})(ctx, d)
	})
}

// granted returns a handler of the end of a project grant.
func granted[E any, P interface {
	*E
	proto.Message
	GetProjectId() string
	GetGrantedOrgId() string
}](s consumer) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, e P) error {
		reach, err := s.Upstream.Reach(ctx, domain.Authorization{ProjectID: e.GetProjectId()})
		if err != nil && fault.From(err).Code != fault.NotFound {
			return err
		}
		project := reach.Own.Project // without checks if the project was removed: its applications end too
		project.ID = e.GetProjectId()
		return s.ends(func(ctx context.Context, d event.Delivery) (bool, error) {
			return s.Store.EndGranted(ctx, d, project, e.GetGrantedOrgId())
		})(ctx, d)
	})
}

// promoted returns a handler of an event after which a user has a role, if active reports so.
func promoted[E any, P interface {
	*E
	proto.Message
	GetUserId() string
}](s consumer, active func(P) bool) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, e P) error {
		if !active(e) {
			return nil
		}
		return s.ends(func(ctx context.Context, d event.Delivery) (bool, error) {
			return s.Store.EndTrustedOf(ctx, d, e.GetUserId())
		})(ctx, d)
	})
}

// configured ends what people gave an application without a question, if its mark as trusted was taken away. If it was
// set, there is nothing yet.
func (s consumer) configured(ctx context.Context, d event.Delivery, e *projectsv1.ApplicationChanged) error {
	if !slices.Contains(e.Changed, "trusted") {
		return nil
	}
	return s.ends(s.Store.EndTrusted)(ctx, d)
}

// ends returns a function that deletes what depends on the object of an event, in batches.
func (s consumer) ends(
	batch func(context.Context, event.Delivery) (more bool, err error),
) func(context.Context, event.Delivery) error {
	return func(ctx context.Context, d event.Delivery) error {
		defer s.Ended()
		return each(ctx, func(ctx context.Context) (bool, error) { return batch(ctx, d) })
	}
}

// endIdp ends the logins with accounts of a provider. Its event makes the gateway forget cached callers. It is written
// after all logins have ended, so that the gateway cannot cache one of them again.
func (s consumer) endIdp(ctx context.Context, d event.Delivery) error {
	if err := s.ends(s.Store.DeleteOfIdp)(ctx, d); err != nil {
		return err
	}
	return s.Store.Note(ctx, d.OrganizationID, d.AggregateID, &authv1.IdpSessionsEnded{Cause: d.ID})
}

// removed deletes what an organization's users had. The service projects removes the organization's applications, and
// the event of each removal deletes what was given to it.
func (s consumer) removed() orgremoval.Sweep {
	return func(ctx context.Context, removed event.Delivery) (bool, error) {
		defer s.Ended()
		return s.Store.DeleteOfOrg(ctx, removed)
	}
}

// changed ends the sessions and authorizations of a user that are not alive any more. A login that is newer than the
// change continues, even if the event comes late.
func (s consumer) changed(ctx context.Context, d event.Delivery) error {
	defer s.Ended()
	logins, err := s.Store.LoginsOfUser(ctx, d.AggregateID)
	for _, l := range logins {
		if err == nil {
			err = s.endDead(ctx, d, l)
		}
	}
	return err
}

func (s consumer) endDead(ctx context.Context, d event.Delivery, n domain.Session) error {
	u, err := s.Upstream.User(ctx, n.UserID, upstream.Proof{Credential: n.Credential})
	if err != nil && !errors.Is(err, upstream.ErrNoUser) || err == nil && n.Alive(u) {
		return err
	}
	return each(ctx, func(ctx context.Context) (bool, error) { return s.Store.EndLoginsLike(ctx, d, n) })
}

// each deletes batches until nothing is left.
func each(ctx context.Context, batch func(context.Context) (more bool, err error)) error {
	for {
		more, err := batch(ctx)
		if !more || err != nil {
			return err
		}
	}
}
