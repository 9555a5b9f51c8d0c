package store

import (
	"cmp"
	"context"
	"strings"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// makers is SQL for the makers of a credential or of a mailed code. They are the actor of the event, and the makers of
// the caller's credential (a personal access token, a key or a secret), because they can know what is made with it. If
// that credential has ended in the meantime, nothing is made. As a subquery the function is called once for a
// statement.
const makers = `(select makers(@event_actor::text, @made_with::text))`

// madeWith returns the id of the caller's credential, for the argument of makers. It is empty for services.
func madeWith(ctx context.Context) string {
	c := caller.From(ctx)
	return cmp.Or(c.TokenID, c.Credential)
}

// endOutranked ends, together with a membership that gives roles in the instance or in the member's own organization,
// what was made for the member by somebody who lacks a permission that the member gets: personal access tokens, keys,
// the secret, the password, the second factor, links to accounts at identity providers, and mailed codes. No more codes
// are sent to an address that such a maker chose. What members made for themselves stays, and so does what the first
// start made, whose maker is empty. Codes and the address have no events. A giver who may not end credentials in the
// member's organization, gives no role that ends something: otherwise whoever creates a project could lock people out.
// An empty giver gives any.
func endOutranked(save *event.Statement, m domain.Member, giver string) {
	gets := caller.PermissionsOf(m.Roles)
	if len(gets) == 0 {
		return
	}
	roles, permissions := caller.RolesGiving(gets)
	if save.Along != "" {
		save.Along += ` union all `
	}
	save.Along += outrankedEvents
	save.Also(`ended_pats as (
		delete from personal_access_tokens p using along where along.aggregate = 'pat' and p.id = along.aggregate_id
	), ended_keys as (
		delete from machine_keys k using along where along.aggregate = 'machine_key' and k.id = along.aggregate_id
	), ended_secret as (
		update users u set secret_hash = '', sequence = along.position, changed_at = along.time
		from along where along.aggregate = 'machine' and u.id = along.aggregate_id
	), ended_factor as (
		delete from otp_factors f using along where along.aggregate = 'otp' and f.user_id = along.aggregate_id
	), ended_links as (
		delete from user_idp_links l using event where l.user_id = @promoted and `+lacking("l.makers")+`
	), ended_password_and_email as (
		update users u set email_outranked = u.email_outranked or email.outranked,
			password_hash = case when p.position is null then u.password_hash else '' end,
			password_makers = case when p.position is null then u.password_makers else '{}' end,
			password_change_required = u.password_change_required and p.position is null,
			sequence = coalesce(p.position, u.sequence), changed_at = coalesce(p.time, u.changed_at)
		from event left join along p on p.aggregate = 'human', (select `+lacking(chosenBy)+` as outranked) email
		where u.id = @promoted and u.type = @human and (email.outranked or p.position is not null)
	), ended_codes as (
		delete from codes c using event
		where c.user_id = @promoted and `+endsCode+`
	)`, postgres.Args{
		"promoted": m.UserID, "human": domain.Human, "in_org": m.OrgID, "on_project": m.ProjectID, "gets": gets,
		"permission_roles": roles, "role_permissions": permissions,
	})
	if giver == "" {
		return
	}
	save.If, save.Unless = mayEnd, usersfault.ErrEscalation.Lacking(ending, m.OrgID).Say(
		"With the role something would end that somebody without one of its permissions made for the user, such as "+
			"the password: ask somebody with %s in organization %s to give the role", ending, m.OrgID)
	save.Args["giver"] = giver
	save.Args["ending_roles"], _ = caller.RolesGiving([]string{ending})
}

// ending is the permission to end credentials of others.
const ending = "user.credential.write"

// mayEnd is an SQL condition: the giver may end the member's credentials, or none ends.
var mayEnd = `(exists (
			select from active_members a join users home on home.id = @promoted
			where a.user_id = @giver and a.org_id in ('', home.org_id) and a.project_id = ''
				and a.roles && @ending_roles::text[])
		or not exists (` + outrankedEvents + `)
			and not exists (select from users u
				where u.id = @promoted and not u.email_outranked and ` + lacking("u.email_makers") + `)
			and not exists (select from codes c where c.user_id = @promoted and ` + endsCode + `))`

// endsCode is an SQL condition for a mailed code that ends.
var endsCode = `(` + lacking("c.makers") + ` or ` + lacking(chosenBy) + `)`

// chosenBy is SQL for the makers of the member's e-mail address.
const chosenBy = `(select u.email_makers from users u where u.id = @promoted)`

// outrankedEvents selects the events of the credentials that endOutranked ends.
var outrankedEvents = `
	select 'pat', 'removed', p.id, u.org_id, jsonb_build_object('userId', u.id)
		from personal_access_tokens p join users u on u.id = p.user_id
		where p.user_id = @promoted and ` + lacking("p.makers") + `
	union all
	select 'machine_key', 'removed', k.id, u.org_id, jsonb_build_object('userId', u.id)
		from machine_keys k join users u on u.id = k.user_id
		where k.user_id = @promoted and ` + lacking("k.makers") + `
	union all
	select 'machine', 'secret_removed', u.id, u.org_id, jsonb_build_object()
		from users u where u.id = @promoted and u.secret_hash <> '' and ` + lacking("u.secret_makers") + `
	union all
	select 'human', 'password_removed', u.id, u.org_id, jsonb_build_object()
		from users u where u.id = @promoted and u.password_hash <> '' and ` + lacking("u.password_makers") + `
	union all
	select 'otp', 'removed', u.id, u.org_id, jsonb_build_object()
		from otp_factors f join users u on u.id = f.user_id
		where f.user_id = @promoted and ` + lacking("f.makers") + `
	union all
	select distinct 'idp_link', 'removed', u.id, u.org_id, jsonb_build_object('idpId', l.idp_id)
		from user_idp_links l join users u on u.id = l.user_id
		where l.user_id = @promoted and ` + lacking("l.makers")

// lacking is an SQL condition: one of the makers lacks a permission that the member gets, in the instance or in the
// member's own organization, and did not have. A role in another organization ends nothing: otherwise any organization
// could end what another one's users log in with.
func lacking(makers string) string {
	return `exists (
			select from users home, unnest(` + makers + `) maker (id), unnest(@gets::text[]) gets (permission)
			where home.id = @promoted and @in_org in ('', home.org_id)
				and maker.id not in ('', @promoted)
				and not ` + holds("maker.id") + ` and not ` + holds("@promoted") + `)`
}

// holds is an SQL condition, permission.Holds for a user: one of the user's roles in the place of the new membership,
// or in a wider one, gives the permission.
func holds(userID string) string {
	return strings.ReplaceAll(`exists (
				select from active_members h,
					unnest(@permission_roles::text[], @role_permissions::text[]) r (role, permission)
				where h.user_id = USER and h.org_id in ('', @in_org) and h.project_id in ('', @on_project)
					and r.role = any (h.roles) and r.permission = gets.permission)`, "USER", userID)
}
