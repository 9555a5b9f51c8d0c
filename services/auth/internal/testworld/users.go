package testworld

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// Users stands in for the service users. Its answers depend on the code and the password.
type Users struct {
	usersv1.UnimplementedUsersServer
	usersv1.UnimplementedCredentialsServer
	usersv1.UnimplementedFactorsServer
	usersv1.UnimplementedLoginsServer
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	LoginName string
	mu        sync.Mutex
	calls     []proto.Message
	Own       Own
	// changes is how often the user has changed in a way that ends logins.
	changes uint64
	// Unverified reports that the user's address was never verified.
	Unverified bool
	// asked, if not nil, gets each request for a mail.
	Asked chan *usersv1.RequestCodeRequest
}

// faults returns those of the real service, by the code or password that causes them here.
func faults() map[string]*fault.Fault {
	return map[string]*fault.Fault{
		"WRONG222": usersfault.ErrCodeWrong,
		"OVERDUE2": usersfault.ErrCodeExpired.Say("The code has expired"),
		"LOCKED22": usersfault.ErrCodeLocked.Say("Too many wrong codes"),
		"BUSY2222": fault.ErrOverloaded,
		"AWAY2222": fault.ErrUnavailable.After(1),
		"SLOW2222": fault.ErrDeadlineExceeded,
		"BROKEN22": fault.ErrInternal,
		"DENIED22": fault.ErrPermissionDenied,
		"NEEDSPW2": usersfault.ErrPasswordRequired,
		"short":    usersfault.ErrPasswordTooShort.Say("The password is too short"),
		// A fault that the pages have no text for.
		"odd":        {Code: fault.Invalid, ID: "PASSWORD_ODD", Message: `No <b>odd</b> passwords & the "like"`},
		"":           usersfault.ErrPasswordRequired,
		"has-one":    nil,
		"Tr0ub4dor3": nil,
	}
}

func (u *Users) called(m proto.Message) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls = append(u.calls, m)
}

// Name sets the login name that CompleteCode returns.
func (u *Users) Name(loginName string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.LoginName = loginName
}

// Requests returns the calls so far.
func (u *Users) Requests() []proto.Message {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls
}

// CheckCode implements the contract of the service.
func (u *Users) CheckCode(_ context.Context, r *usersv1.CheckCodeRequest) (*usersv1.CheckCodeResponse, error) {
	u.called(r)
	if r.Code == "AWAY2222" {
		return nil, faults()[r.Code]
	}
	checked := &usersv1.CheckCodeResponse{Expired: r.Code == "EXPIRED2"}
	if f := faults()[r.Code]; r.Code == "" || f != nil && (f.ID == "CODE_WRONG" || f.ID == "CODE_LOCKED") {
		return checked, nil
	}
	checked.Holder = &usersv1.CodeHolder{LoginName: "ada <b>", OrgName: "Analytical & Co"}
	if r.Code == "NAMED222" {
		checked.Holder.PreferredLanguage = "ja-JP"
	}
	return checked, nil
}

// CompleteCode implements the contract of the service.
func (u *Users) CompleteCode(_ context.Context, r *usersv1.CompleteCodeRequest) (*usersv1.CompleteCodeResponse, error) {
	u.called(r)
	f := faults()[r.Code]
	if f == nil && r.Kind != "verifyemail" && r.UserId != "has-one" {
		f = faults()[r.Password]
	}
	if f != nil {
		return nil, f
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return &usersv1.CompleteCodeResponse{LoginName: cmp.Or(u.LoginName, "ada@example.com")}, nil
}

// RequestCode implements the contract of the service.
func (u *Users) RequestCode(_ context.Context, r *usersv1.RequestCodeRequest) (*usersv1.RequestCodeResponse, error) {
	if u.Asked != nil {
		u.Asked <- r
	}
	return &usersv1.RequestCodeResponse{}, nil
}

// subjectOf is the stand-in's only user.
func (u *Users) subjectOf() *usersv1.ResolveSubjectResponse {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &usersv1.ResolveSubjectResponse{
		OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, Type: usersv1.UserType_USER_TYPE_HUMAN,
		Generation: 1 + u.changes, Credential: "password",
		Orgs: []*usersv1.SubjectOrg{{Id: "o1", State: usersv1.OrgState_ORG_STATE_ACTIVE, Generation: 1}},
		User: &usersv1.User{PreferredLoginName: "ada <b>", Type: &usersv1.User_Human{Human: &usersv1.Human{
			Email:   &usersv1.Email{Email: "<i>ada@example.com", IsEmailVerified: !u.Unverified},
			Profile: &usersv1.Profile{DisplayName: `Ada "<script>alert(1)</script>`},
		}}},
	}
}

// Change ends the user's logins.
func (u *Users) Change() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changes++
}

// ResolveSubject implements the contract of the service.
func (u *Users) ResolveSubject(
	_ context.Context, r *usersv1.ResolveSubjectRequest,
) (*usersv1.ResolveSubjectResponse, error) {
	found := u.subjectOf()
	if strings.HasPrefix(r.Credential, "idp:") {
		found.Credential = r.Credential
	}
	return found, nil
}
