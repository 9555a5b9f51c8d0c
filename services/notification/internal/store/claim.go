package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/notification/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// unheard is the reply of an attempt whose notifier died between the mark and the answer.
const unheard = "the notifier ended before the mail relay answered"

// Claim takes up to n notifications that are due, those with a lease that has run out
// among them, for the time of a lease.
func (s Store) Claim(ctx context.Context, n int, lease time.Duration) ([]domain.Claim, error) {
	return postgres.All[domain.Claim](ctx, s.DB, `with due as (
			select id from notifications where due_at <= now() order by due_at limit $1 for update skip locked
		), claimed as (
			update notifications n set state = $2, due_at = now() + $3::interval, fence = n.fence + 1
			from due where n.id = due.id
			returning n.id, n.org_id, n.user_id, n.kind, n.state, n.created_at, n.language, n.recipient, n.fence
		), died as (
			update attempts a set state = $4, reply = $5 from claimed c where a.notification_id = c.id and a.state = $2
		)
		select c.id, c.org_id, c.user_id, c.kind, c.state, c.created_at, c.language, c.recipient, c.fence,
			(select count(*) from attempts a where a.notification_id = c.id and a.rendered is not null) as unanswered,
			(select a.rendered from attempts a where a.notification_id = c.id and a.rendered is not null order by a.number limit 1) as rendered
		from claimed c`, n, domain.Sending, lease, domain.Uncertain, unheard)
}

// Next says how long until another notification is due, at most most.
func (s Store) Next(ctx context.Context, most time.Duration) (next time.Duration, err error) {
	err = s.DB.QueryRow(ctx, `select least(min(due_at) - now(), $1::interval) from notifications where due_at is not null`, most).Scan(&next)
	return next, postgres.Fault(err)
}

// Hold names one notifier's claim of a notification.
type Hold struct {
	ID    string
	Fence int64
}

// Renew prolongs leases; those that others have taken over stay theirs.
func (s Store) Renew(ctx context.Context, holds []Hold, lease time.Duration) error {
	ids, fences := make([]string, len(holds)), make([]int64, len(holds))
	for i, h := range holds {
		ids[i], fences[i] = h.ID, h.Fence
	}
	_, err := s.DB.Exec(ctx, `update notifications n set due_at = now() + $3::interval
		from unnest($1::text[], $2::bigint[]) held (id, fence)
		where n.id = held.id and n.fence = held.fence and n.state = $4`, ids, fences, lease, domain.Sending)
	return postgres.Fault(err)
}

// Mark notes, before the final dot, that the mail may have been sent from now on, and
// keeps what is sent. It fails with ErrLost once the lease has run out. The lease is
// prolonged in the same statement: a claim under way at the same time waits for this
// row, and then finds it taken.
func (s Store) Mark(ctx context.Context, c domain.Claim, at time.Time, lease time.Duration) error {
	tag, err := s.DB.Exec(ctx, `with mine as (
			update notifications set due_at = now() + $3::interval, language = $4, recipient = $5
			where id = $1 and fence = $2 and state = $6 and due_at > now() returning id
		)
		insert into attempts (notification_id, number, time, state, reply, rendered) select id, $2, $7, $6, '', $8 from mine`,
		c.ID, c.Fence, lease, c.Language, c.Recipient, domain.Sending, at, c.Rendered)
	if err == nil && tag.RowsAffected() == 0 {
		return domain.ErrLost
	}
	return postgres.Fault(err)
}

// Settle records how a claim ended, together with the news of it, if it is any; ErrLost
// where another has the mail by now. What was rendered is forgotten as soon as it will
// not be sent again.
func (s Store) Settle(ctx context.Context, c domain.Claim, v domain.Verdict, news proto.Message) error {
	var pause *time.Duration
	if v.State == domain.Retrying {
		pause = &v.Pause
	}
	args := []any{c.ID, c.Fence, v.State, pause, c.Language, c.Recipient, s.Now(), v.Attempt, v.Reply}
	var err error
	if news == nil {
		err = s.DB.QueryRow(ctx, "with "+given(1)+settled+" select id from mine", args...).Scan(new(string))
	} else {
		_, err = s.Create(ctx, news, event.Save{AggregateID: c.ID, OrganizationID: c.OrgID, If: held, SQL: given(9) + settled, Args: args})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return domain.ErrLost
	}
	if err != nil {
		return fmt.Errorf("record an attempt: %w", postgres.Fault(err))
	}
	return nil
}

// given names the parameters of settled, of which the first has that number.
func given(first int) string {
	var numbers []any
	for i := range 9 {
		numbers = append(numbers, first+i)
	}
	return fmt.Sprintf(`given (id, fence, state, pause, language, recipient, time, attempt, reply) as (
		select $%d::text, $%d::bigint, $%d::smallint, $%d::interval, $%d::text, $%d::text, $%d::timestamptz, $%d::smallint, $%d::text
	), `, numbers...)
}

// held locks a claim that no other has taken, before the news of it has a position.
const held = `exists (select from notifications where id = $9 and fence = $10 and state = 2 for update)`

// settled writes to a claim that no other has taken; state 2 is Sending. What was rendered
// stays with an Uncertain attempt, 6, that another is to follow.
const settled = `mine as (
		update notifications n set state = g.state, due_at = now() + g.pause, language = g.language, recipient = g.recipient
		from given g where n.id = g.id and n.fence = g.fence and n.state = 2 returning n.id
	), attempt as (
		insert into attempts (notification_id, number, time, state, reply)
		select id, g.fence, g.time, g.attempt, g.reply from mine join given g using (id) where g.attempt <> 0
		on conflict (notification_id, number) do update set state = excluded.state, reply = excluded.reply,
			rendered = case when excluded.state = 6 and (select pause from given) is not null then attempts.rendered end
	), forgotten as (
		update attempts a set rendered = null from mine join given g using (id)
		where a.notification_id = g.id and a.number <> g.fence and g.pause is null
	)`
