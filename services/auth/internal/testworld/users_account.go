package testworld

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/gen/fault/usersfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
	"herald/shared/secret"
)

// AccountPath is the first page of an account.
const AccountPath = "/ui/account"

// Own is what the stand-in for users keeps of an account.
type Own struct {
	Email string
	// Pending is the address that was not verified yet.
	Pending  string
	Verified bool
	Mails    int
	Tokens   []*usersv1.PersonalAccessToken
	Links    []*usersv1.UserIdpLink
	// Memberships are the user's roles in all organizations.
	Memberships []*usersv1.Membership
	Codes       uint32
	// FactorOf are the applications that made it.
	FactorOf []string
	Profile  *usersv1.Profile
	// Gone reports that users refuses the person of each session.
	Gone bool
	// NoPassword reports that the person has none.
	NoPassword bool
	// Also reports that something else ends the logins too when the password changes.
	Also bool
	// Callers are those of the person's own methods.
	Callers []caller.Caller
}

// ToLogin is the address to which a person is sent who must log in for a page.
func ToLogin(page string) string {
	return LoginPath + "?" + url.Values{"request": {"account." + strings.TrimPrefix(page, "/")}}.Encode()
}

func (u *Users) answerProfile(_ context.Context, request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *usersv1.GetMyUserRequest:
		return &usersv1.GetMyUserResponse{HasPassword: !u.Own.NoPassword, User: &usersv1.User{
			Id: "u1", PreferredLoginName: u.Own.Profile.GetNickName(),
			Type: &usersv1.User_Human{Human: &usersv1.Human{Profile: u.Own.Profile, Email: &usersv1.Email{
				Email: u.Own.Email, IsEmailVerified: u.Own.Verified,
			}, PendingEmail: u.Own.Pending}},
		}}, nil
	case *usersv1.UpdateMyProfileRequest:
		if r.FirstName == "old login" {
			return nil, fault.ErrFreshLoginRequired
		}
		u.Own.Profile = &usersv1.Profile{FirstName: r.FirstName, LastName: r.LastName, NickName: r.NickName,
			DisplayName: r.DisplayName, PreferredLanguage: r.PreferredLanguage, Gender: r.Gender}
		return &usersv1.UpdateProfileResponse{}, nil
	case *usersv1.UpdateMyPasswordRequest:
		switch f := faults()[r.NewPassword]; {
		case r.OldPassword == "old login":
			return nil, fault.ErrFreshLoginRequired
		case r.OldPassword == "locked":
			return nil, loginFaults()["locked"]
		case r.OldPassword != "right":
			return nil, usersfault.ErrPasswordWrong
		case f != nil:
			return nil, f
		}
		if u.changes++; u.Own.Also {
			u.changes++
		}
		return &usersv1.UpdateMyPasswordResponse{}, nil
	}
	return nil, nil
}

// MostMails is how many mails users sends a person.
const MostMails = 10

func (u *Users) answerEmail(_ context.Context, request proto.Message) (proto.Message, error) {
	tooMany := usersfault.ErrTooManyMails.Say("too many")
	switch r := request.(type) {
	case *usersv1.UpdateMyEmailRequest:
		if u.Own.Mails >= MostMails {
			return nil, tooMany
		}
		if !strings.Contains(r.Email, "@") {
			return nil, usersfault.ErrEmailInvalid.Say("no address").On("email", "is none")
		}
		switch {
		case r.Email == u.Own.Email:
			u.Own.Pending = ""
		case u.Own.Verified:
			u.Own.Pending, u.Own.Mails = r.Email, u.Own.Mails+1
		default:
			u.Own.Email, u.Own.Mails = r.Email, u.Own.Mails+1
		}
		return &usersv1.UpdateMyEmailResponse{}, nil
	case *usersv1.ResendMyEmailVerificationRequest:
		if u.Own.Verified && u.Own.Pending == "" {
			return nil, usersfault.ErrEmailAlreadyVerified.Say("it is verified")
		}
		if u.Own.Mails >= MostMails {
			return nil, tooMany
		}
		u.Own.Mails++
		return &usersv1.ResendEmailVerificationResponse{}, nil
	case *usersv1.VerifyMyEmailRequest:
		if f := faults()[r.Code]; f != nil {
			return nil, f
		}
		u.Own.Verified = true
		if u.Own.Pending != "" {
			u.Own.Email, u.Own.Pending = u.Own.Pending, ""
		}
		return &usersv1.VerifyMyEmailResponse{}, nil
	}
	return nil, nil
}

// MostTokens is how many personal access tokens the quota of users allows.
const MostTokens = 10

func (u *Users) answerTokens(_ context.Context, request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *usersv1.SearchMyPersonalAccessTokensRequest:
		return &usersv1.SearchPersonalAccessTokensResponse{Result: u.Own.Tokens}, nil
	case *usersv1.AddMyPersonalAccessTokenRequest:
		if len(u.Own.Tokens) >= MostTokens {
			return nil, fault.ErrQuotaExceeded.Say("too many")
		}
		until := timestamppb.New(secret.NoExpiry)
		if r.ExpirationDate != nil {
			if until = r.ExpirationDate; until.AsTime().Before(time.Now()) {
				return nil, fault.ErrExpirationDatePast.Say("it is over")
			}
		}
		u.Own.Tokens = append(u.Own.Tokens, &usersv1.PersonalAccessToken{Id: "t1", Name: r.Name,
			ExpirationDate: until, Details: &heraldv1.ObjectDetails{CreationDate: timestamppb.Now()}})
		return &usersv1.AddPersonalAccessTokenResponse{TokenId: "t1", Token: "hrld_pat_secret"}, nil
	case *usersv1.RemoveMyPersonalAccessTokenRequest:
		i := slices.IndexFunc(u.Own.Tokens, func(t *usersv1.PersonalAccessToken) bool { return t.Id == r.TokenId })
		if i < 0 {
			return nil, usersfault.ErrPATNotFound
		}
		u.Own.Tokens = slices.Delete(u.Own.Tokens, i, i+1)
		return &usersv1.RemovePersonalAccessTokenResponse{}, nil
	}
	return nil, nil
}

func (u *Users) answerLinks(_ context.Context, request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *usersv1.SearchMyIdpLinksRequest:
		return &usersv1.SearchUserIdpLinksResponse{Result: u.Own.Links}, nil
	case *usersv1.RemoveMyIdpLinkRequest:
		i := slices.IndexFunc(u.Own.Links, func(l *usersv1.UserIdpLink) bool {
			return l.IdpId == r.IdpId && l.ExternalUserId == r.ExternalUserId
		})
		if i < 0 {
			return nil, usersfault.ErrIdpLinkNotFound.Say("no such link")
		}
		u.Own.Links = slices.Delete(u.Own.Links, i, i+1)
		return &usersv1.RemoveUserIdpLinkResponse{}, nil
	}
	return nil, nil
}

func (u *Users) answerFactors(_ context.Context, request proto.Message) (proto.Message, error) {
	if _, search := request.(*usersv1.SearchMyAuthFactorsRequest); !search {
		return nil, nil
	}
	found := &usersv1.SearchAuthFactorsResponse{}
	state := usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY
	if u.Own.Codes == 0 {
		state = usersv1.AuthFactorState_AUTH_FACTOR_STATE_NOT_READY
	}
	if u.Own.Codes > 0 || len(u.Own.FactorOf) > 0 {
		found.Result = []*usersv1.AuthFactor{{
			State:     state,
			Type:      &usersv1.AuthFactor_Otp{Otp: &usersv1.Otp{RecoveryCodesLeft: u.Own.Codes}},
			ClientIds: u.Own.FactorOf,
		}}
	}
	return found, nil
}

func (u *Users) answerOTP(_ context.Context, request proto.Message) (proto.Message, error) {
	switch request.(type) {
	case *usersv1.AddMyOtpRequest:
		return &usersv1.AddMyOtpResponse{Url: "otpauth://totp/Herald:ada?secret=JBSWY3DPEHPK3PXP"}, nil
	case *usersv1.RemoveMyOtpRequest:
		u.Own.Codes = 0
		return &usersv1.RemoveOtpResponse{}, nil
	case *usersv1.RegenerateMyRecoveryCodesRequest:
		if u.Own.Codes == 0 {
			return nil, usersfault.ErrOTPNotFound.Say("there is no app")
		}
		u.Own.Codes = 10
		return &usersv1.RegenerateMyRecoveryCodesResponse{RecoveryCodes: []string{"AAAA-BBBB", "CCCC-DDDD"}}, nil
	}
	return nil, nil
}

func (u *Users) answerMemberships(_ context.Context, request proto.Message) (proto.Message, error) {
	find := func(id string) int {
		return slices.IndexFunc(u.Own.Memberships, func(m *usersv1.Membership) bool { return m.Id == id })
	}
	switch r := request.(type) {
	case *usersv1.SearchMyMembershipsRequest:
		return &usersv1.SearchMembershipsResponse{Result: u.Own.Memberships}, nil
	case *usersv1.AcceptMyMembershipRequest:
		i := find(r.MembershipId)
		switch {
		case i < 0:
			return nil, usersfault.ErrMemberNotFound
		case u.Own.Memberships[i].State != usersv1.MembershipState_MEMBERSHIP_STATE_PENDING:
			return nil, usersfault.ErrMembershipNotPending
		}
		u.Own.Memberships[i].State = usersv1.MembershipState_MEMBERSHIP_STATE_ACTIVE
		return &usersv1.MemberResponse{}, nil
	case *usersv1.RemoveMyMembershipRequest:
		i := find(r.MembershipId)
		if i < 0 {
			return nil, usersfault.ErrMemberNotFound
		}
		u.Own.Memberships = slices.Delete(u.Own.Memberships, i, i+1)
		return &usersv1.MemberResponse{}, nil
	}
	return nil, nil
}

// ServeApplications answers the requests to the service projects. All applications exist but one.
func ServeApplications(t testing.TB, g boot.Ground) {
	t.Helper()
	Serve(t, g, "projects", func(_ context.Context, request proto.Message) (proto.Message, error) {
		if asked, names := request.(*projectsv1.ResolveAccessRequest); names {
			return &projectsv1.ResolveAccessResponse{Named: search.Each(asked.NamedIds,
				func(id string) *projectsv1.ResolveAccessResponse {
					return &projectsv1.ResolveAccessResponse{Project: &projectsv1.Project{Id: id, Name: "Shop " + id}}
				})}, nil
		}
		r, resolve := request.(*projectsv1.ResolveClientRequest)
		switch {
		case !resolve:
			return nil, nil
		case r.ClientId == "removed":
			return nil, projectsfault.ErrAppNotFound
		}
		app := &projectsv1.App{Id: r.ClientId, Name: `<script>alert("` + r.ClientId + `")</script>`,
			Config: &projectsv1.App_OidcConfig{OidcConfig: &projectsv1.OidcConfig{ClientId: r.ClientId}}}
		return &projectsv1.ResolveClientResponse{OrgId: "o2", Project: &projectsv1.Project{Id: "p1"}, App: app}, nil
	}, &projectsv1.Internal_ServiceDesc)
}
