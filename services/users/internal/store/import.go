package store

import (
	"context"
	"maps"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/search"
)

// ImportRow is a new user and its event.
type ImportRow struct {
	NewUser
	Imported proto.Message
}

// ImportUsers writes new users of an organization in one statement, and reports which of them
// were written: those whose id and login name were free.
func (s Store) ImportUsers(ctx context.Context, orgID string, users []ImportRow) ([]bool, error) {
	many := event.Many{OrganizationID: orgID, SQL: insertUsers, Args: userValues(users)}
	many.Args["made_with"] = madeWith(ctx)
	for _, u := range users {
		o := event.Object{ID: u.ID, Event: u.Imported}
		if u.Code != nil {
			o.EventID = u.Code.NotificationID
		}
		many.Objects = append(many.Objects, o)
	}
	all := search.Each(users, func(u ImportRow) NewUser { return u.NewUser })
	also := func(sql string, args postgres.Args) {
		many.SQL += ", " + sql
		maps.Copy(many.Args, args)
	}
	insertParts(all, also)
	costs(all, also)
	return s.journal.CreateMany(ctx, many)
}

// insertUsers has an array for each of newUserColumns, in their order.
var insertUsers = `created as (
	` + insertUser("u.", `join unnest(
		@ids::text[], @types::smallint[], @states::smallint[], @user_names::text[], @user_names_folded::text[],
		@first_names::text[], @first_names_folded::text[], @last_names::text[], @last_names_folded::text[],
		@nick_names::text[], @display_names::text[], @display_names_folded::text[], @languages::text[],
		@genders::smallint[], @emails::text[], @emails_folded::text[], @emails_verified::bool[],
		@emails_outranked::bool[], @phones::text[], @phones_verified::bool[], @password_hashes::text[],
		@password_changes_required::bool[],
		@descriptions::text[], @access_token_types::smallint[], @uninitialized::bool[],
		@owed_mails::text[], @digests::jsonb[]
	) with ordinality u (`+newUserColumns+`, n) on u.n = e.n
	order by u.id -- imports at once wait for each other in one order
	on conflict do nothing`) + `
	returning id, sequence as position
), added as (
	select e.n, c.id, e.id as event_id, e.position, e.time from created c join event e on e.position = c.position
)`

func userValues(users []ImportRow) postgres.Args {
	return postgres.Args{
		"ids":                       search.Each(users, func(u ImportRow) string { return u.ID }),
		"types":                     search.Each(users, func(u ImportRow) domain.UserType { return u.Type }),
		"states":                    search.Each(users, func(u ImportRow) domain.UserState { return u.State }),
		"user_names":                search.Each(users, func(u ImportRow) string { return u.UserName }),
		"user_names_folded":         search.Each(users, func(u ImportRow) string { return search.Fold(u.UserName) }),
		"first_names":               search.Each(users, func(u ImportRow) string { return u.FirstName }),
		"first_names_folded":        search.Each(users, func(u ImportRow) string { return search.Fold(u.FirstName) }),
		"last_names":                search.Each(users, func(u ImportRow) string { return u.LastName }),
		"last_names_folded":         search.Each(users, func(u ImportRow) string { return search.Fold(u.LastName) }),
		"nick_names":                search.Each(users, func(u ImportRow) string { return u.NickName }),
		"display_names":             search.Each(users, func(u ImportRow) string { return u.DisplayName }),
		"display_names_folded":      search.Each(users, func(u ImportRow) string { return search.Fold(u.DisplayName) }),
		"languages":                 search.Each(users, func(u ImportRow) string { return u.PreferredLanguage }),
		"genders":                   search.Each(users, func(u ImportRow) int16 { return u.Gender }),
		"emails":                    search.Each(users, func(u ImportRow) string { return u.Email }),
		"emails_folded":             search.Each(users, func(u ImportRow) string { return search.Fold(u.Email) }),
		"emails_verified":           search.Each(users, func(u ImportRow) bool { return u.EmailVerified }),
		"emails_outranked":          search.Each(users, func(u ImportRow) bool { return u.EmailOutranked }),
		"phones":                    search.Each(users, func(u ImportRow) string { return u.Phone }),
		"phones_verified":           search.Each(users, func(u ImportRow) bool { return u.PhoneVerified }),
		"password_hashes":           search.Each(users, func(u ImportRow) string { return string(u.PasswordHash) }),
		"password_changes_required": search.Each(users, func(u ImportRow) bool { return u.PasswordChangeRequired }),
		"descriptions":              search.Each(users, func(u ImportRow) string { return u.Description }),
		"access_token_types": search.Each(users, func(u ImportRow) domain.AccessTokenType {
			return u.AccessTokenType
		}),
		"uninitialized": search.Each(users, func(u ImportRow) bool { return u.Uninitialized }),
		"owed_mails":    search.Each(users, func(u ImportRow) domain.Kind { return u.OwedMail }),
		"digests":       search.Each(users, func(u ImportRow) domain.Digest { return u.Digest }),
	}
}

const (
	insertCodes = `code as (
		insert into codes (user_id, purpose, notification_id, nonce, mac, makers, made_at)
		select a.id, m.purpose, a.event_id, m.nonce, m.mac, ` + makers + `, a.time
		from added a
		join unnest(@code_rows::int[], @purposes::text[], @nonces::bytea[], @macs::bytea[]) m (n, purpose, nonce, mac)
			on m.n = a.n
	)`
	insertFactors = `factor as (
		insert into otp_factors (user_id, secret, state, openid_only, makers, clients, authorizations, sequence,
			created_at, changed_at)
		select a.id, f.secret, @ready, false, ` + makers + `, '{}', '{}', a.position, a.time, a.time
		from added a join unnest(@factor_rows::int[], @secrets::bytea[]) f (n, secret) on f.n = a.n
	)`
	insertMetadata = `metadata as (
		insert into user_metadata (user_id, key, value, sequence, created_at, changed_at)
		select a.id, m.key, m.value, a.position, a.time, a.time
		from added a join unnest(@metadata_rows::int[], @keys::text[], @values::bytea[]) m (n, key, value) on m.n = a.n
	)`
	insertIdpLinks = `idp_links as (
		insert into user_idp_links (
			user_id, idp_id, external_user_id, tenant_id, display_name, makers, sequence, created_at, changed_at)
		select
			a.id, l.idp_id, l.external_user_id, l.tenant_id, l.display_name, ` + makers + `, a.position, a.time, a.time
		from added a join unnest(
			@link_rows::int[], @idp_ids::text[], @external_user_ids::text[], @tenant_ids::text[],
			@external_names::text[]
		) l (n, idp_id, external_user_id, tenant_id, display_name) on l.n = a.n
	)`
)

// insertParts calls also with SQL that inserts the rows of new users in other tables, and with its arguments. The SQL
// reads the users from the table added with the columns n, id, event_id, position and time. n is the number of the
// user, from 1.
func insertParts(users []NewUser, also func(sql string, args postgres.Args)) {
	var codes, factors, metadata, linked []int
	var purposes []domain.Kind
	var keys []string
	var nonces, macs, secrets, values [][]byte
	var links []domain.IdpLink
	for i, u := range users {
		if u.Code != nil {
			codes, purposes = append(codes, i+1), append(purposes, u.Code.Kind)
			nonces, macs = append(nonces, u.Code.Nonce), append(macs, u.Code.MAC)
		}
		if u.OTP != nil {
			factors, secrets = append(factors, i+1), append(secrets, u.OTP)
		}
		for key, value := range u.Metadata {
			metadata, keys = append(metadata, i+1), append(keys, key)
			values = append(values, append([]byte{}, value...)) // nil would be null
		}
		for _, l := range u.IdpLinks {
			linked, links = append(linked, i+1), append(links, l)
		}
	}
	if codes != nil {
		also(insertCodes, postgres.Args{"code_rows": codes, "purposes": purposes, "nonces": nonces, "macs": macs})
	}
	if factors != nil {
		also(insertFactors, postgres.Args{"factor_rows": factors, "secrets": secrets, "ready": domain.FactorReady})
	}
	if metadata != nil {
		also(insertMetadata, postgres.Args{"metadata_rows": metadata, "keys": keys, "values": values})
	}
	if linked != nil {
		args := idpLinkArgs(links)
		args["link_rows"] = linked
		also(insertIdpLinks, args)
	}
}

// Taken is the ids, names and accounts of new users that are taken.
type Taken struct {
	// IDs are the users with the taken ids, of any organization. The organization of a removed user
	// is empty.
	IDs map[string]domain.Known
	// Names are the folded login names.
	Names map[string]bool

	accounts map[account]bool
}

// account identifies an account at an identity provider.
type account struct{ IdpID, ExternalUserID string }

// Linked reports whether a user is linked to the account.
func (t Taken) Linked(l domain.IdpLink) bool { return t.accounts[account{l.IdpID, l.ExternalUserID}] }

// Link adds the accounts of links, which are then taken.
func (t Taken) Link(links []domain.IdpLink) {
	for _, l := range links {
		t.accounts[account{l.IdpID, l.ExternalUserID}] = true
	}
}

type takenRow struct {
	ID             string
	OrgID          string
	UserNameFolded string
	ImportDigest   domain.Digest
}

// Taken reads which ids, login names and accounts at identity providers are taken.
func (s Store) Taken(ctx context.Context, ids, names []string, links []domain.IdpLink) (Taken, error) {
	rows, err := postgres.All[takenRow](ctx, s.journal.DB, `select u.id, u.org_id, u.user_name_folded, u.import_digest
		from users u where u.id = any (@ids) or u.user_name_folded = any (@names)
		union all select r.id, '', '', null from removed_users r where r.id = any (@ids)`,
		postgres.Args{"ids": ids, "names": names})
	t := Taken{IDs: map[string]domain.Known{}, Names: map[string]bool{}, accounts: map[account]bool{}}
	for _, r := range rows {
		t.IDs[r.ID] = domain.Known{OrgID: r.OrgID, Digest: r.ImportDigest}
		if r.OrgID != "" {
			t.Names[r.UserNameFolded] = true
		}
	}
	if err != nil || len(links) == 0 {
		return t, err
	}
	accounts := idpLinkArgs(links)
	delete(accounts, "tenant_ids")
	delete(accounts, "external_names")
	found, err := postgres.All[account](ctx, s.journal.DB, `select l.idp_id, l.external_user_id from user_idp_links l
		join unnest(@idp_ids::text[], @external_user_ids::text[]) a (idp_id, external_user_id)
			using (idp_id, external_user_id)`, accounts)
	for _, a := range found {
		t.accounts[a] = true
	}
	return t, err
}
