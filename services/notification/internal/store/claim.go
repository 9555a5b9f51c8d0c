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

// noAnswer is the reply of an attempt whose notifier died after BeginSending, before the mail server's answer.
const noAnswer = "the notifier ended before the mail relay answered"

// Ask is which notifications Claim may claim.
type Ask struct {
	// Most is the largest number of notifications. They take turns, beginning after After.
	Most  int
	After Turn
	// Lease is how long the claims last.
	Lease time.Duration
	// Repeats allows mails that may have been delivered already.
	Repeats bool
	// Pause is how long a mail waits if its lease ran out after BeginSending. During that time its notifier can still
	// record the outcome, if only the database could not be reached and the notifier still runs.
	Pause time.Duration
}

// Claim claims due notifications. A notification whose lease has run out is due too.
func (s Store) Claim(ctx context.Context, a Ask) ([]domain.Claim, error) {
	return postgres.All[domain.Claim](ctx, s.journal.DB, `with `+due+`, claimed as (
			update notifications n set state = @sending, due_at = now() + @lease::interval, fence = n.fence + 1
			from due where n.id = due.id and not due.marked
			returning n.id, n.org_id, n.user_id, n.kind, n.state, n.created_at, n.language, n.recipient, n.fence,
				due.place
		), waiting as (
			update notifications n set state = @retrying, due_at = now() + @pause::interval from due
			where n.id = due.id and due.marked
		), unanswered as (
			update attempts a set state = @uncertain, reply = @no_answer from due
			where due.marked and a.notification_id = due.id and a.state = @sending
		)
		select c.id, c.org_id, c.user_id, c.kind, c.state, c.created_at, c.language, c.recipient, c.fence,
			(select count(*) from attempts a where a.notification_id = c.id and a.rendered is not null) as unanswered,
			(select a.rendered from attempts a where a.notification_id = c.id and a.rendered is not null
				order by a.number limit 1) as rendered
		from claimed c order by c.place`, postgres.Args{
		"most": a.Most, "org_id": a.After.OrgID, "kind": a.After.Kind, "tried": a.After.Tried,
		"repeats": a.Repeats, "lease": a.Lease, "pause": a.Pause,
		"sending": domain.Sending, "retrying": domain.Retrying, "uncertain": domain.Uncertain, "no_answer": noAnswer,
	})
}

// Next returns the time until Claim finds a notification that is due. It returns most if that time is longer.
func (s Store) Next(ctx context.Context, a Ask, most time.Duration) (next time.Duration, err error) {
	err = s.journal.DB.QueryRow(ctx, nextDue,
		postgres.Args{"most": most, "repeats": a.Repeats, "uncertain": domain.Uncertain}).Scan(&next)
	return next, postgres.Fault(err)
}

const nextDue = `select least(@most::interval,
	(select due_at - now() from notifications n where due_at is not null and fence > 0 and ` + claimable + `
	order by due_at limit 1),
	(select interval '0' from notifications where due_at is not null and fence = 0
	order by org_id, kind, due_at limit 1)) -- the order makes Postgres read the index, whatever it expects
	`

// Hold names one notifier's claim of a notification.
type Hold struct {
	ID    string
	Fence int64
}

// Renew extends leases, but not those of claims that others have taken over.
func (s Store) Renew(ctx context.Context, holds []Hold, lease time.Duration) error {
	ids, fences := make([]string, len(holds)), make([]int64, len(holds))
	for i, h := range holds {
		ids[i], fences[i] = h.ID, h.Fence
	}
	_, err := s.journal.DB.Exec(ctx, `update notifications n set due_at = now() + @lease::interval
		from unnest(@ids::text[], @fences::bigint[]) held (id, fence)
		where n.id = held.id and n.fence = held.fence and n.state = @sending`,
		postgres.Args{"ids": ids, "fences": fences, "lease": lease, "sending": domain.Sending})
	return postgres.Fault(err)
}

// BeginSending records, before the final dot, that the mail may be sent from now on, and stores what is
// sent. It returns ErrLost if the lease has run out. It extends the lease in the same statement, so
// that a simultaneous Claim waits for the row and then does not take it.
func (s Store) BeginSending(ctx context.Context, c domain.Claim, at time.Time, lease time.Duration) error {
	tag, err := s.journal.DB.Exec(ctx, `with mine as (
			update notifications set due_at = now() + @lease::interval, language = @language, recipient = @recipient
			where id = @id and fence = @fence and state = @sending and due_at > now() returning id
		)
		insert into attempts (notification_id, number, time, state, reply, rendered)
		select id, @fence, @at, @sending, '', @rendered from mine`,
		postgres.Args{
			"id": c.ID, "fence": c.Fence, "lease": lease, "language": c.Language, "recipient": c.Recipient,
			"sending": domain.Sending, "at": at, "rendered": c.Rendered,
		})
	if err == nil && tag.RowsAffected() == 0 {
		return domain.ErrLost
	}
	return postgres.Fault(err)
}

// Settle records how a claim ended, with an event if failed is not nil. It returns ErrLost if
// another notifier has the mail. It deletes the rendered mail if it will not be sent again.
func (s Store) Settle(ctx context.Context, c domain.Claim, v domain.Verdict, failed proto.Message) error {
	var pause *time.Duration
	if v.State == domain.Retrying {
		pause = &v.Pause
	}
	args := postgres.Args{
		"id": c.ID, "fence": c.Fence, "state": v.State, "pause": pause, "language": c.Language,
		"recipient": c.Recipient,
		"at":        s.Now(), "attempt": v.Attempt, "reply": v.Reply, "sending": domain.Sending,
		"retrying": domain.Retrying, "uncertain": domain.Uncertain,
	}
	var err error
	if failed == nil {
		err = s.journal.DB.QueryRow(ctx, "with "+settled+" select id from mine", args).Scan(new(string))
	} else {
		_, err = s.journal.Create(ctx, failed, event.Statement{AggregateID: c.ID, OrganizationID: c.OrgID, If: held,
			SQL: settled, Args: args})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return domain.ErrLost
	}
	if err != nil {
		return fmt.Errorf("record an attempt: %w", postgres.Fault(err))
	}
	return nil
}

// held is true for a claim that no other notifier has taken over. It stays true when the lease has run out, until
// another notifier claims the mail. It locks the row before the event gets its position.
const held = `exists (select from notifications where id = @id and fence = @fence and state in (@sending, @retrying)
	for update)`

// settled updates a claim that no other notifier has taken over. It keeps the rendered mail after an
// Uncertain attempt if another one follows.
const settled = `mine as (
		update notifications set state = @state, due_at = now() + @pause::interval, language = @language,
			recipient = @recipient
		where id = @id and fence = @fence and state in (@sending, @retrying) returning id
	), attempt as (
		insert into attempts (notification_id, number, time, state, reply)
		select id, @fence, @at, @attempt::smallint, @reply from mine where @attempt::smallint <> 0
		on conflict (notification_id, number) do update set state = excluded.state, reply = excluded.reply,
			rendered = case when excluded.state = @uncertain and @pause::interval is not null then attempts.rendered end
	), forgotten as (
		update attempts set rendered = null from mine
		where notification_id = mine.id and number <> @fence and @pause::interval is null
	)`
