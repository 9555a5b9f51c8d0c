package store_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/testkit"
)

// violation is the fault of a constraint, and changes that the constraint refuses.
type violation struct {
	want    *fault.Fault
	changes changes
}

type changes map[string]func(world) error

// violations has an entry for each constraint of the store. There are two organizations: org-a with
// the users u1 and u2, and org-b without users. u1 owns org-a and its project p1 and has an
// authenticator app.
var violations = map[string]violation{
	"organizations_name": {usersfault.ErrOrgNameTaken, changes{
		"of another": func(w world) error {
			o := org("org-c")
			o.Name = "org-a"
			_, err := w.CreateOrg(w.Context(), o, "", happened)
			return err
		},
		"in another case": func(w world) error {
			o := org("org-c")
			o.Name = "ORG-A"
			_, err := w.CreateOrg(w.Context(), o, "", happened)
			return err
		},
		"taken by a change": func(w world) error {
			_, err := w.ChangeOrg(w.Context(), "org-b", func(o *domain.Org) (proto.Message, error) {
				o.Name = "Org-A"
				return happened, nil
			})
			return err
		},
	}},
	"organizations_primary_domain": {usersfault.ErrOrgDomainTaken, changes{"of another": func(w world) error {
		o := org("org-c")
		o.PrimaryDomain = "org-a"
		_, err := w.CreateOrg(w.Context(), o, "", happened)
		return err
	}}},
	"organizations_pkey": {usersfault.ErrOrgIDTaken, changes{"of another": func(w world) error {
		o := org("org-b")
		o.Name, o.PrimaryDomain = "Other", "other"
		_, err := w.CreateOrg(w.Context(), o, "", happened)
		return err
	}}},
	"users_id": {usersfault.ErrUserIDTaken, changes{
		"in the organization": func(w world) error { return w.createUser("org-a", "u1", "u3") },
		"in another":          func(w world) error { return w.createUser("org-b", "u1", "u3") },
	}},
	"users_org": {usersfault.ErrOrgNotFound, changes{"that is not there": func(w world) error {
		return w.createUser("org-c", "u3", "u3")
	}}},
	"users_user_name": {usersfault.ErrUserNameTaken, changes{
		"in the organization": func(w world) error { return w.createUser("org-a", "u3", "u1") },
		"in another":          func(w world) error { return w.createUser("org-b", "u3", "u1") },
		"in another case":     func(w world) error { return w.createUser("org-a", "u3", "U1") },
	}},
	"members_user_place": {usersfault.ErrMemberExists, changes{
		"of the organization": func(w world) error { return w.createMember(owner("u1", "org-a", "")) },
		"of a project":        func(w world) error { return w.createMember(owner("u1", "org-a", "p1")) },
	}},
	"members_user_id_fkey": {usersfault.ErrUserNotFound, changes{"that is not there": func(w world) error {
		return w.createMember(owner("u3", "org-a", ""))
	}}},
	"members_project": {usersfault.ErrProjectRemoved, changes{
		"as a member": func(w world) error { return w.createMember(owner("u2", "org-a", "p-gone")) },
		"as the first owner": func(w world) error {
			return w.CreateProjectOwner(w.Context(), owner("u2", "org-a", "p-gone"), happened)
		},
	}},
	"otp_factors_pkey": {usersfault.ErrOTPNotVerified, changes{"another": func(w world) error {
		_, err := w.CreateOTP(w.Context(), app("u1", "org-a"), happened)
		return err
	}}},
	"project_owners_once": {usersfault.ErrProjectOwnerMade, changes{"another": func(w world) error {
		return w.CreateProjectOwner(w.Context(), owner("u2", "org-a", "p1"), happened)
	}}},
	"user_idp_links_account": {usersfault.ErrIdpLinkTaken, changes{
		"of another": func(w world) error { return w.createLinked("org-a", "u3", "idp-a", "mini") },
		"twice": func(w world) error {
			u := user("org-a", "u3")
			u.IdpLinks = []domain.IdpLink{link("idp-a", "other"), link("idp-a", "other")}
			_, err := w.CreateUser(w.Context(), u, happened)
			return err
		},
		"of another, by its user": func(w world) error { return w.addLink("u1", "idp-a", "mini") },
		"their own, again":        func(w world) error { return w.addLink("linked", "idp-a", "mini") },
	}},
	"user_idp_links_idp": {usersfault.ErrIdpUnknown, changes{
		"that is gone":          func(w world) error { return w.createLinked("org-a", "u3", "idp-gone", "other") },
		"that is gone, by them": func(w world) error { return w.addLink("u1", "idp-gone", "other") },
	}},
	"mail_counts_a_day": {usersfault.ErrTooManyMails, changes{"the eleventh": func(w world) error {
		_, err := w.db.Exec(w.Context(), `insert into mail_counts values ('full', array_fill(now(), '{10}'))`)
		if err != nil {
			return err
		}
		_, _, err = w.ChangeUser(w.Context(), "org-a", "u1", func(*domain.User) (store.UserChange, error) {
			return store.UserChange{Event: happened, Counts: []domain.MailCount{domain.MailCount("full")}}, nil
		})
		return err
	}}},
	"makers_token": {fault.ErrTokenInvalid, changes{
		"a token": func(w world) error {
			ctx := by(w.Context(), "first-admin", "ended")
			_, err := w.CreatePAT(ctx, token("u1", "org-a", "planted"), []byte("x"), noted)
			return err
		},
		"a second factor": func(w world) error {
			_, err := w.CreateOTP(by(w.Context(), "u2", "ended"), app("u2", "org-a"), happened)
			return err
		},
		"a second factor, at a login that has ended": func(w world) error {
			if _, err := w.db.Exec(w.Context(), `insert into ended_authorizations values ('a', now())`); err != nil {
				return err
			}
			ctx := caller.With(w.Context(), caller.Caller{UserID: "u2", ClientID: "app", AuthorizationID: "a"})
			_, err := w.CreateOTP(ctx, app("u2", "org-a"), happened)
			return err
		},
		"a password": func(w world) error {
			ctx := by(w.Context(), "first-admin", "ended")
			_, _, err := w.ChangeUser(ctx, "org-a", "u1", func(u *domain.User) (store.UserChange, error) {
				u.PasswordHash = "another"
				return store.UserChange{Event: happened}, nil
			})
			return err
		},
	}},
	"instance_pkey": {usersfault.ErrInstanceExists, changes{
		"of other names": func(w world) error {
			other := instance("second")
			other.Org.Name, other.Org.PrimaryDomain = "Other", "other.localhost"
			return w.CreateInstance(w.Context(), other, instanceHappened)
		},
		"of the same names": func(w world) error {
			return w.CreateInstance(w.Context(), instance("second"), instanceHappened)
		},
	}},
	"instance_has_owner": {usersfault.ErrLastIAMOwner, changes{"locked": func(w world) error {
		_, _, err := w.ChangeUser(w.Context(), "first-org", "first-admin", locked)
		return err
	}}},
}

// never are the constraints that no request violates, with the reason.
var never = map[string]string{
	"machine_keys_pkey": newID, "personal_access_tokens_pkey": newID, "members_id": "Postgres makes a new id",
	"personal_access_tokens_hash_key": "tokens are random",
	"codes_pkey":                      onConflict, "password_tries_pkey": onConflict, "user_metadata_pkey": onConflict,
	"lasting_keys_pkey": onConflict, "removed_idps_pkey": onConflict, "removed_users_pkey": onConflict,
	"removed_projects_pkey": onConflict, "ended_authorizations_pkey": onConflict,
	"removed_organizations_pkey": "removed ids are not given again",
	"codes_user_id_fkey":         userLocked, "machine_keys_user_id_fkey": userLocked,
	"otp_factors_user_id_fkey": userLocked, "personal_access_tokens_user_id_fkey": userLocked,
	"user_metadata_user_id_fkey": userLocked,
	"strangers_pkey":             onConflict,
	"refused_logins_pkey":        onConflict, "refused_strangers_pkey": onConflict, "certificates_pkey": onConflict,
	"mail_counts_pkey": onConflict, "password_costs_pkey": onConflict,
	"expiration_notices_pkey": onConflict, "expiration_notices_user_id_fkey": again,
	"expiration_notices_org_id_fkey": again,
	"notices_pkey":                   "the id is made of the event's, which is new",
	"notices_user_id_fkey":           userLocked,
	"user_idp_links_user_id_fkey":    userLocked,
	"instance_one_check":             "no statement gives the column a value",
	"instance_administrator_fkey":    "the user is made in the same transaction, and its removal clears the column",
	"instance_org_id_fkey":           "the organization is made in the same transaction, and is not removed",
}

const (
	newID      = "the api makes a new id"
	onConflict = "no insert of one that exists fails"
	userLocked = "the user is locked, or made by the same statement"
	again      = "an event whose user or organization is removed meanwhile is handled again"
)

func (w world) createUser(orgID, id, name string) error {
	u := user(orgID, id)
	u.UserName = name
	_, err := w.CreateUser(w.Context(), u, happened)
	return err
}

func (w world) createMember(m domain.Member) error {
	_, err := w.CreateMember(w.Context(), m, joined)
	return err
}

func locked(u *domain.User) (store.UserChange, error) {
	u.State = domain.UserLocked
	return store.UserChange{Event: happened}, nil
}

// A change that a constraint refuses returns the constraint's fault, and nothing is written.
func TestConstraints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Constrained(t, w.db, store.Constraints, violations, never)
	w.must(nil, w.CreateInstance(t.Context(), instance("first"), instanceHappened))
	w.org("org-a")
	w.org("org-b")
	w.user("org-a", "u1")
	w.user("org-a", "u2")
	w.must(nil, w.createMember(owner("u1", "org-a", "")))
	w.must(nil, w.CreateProjectOwner(t.Context(), owner("u1", "org-a", "p1"), happened))
	w.must(w.CreateOTP(t.Context(), app("u1", "org-a"), happened))
	w.must(nil, w.createLinked("org-a", "linked", "idp-a", "mini"))
	w.must(nil, w.RemoveIdpLinks(t.Context(), event.Delivery{AggregateID: "idp-gone"}))
	w.must(nil, w.RemoveProjectMembers(t.Context(), event.Delivery{OrganizationID: "org-a", AggregateID: "p-gone"}))
	before := testkit.Rows(t, w.db, "events")
	for name, v := range violations {
		for what, change := range v.changes {
			if err := change(w); !errors.Is(err, v.want) {
				t.Errorf("%s %s: %v, want %s", name, what, err, v.want.ID)
			}
		}
	}
	if testkit.Rows(t, w.db, "events") != before {
		t.Error("something was written")
	}
}
