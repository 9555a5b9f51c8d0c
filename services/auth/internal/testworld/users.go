package testworld

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Users stands in for the service users, with the only user ada. Its answers depend on the code and the password.
type Users struct {
	LoginName string
	mu        sync.Mutex
	requests  []proto.Message
	Own       Own
	// changes is how often the user has changed in a way that ends logins.
	changes uint64
	// Unverified reports that the user's address was never verified.
	Unverified bool
	// Asked, if not nil, gets each request for a mail.
	Asked chan *usersv1.RequestCodeRequest
	// Created are the accounts at identity providers for which the user was created.
	Created []string
	Updated []*usersv1.UpdateExternalUserRequest
	Linked  []*usersv1.LinkExternalAccountRequest
}

// ServeUsers answers the requests to the service users that auth sends.
func ServeUsers(t testing.TB, g boot.Ground, u *Users) {
	t.Helper()
	Serve(t, g, "users", u.answer, &usersv1.Users_ServiceDesc, &usersv1.Credentials_ServiceDesc,
		&usersv1.Factors_ServiceDesc, &usersv1.Logins_ServiceDesc, &usersv1.Members_ServiceDesc,
		&usersv1.Internal_ServiceDesc)
}

func (u *Users) answer(ctx context.Context, request proto.Message) (proto.Message, error) {
	if r, mail := request.(*usersv1.RequestCodeRequest); mail {
		if u.Asked != nil {
			u.Asked <- r
		}
		return &usersv1.RequestCodeResponse{}, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, reads := range []Handler{u.answerSubject, u.answerFactors} {
		if a, err := reads(ctx, request); a != nil || err != nil {
			return a, err
		}
	}
	u.requests = append(u.requests, request)
	if c := caller.From(ctx); c.UserID != "" {
		u.Own.Callers = append(u.Own.Callers, c)
	}
	for _, answer := range []Handler{
		u.answerCode, u.answerLogin, u.answerExternal, u.answerProfile, u.answerEmail, u.answerTokens, u.answerLinks,
		u.answerOTP, u.answerMemberships,
	} {
		if a, err := answer(ctx, request); a != nil || err != nil {
			return a, err
		}
	}
	return nil, nil
}

// Requests returns the requests so far, except those that only find out who is logged in.
func (u *Users) Requests() []proto.Message {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.requests
}

// Set changes what the stand-in keeps of the user while requests run.
func (u *Users) Set(change func(*Users)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change(u)
}

// Change ends the user's logins.
func (u *Users) Change() { u.Set(func(u *Users) { u.changes++ }) }

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
		"odd": {Code: fault.Invalid, ID: "PASSWORD_ODD", Message: `No <b>odd</b> passwords & the "like"`},
		"":    usersfault.ErrPasswordRequired,
	}
}

// refusal returns an answer, or the fault that a code or password causes.
func refusal(by map[string]*fault.Fault, typed string, otherwise proto.Message) (proto.Message, error) {
	if f := by[typed]; f != nil {
		return nil, f
	}
	return otherwise, nil
}

func (u *Users) answerCode(_ context.Context, request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *usersv1.CheckCodeRequest:
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
	case *usersv1.CompleteCodeRequest:
		typed := r.Code
		if faults()[r.Code] == nil && r.Kind != "verifyemail" && r.UserId != "has-one" {
			typed = r.Password
		}
		done := &usersv1.CompleteCodeResponse{LoginName: cmp.Or(u.LoginName, "ada@example.com")}
		return refusal(faults(), typed, done)
	}
	return nil, nil
}

func (u *Users) answerSubject(_ context.Context, request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *usersv1.ResolveSubjectRequest:
		found := &usersv1.ResolveSubjectResponse{
			OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, Type: usersv1.UserType_USER_TYPE_HUMAN,
			Generation: 1 + u.changes, Credential: "password",
			Orgs: []*usersv1.SubjectOrg{{Id: "o1", State: usersv1.OrgState_ORG_STATE_ACTIVE, Generation: 1},
				{Id: "o2", Name: "Company o2"}},
			User: &usersv1.User{PreferredLoginName: "ada <b>", Type: &usersv1.User_Human{Human: &usersv1.Human{
				Email:   &usersv1.Email{Email: "<i>ada@example.com", IsEmailVerified: !u.Unverified},
				Profile: &usersv1.Profile{DisplayName: `Ada "<script>alert(1)</script>`},
			}}},
		}
		if strings.HasPrefix(r.Credential, "idp:") {
			found.Credential = r.Credential
		}
		return found, nil
	case *usersv1.ResolveCallerRequest:
		subject := &usersv1.CheckedSubject{UserId: "u1", Credential: "password", Generation: 1 + u.changes,
			Orgs: []*usersv1.CheckedOrg{{Id: "o1", Generation: 1}}}
		if u.Own.Gone || !proto.Equal(r.Subject, subject) {
			return nil, fault.ErrTokenInvalid
		}
		c := caller.Caller{UserID: "u1", OrganizationID: "o1", HomeOrganizationID: "o1", TokenID: "t1"}
		return &usersv1.ResolveTokenResponse{Caller: c.Proto()}, nil
	case *usersv1.CheckEscalationRequest:
		if r.UserId == "above" && !caller.FromProto(r.Caller).Can("iam.write", "") {
			return nil, usersfault.ErrEscalation
		}
		return &usersv1.CheckEscalationResponse{}, nil
	}
	return nil, nil
}
