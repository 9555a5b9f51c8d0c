package store

import (
	"herald/services/notification/internal/domain"
	"herald/shared/mail"
)

// Turn says whose mail was claimed last. Mails that were never tried take turns by organization and kind. So the mails
// of a large import do not delay the mails of other organizations, nor the password resets of the same organization.
// Mails that were tried before are one more group, which takes its turn like the others. The zero Turn is before all.
type Turn struct {
	OrgID string
	Kind  mail.Kind
	// Tried reports that the next turn is that of the mails that were tried before.
	Tried bool
}

// After returns the turn after claims.
func (t Turn) After(claims []domain.Claim) Turn {
	for _, c := range claims {
		if t.Tried = c.Fence == 1; t.Tried {
			t.OrgID, t.Kind = c.OrgID, c.Kind
		}
	}
	return t
}

// due finds the mails that are claimed next, and their order. A lane is a pair of organization and kind that has mails
// that were never tried. Lanes are read one by one from the index: first the lanes after the last turn, then the lanes
// up to it. A mail is marked if the lease of its notifier ran out after BeginSending.
const due = `recursive lane as (
		select @org_id::text collate "C" as org_id, @kind::text collate "C" as kind, false as again, 0 as turn
		union all
		select n.org_id, n.kind, n.again, lane.turn + 1 from lane, lateral (
			(select q.org_id, q.kind, lane.again from notifications q
			where q.due_at is not null and q.fence = 0 and (q.org_id, q.kind) > (lane.org_id, lane.kind)
			order by q.org_id, q.kind limit 1)
			union all
			(select q.org_id, q.kind, true from notifications q
			where q.due_at is not null and q.fence = 0 and not lane.again order by q.org_id, q.kind limit 1)
			limit 1
		) n
		where not n.again or (n.org_id, n.kind) <= (@org_id, @kind)
	), fresh as (
		select n.id, row_number() over (order by n.round, lane.turn) as place
		from (select * from lane where turn > 0 limit @most) lane, lateral (
			select q.id, row_number() over (order by q.due_at) as round from (
				select id, due_at from notifications
				where due_at is not null and fence = 0 and org_id = lane.org_id and kind = lane.kind
				order by due_at limit @most for update skip locked
			) q
		) n
	), tried as (
		select q.id, q.marked, row_number() over (order by q.due_at) as place from (
			select id, due_at, coalesce((select true from attempts a
				where a.notification_id = n.id and a.state = @sending limit 1), false) as marked
			from notifications n where due_at <= now() and fence > 0 and ` + claimable + `
			order by due_at limit @most for update skip locked
		) q
	), due as (
		select id, marked, row_number() over (order by place, tried <> @tried) as place from (
			select id, place, false as marked, false as tried from fresh union all
			select id, place, marked, true from tried
		) x
		order by place limit @most
	)`

// claimable is false for a notification n that may have been delivered, unless such ones may be claimed. A query that
// returns a value is read for one n at a time; exists could read all attempts.
const claimable = `(@repeats or (select true from attempts a where a.notification_id = n.id and a.state = @uncertain
	and a.rendered is not null limit 1) is null)`
