package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
	"herald/shared/testkit"
)

// call is a call of a method of the store about the user u1 or the machine m1, both of org-a. u1 owns the project p1
// and has the token t1 and an app. m1 has the key k1. The call returns how many rows it found or changed.
type call struct {
	names  []string     // of methods; a search has one for the query and one to run it
	absent *fault.Fault // if nothing is found; nil for a list, which is then empty
	run    func(request) (int, error)
}

// request is the store, and the organization that a call of it is for.
type request struct {
	context.Context
	store.Store
	orgID string
}

func one[T any](_ T, err error) (int, error)               { return 1, err }
func many[T any](l search.List[T], err error) (int, error) { return int(l.Total), err }

func listed(l *heraldv1.SearchChangesResponse, err error) (int, error) {
	return len(l.GetResult()), err
}

var page = search.Page{Limit: 100}

// everything has a call of every method about an organization. Removals come last.
var everything = []call{
	{[]string{"User"}, usersfault.ErrUserNotFound, func(c request) (int, error) {
		return one(c.User(c, c.orgID, "u1"))
	}},
	{[]string{"ChangeUser"}, usersfault.ErrUserNotFound, func(c request) (int, error) {
		_, _, err := c.ChangeUser(c, c.orgID, "u1", func(*domain.User) (store.UserChange, error) {
			return store.UserChange{Event: happened}, nil
		})
		return 1, err
	}},
	{[]string{"Users", "SearchUsers"}, nil, func(c request) (int, error) {
		return many(c.SearchUsers(c, c.Users(c.orgID).Where("id = ?", "u1"), page))
	}},
	{[]string{"Changes"}, nil, func(c request) (int, error) {
		return listed(c.Changes(c, "user", c.orgID, "u1", page))
	}},
	{[]string{"AskedMails"}, nil, func(c request) (int, error) {
		mails, err := c.AskedMails(c, c.orgID, "u1", time.Now().Add(-time.Hour))
		return len(mails), err
	}},
	{[]string{"AddMachineKey"}, usersfault.ErrUserNotFound, func(c request) (int, error) {
		return one(c.AddMachineKey(c, machineKey("m1", c.orgID, "k2"), []byte{2}, happened))
	}},
	{[]string{"MachineKey"}, usersfault.ErrMachineKeyNotFound, func(c request) (int, error) {
		return one(c.MachineKey(c, c.orgID, "m1", "k1"))
	}},
	{[]string{"SearchMachineKeys"}, nil, func(c request) (int, error) {
		return many(c.SearchMachineKeys(c, c.orgID, "m1", page))
	}},
	{[]string{"AddIdpLink"}, usersfault.ErrUserNotFound, func(c request) (int, error) {
		l := link("idp-a", "another")
		l.UserID, l.OrgID = "u1", c.orgID
		return one(c.AddIdpLink(c, l, mayLink))
	}},
	{[]string{"CreatePAT"}, usersfault.ErrUserNotFound, func(c request) (int, error) {
		return one(c.CreatePAT(c, token("u1", c.orgID, "t2"), []byte{2}, noted))
	}},
	{[]string{"PAT"}, usersfault.ErrPATNotFound, func(c request) (int, error) {
		return one(c.PAT(c, c.orgID, "u1", "t1"))
	}},
	{[]string{"SearchPATs"}, nil, func(c request) (int, error) {
		return many(c.SearchPATs(c, c.orgID, "u1", page))
	}},
	{[]string{"SearchOTP"}, nil, func(c request) (int, error) {
		return many(c.SearchOTP(c, c.orgID, "u1", page))
	}},
	{[]string{"CreateOTP"}, usersfault.ErrUserNotFound, func(c request) (int, error) {
		_, err := c.CreateOTP(c, app("u1", c.orgID), happened)
		if errors.Is(err, usersfault.ErrOTPNotVerified) { // in its own organization the user has one already
			err = nil
		}
		return 1, err
	}},
	{[]string{"ChangeOTP"}, usersfault.ErrOTPNotFound, func(c request) (int, error) {
		return one(c.ChangeOTP(c, c.orgID, "u1",
			func(*domain.OTP) (store.NoticedChange, error) { return changed, nil }))
	}},
	{[]string{"Members", "SearchMembers"}, nil, func(c request) (int, error) {
		return many(c.SearchMembers(c, c.Members(c.orgID, "p1"), page))
	}},
	{[]string{"SearchMemberships"}, nil, func(c request) (int, error) {
		return many(c.SearchMemberships(c, c.orgID, "u1", page))
	}},
	{[]string{"MembershipsOf"}, nil, func(c request) (int, error) {
		places, err := c.MembershipsOf(c, c.orgID, []string{"u1"})
		return len(places), err
	}},
	{[]string{"ChangeMember"}, usersfault.ErrMemberNotFound, func(c request) (int, error) {
		return one(c.ChangeMember(c, c.orgID, "p1", "u1", func(*domain.Member) (proto.Message, error) {
			return happened, nil
		}))
	}},
	{[]string{"SetMetadata"}, usersfault.ErrUserNotFound, func(c request) (int, error) {
		return one(c.SetMetadata(c, c.orgID, "u1", "size", func(m *domain.Metadata) (proto.Message, error) {
			m.Set(nil)
			return happened, nil
		}))
	}},
	{[]string{"Metadata"}, usersfault.ErrMetadataNotFound, func(c request) (int, error) {
		return one(c.Metadata(c, c.orgID, "u1", "size"))
	}},
	{[]string{"SearchMetadata"}, nil, func(c request) (int, error) {
		return many(c.SearchMetadata(c, c.orgID, "u1", page))
	}},
	{[]string{"RemoveMetadata"}, usersfault.ErrMetadataNotFound, func(c request) (int, error) {
		return one(c.RemoveMetadata(c, c.orgID, "u1", "size", happened))
	}},
	{[]string{"RemoveOTP"}, usersfault.ErrOTPNotFound, func(c request) (int, error) {
		return one(c.RemoveOTP(c, c.orgID, "u1", gone))
	}},
	{[]string{"RemoveMachineKey"}, usersfault.ErrMachineKeyNotFound, func(c request) (int, error) {
		return one(c.RemoveMachineKey(c, c.orgID, "m1", "k1", happened))
	}},
	{[]string{"SearchIdpLinks"}, nil, func(c request) (int, error) {
		return many(c.SearchIdpLinks(c, c.orgID, "u1", page))
	}},
	{[]string{"RemoveIdpLink"}, usersfault.ErrIdpLinkNotFound, func(c request) (int, error) {
		key := link("idp-a", "mini")
		key.OrgID, key.UserID = c.orgID, "u1"
		return one(c.RemoveIdpLink(c, key, happened))
	}},
	{[]string{"ChangeMembership"}, usersfault.ErrMemberNotFound, func(c request) (int, error) {
		nothing := func(*domain.Member) (proto.Message, error) { return happened, nil }
		return one(c.ChangeMembership(c, c.orgID, "u1", "membership of u1", nothing))
	}},
	{[]string{"RemovePAT"}, usersfault.ErrPATNotFound, func(c request) (int, error) {
		return one(c.RemovePAT(c, c.orgID, "u1", "t1", happened))
	}},
	{[]string{"RemoveUser"}, usersfault.ErrUserNotFound, func(c request) (int, error) {
		return one(c.RemoveUser(c, c.orgID, "u1", happened))
	}},
}

// elsewhere lists the methods that need not have an organization as a condition, with the reason.
var elsewhere = map[string]string{
	"UsePAT":    "a hash identifies one token, and only its last use is stored",
	"RemoveOrg": "is the organization itself", "ForgetOrg": "is the organization itself",
	"SomeUsers": "reads for a removed organization", "SomeMembers": "reads for a removed organization",
	"Now":          "reads no database",
	"Events":       "the method names the organization: TestReadEvents, TestSearchAsksAllServices",
	"Expirations":  "the method names the organization: TestListOfExpirations",
	"NamesOfUsers": "editors may be of any organization; the method asks for user.read: TestSearchAsksAllServices",
	"Subject":      "auth calls it for any user: TestResolveSubject", "OrgsWith": "auth calls it: TestResolveSubject",
	"CheckedHolders": "auth calls it for any user: TestResolveCaller",
	"ImportUsers":    "needs no existing object", "Taken": "ids and login names are the instance's",
	"CreateUser": "needs no existing object", "CreateOrg": "needs no existing object",
	"CreateInstance": "needs no existing object", "Started": "is the instance's",
	"FirstOrg": "is the instance's", "AddAdministrator": "the operator calls it for the instance",
	"LastingKey": "is the instance's", "NoteCertificate": "is the instance's",
	"Org": "is the organization itself", "ChangeOrg": "is the organization itself",
	"EndLogins": "is the organization itself",
	"Orgs":      "are the instance's", "SearchOrgs": "are the instance's",
	"UserNameFree": "names are the instance's", "FirstImport": "ids are the instance's",
	"AnyUser":       "other services call it for a user of any organization",
	"ExternalLogin": "auth calls it for any account: TestCheckExternalAccount",
	"CreateMember":  "takes users of any organization", "CreateProjectOwner": "takes users of any organization",
	"RemoveProjectMembers": "handles an event of projects", "RemoveIdpLinks": "handles an event of idp",
	"KnownToken": "is by the token's hash", "Holders": "is by the token's hash",
	"UserHolders": "projects calls it for any user: TestResolve",
	"CodeHolder":  "is by the code's holder", "RequestCode": "is by the code's holder",
	"Sweep":        "is by the time",
	"RemovePATsOf": "is by the user of the event", "RemoveOTPOf": "is by the user of the event",
	"RemoveRecoveryCodesOf": "is by the user of the event",
	"UseCode":               "is by the code's holder",
	"TryPassword":           "is by the password's holder", "UntryPassword": "is by the password's holder",
	"TryLogin": "login names are the instance's", "UntryLogin": "login names are the instance's",
	"Named":             "login names are the instance's",
	"CountRefusedLogin": "is by the user of a login",
	"LoggedIn":          "is by the password's holder", "LearnCosts": "is the instance's",
	"PausePassword": "is by the password's holder",
	"TryCode":       "is by the code's holder", "UntryCode": "is by the code's holder",
	"PrepareMail": "is by the mail's id", "RequestExpirationNotices": "handles an event of an organization",
	"ExpirationsFor": "the mail names the organization: TestMailsBeforeSomethingEnds",
}

// No method finds or changes an object of another organization. Each finds it in its own.
func TestQueriesFindOnlyObjectsOfTheirOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.org("org-b")
	w.user("org-a", "u1")
	w.must(w.CreateMember(t.Context(), owner("u1", "org-a", "p1"), joined))
	w.must(w.db.Exec(t.Context(), `update members set id = 'membership of u1'`))
	w.must(w.CreateMember(t.Context(), domain.Member{UserID: "u1", Roles: []string{"IAM_OWNER_VIEWER"}}, joined))
	w.must(w.CreatePAT(t.Context(), token("u1", "org-a", "t1"), []byte{1}, noted))
	w.must(w.CreateOTP(t.Context(), app("u1", "org-a"), happened))
	w.machine("org-a", "m1")
	w.must(w.AddMachineKey(t.Context(), machineKey("m1", "org-a", "k1"), []byte{1}, happened))
	w.must(w.db.Exec(t.Context(), `insert into user_idp_links (user_id, idp_id, external_user_id, tenant_id,
		display_name, makers, sequence, created_at, changed_at)
		values ('u1', 'idp-a', 'mini', '', '', '{}', 1, now(), now())`))

	before := testkit.Rows(t, w.db, "events")
	for _, m := range everything {
		n, err := m.run(request{t.Context(), w.Store, "org-b"})
		if m.absent == nil && (n != 0 || err != nil) || m.absent != nil && !errors.Is(err, m.absent) {
			t.Errorf("%s in another organization: %d, %v", m.names, n, err)
		}
	}
	if testkit.Rows(t, w.db, "events") != before {
		t.Error("something was written")
	}
	for _, m := range everything {
		if n, err := m.run(request{t.Context(), w.Store, "org-a"}); n == 0 || err != nil {
			t.Errorf("%s where it is: %d, %v", m.names, n, err)
		}
	}
}

func TestEveryMethodIsCalledForAForeignOrganization(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range everything {
		names = append(names, m.names...)
	}
	testkit.Listed[store.Store](t, names, elsewhere)
}
