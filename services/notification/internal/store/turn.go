package store

import (
	"herald/services/notification/internal/domain"
	"herald/shared/mailkind"
)

// Turn is whose mail was claimed last. Mails that were never tried take turns by organization and kind: those of a
// large import delay neither those of other organizations nor the password resets of its own. Mails that were tried
// take turns with all of these. The zero Turn is before all.
type Turn struct {
	OrgID string
	Kind  mailkind.Kind
	// Tried reports whether a mail is next that was tried before.
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

// due finds the mails that are claimed next, and their order. A lane is an organization and kind with mails that were
// never tried. Lanes are read one by one from the index, first those after the last turn, then those up to it.
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
		select q.id, row_number() over (order by q.due_at) as place from (
			select id, due_at from notifications where due_at <= now() and fence > 0
			order by due_at limit @most for update skip locked
		) q
	), due as (
		select id, row_number() over (order by place, tried <> @tried) as place
		from (select *, false as tried from fresh union all select *, true from tried) x
		order by place limit @most
	)`
