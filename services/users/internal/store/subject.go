package store

import (
	"context"
	"encoding/hex"
	"strings"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

const subjectOrg = `o.id as the_id, o.name as the_name, o.primary_domain as the_domain, o.state as the_state,
	o.generation as the_generation`

// subjectOrgRow is an organization beside other columns.
type subjectOrgRow struct {
	TheID, TheName, TheDomain string
	TheState                  domain.OrgState
	TheGeneration             int64
}

func (r subjectOrgRow) org() domain.Org {
	return domain.Org{ID: r.TheID, Name: r.TheName, PrimaryDomain: r.TheDomain, State: r.TheState,
		Generation: r.TheGeneration}
}

// Subject returns a user of any organization, with that organization and those of these ids. The credential is that of
// the proof, if the user has it.
func (s Store) Subject(
	ctx context.Context, userID string, p domain.Proof, orgIDs []string,
) (domain.Subject, error) {
	type row struct {
		domain.User
		Credential string
		PublicKey  []byte
		Manages    bool
		subjectOrgRow
	}
	// The statement is the same for each kind of proof, so that Postgres plans it once.
	keyID := p.KeyID
	if named, ok := strings.CutPrefix(p.Credential, "key:"); ok {
		keyID = named
	}
	rows, err := postgres.All[row](ctx, s.journal.DB, `select `+postgres.Each("u.", userColumns)+`, k.public_key,
			case
				when k.id is not null then 'key:' || k.id
				when @secret_hash <> '' and u.secret_hash = @secret_hash then secret_credential(u.secret_hash)
				when @credential like 'secret:%' and secret_credential(u.secret_hash) = @credential then @credential
				when @credential = 'password' and u.password_hash <> '' then @credential
				when @credential like 'idp:%' and holds_link(u.id, @credential) then @credential
				else ''
			end as credential, `+manages("u")+` as manages, `+subjectOrg+`
		from users u
		left join lateral (
			select m.id, m.public_key from machine_keys m
			where m.user_id = u.id and m.id = @key_id and m.expires_at > @now
		) k on true
		cross join lateral (select u.org_id as id union select unnest((select @org_ids::text[]))) asked
		join organizations o on o.id = asked.id and o.state <> org_removed()
		where u.id = @id
			and exists (select from organizations h where h.id = u.org_id and h.state <> org_removed())`,
		postgres.Args{"id": userID, "secret_hash": hex.EncodeToString(p.SecretHash), "key_id": keyID,
			"credential": p.Credential, "now": s.Now(), "org_ids": orgIDs})
	if err != nil {
		return domain.Subject{}, err
	}
	if len(rows) == 0 {
		return domain.Subject{}, usersfault.ErrUserNotFound
	}
	found := domain.Subject{User: rows[0].User, Credential: rows[0].Credential, Manages: rows[0].Manages}
	if p.KeyID != "" {
		found.PublicKey = rows[0].PublicKey
	}
	for _, r := range rows {
		found.Orgs = append(found.Orgs, r.org())
	}
	return found, nil
}

// OrgsWith returns the organizations with these ids, those that do not exist left out.
func (s Store) OrgsWith(ctx context.Context, ids []string) ([]domain.Org, error) {
	return postgres.All[domain.Org](ctx, s.journal.DB,
		`select `+orgColumns+` from organizations where id = any (@ids) and state <> org_removed()`,
		postgres.Args{"ids": ids})
}

// holdsCredential is an SQL condition: the user still has the credential of a token.
func holdsCredential(user string) string {
	return strings.ReplaceAll(`case
					when @credential like 'key:%' then exists (
						select from machine_keys m
						where m.user_id = USER.id and m.id = substr(@credential, 5) and m.expires_at > @now)
					when @credential like 'secret:%' then secret_credential(USER.secret_hash) = @credential
					when @credential = 'password' then USER.password_hash <> ''
					when @credential like 'idp:%' then holds_link(USER.id, @credential)
					else @credential = ''
				end`, "USER", user)
}

// manages is an SQL condition: the user has an active membership.
func manages(user string) string {
	return `exists (select from active_members am where am.user_id = ` + user + `.id)`
}

// checkedSubject is SQL for the user of a token of a login, if everything is as it was when the token was issued.
var checkedSubject = `(
		select '' as id, '' as client_id, c.id as user_id, '{}'::text[] as scopes,
			'9999-12-31'::timestamptz as expires_at
		from users c where c.id = @user_id and c.generation = @generation and ` + holdsCredential("c") + `
			and not (@no_manager and ` + manages("c") + `)
			and not exists (
				select from unnest(@org_ids::text[], @org_generations::bigint[]) asked (id, generation)
				where not exists (select from organizations g where g.id = asked.id
					and g.generation = asked.generation and g.state = @org_active))
	)`
