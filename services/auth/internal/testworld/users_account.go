package testworld

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/gen/fault/usersfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// AccountPath is the first page of an account.
const AccountPath = "/ui/account"

// Own is what the stand-in for users keeps of an account.
type Own struct {
	Email    string
	Verified bool
	Mails    int
	Tokens   []*usersv1.PersonalAccessToken
	Links    []*usersv1.UserIdpLink
	Codes    uint32
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

// mine records a call that a person makes, and returns their account.
func (u *Users) mine(ctx context.Context, r proto.Message) *Own {
	u.called(r)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Own.Callers = append(u.Own.Callers, caller.From(ctx))
	return &u.Own
}

// ResolveCaller implements the contract of the service.
func (u *Users) ResolveCaller(
	_ context.Context, r *usersv1.ResolveCallerRequest,
) (*usersv1.ResolveTokenResponse, error) {
	s := r.Subject
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.Own.Gone || s.UserId != "u1" || s.Credential != "password" || s.Generation != 1+u.changes ||
		len(s.Orgs) != 1 || s.Orgs[0].Id != "o1" || s.Orgs[0].Generation != 1 {
		return nil, fault.ErrTokenInvalid
	}
	c := caller.Caller{UserID: "u1", OrganizationID: "o1", HomeOrganizationID: "o1", TokenID: "t1"}
	return &usersv1.ResolveTokenResponse{Caller: c.Proto()}, nil
}

// GetMyUser implements the contract of the service.
func (u *Users) GetMyUser(ctx context.Context, r *usersv1.GetMyUserRequest) (*usersv1.GetMyUserResponse, error) {
	mine := u.mine(ctx, r)
	return &usersv1.GetMyUserResponse{HasPassword: !mine.NoPassword, User: &usersv1.User{
		Id: "u1", PreferredLoginName: mine.Profile.GetNickName(),
		Type: &usersv1.User_Human{Human: &usersv1.Human{Profile: mine.Profile, Email: &usersv1.Email{
			Email: mine.Email, IsEmailVerified: mine.Verified,
		}}},
	}}, nil
}

// UpdateMyProfile implements the contract of the service.
func (u *Users) UpdateMyProfile(
	ctx context.Context, r *usersv1.UpdateMyProfileRequest,
) (*usersv1.UpdateProfileResponse, error) {
	if r.FirstName == "old login" {
		return nil, fault.ErrFreshLoginRequired
	}
	u.mine(ctx, r).Profile = &usersv1.Profile{FirstName: r.FirstName, LastName: r.LastName, NickName: r.NickName,
		DisplayName: r.DisplayName, PreferredLanguage: r.PreferredLanguage, Gender: r.Gender}
	return &usersv1.UpdateProfileResponse{}, nil
}

// UpdateMyPassword implements the contract of the service.
func (u *Users) UpdateMyPassword(
	ctx context.Context, r *usersv1.UpdateMyPasswordRequest,
) (*usersv1.UpdateMyPasswordResponse, error) {
	u.mine(ctx, r)
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
	if u.Change(); u.Own.Also {
		u.Change()
	}
	return &usersv1.UpdateMyPasswordResponse{}, nil
}

// ToLogin is the address to which a person is sent who must log in for a page.
func ToLogin(page string) string {
	return LoginPath + "?" + url.Values{"request": {"account." + strings.TrimPrefix(page, "/")}}.Encode()
}

// MostMails is how many mails users sends a person.
const MostMails = 10

func errTooManyMails() error { return usersfault.ErrTooManyMails.Say("too many") }

// UpdateMyEmail implements the contract of the service.
func (u *Users) UpdateMyEmail(
	ctx context.Context, r *usersv1.UpdateMyEmailRequest,
) (*usersv1.UpdateMyEmailResponse, error) {
	mine := u.mine(ctx, r)
	if mine.Mails >= MostMails {
		return nil, errTooManyMails()
	}
	if !strings.Contains(r.Email, "@") {
		return nil, usersfault.ErrEmailInvalid.Say("no address").On("email", "is none")
	}
	mine.Email, mine.Verified, mine.Mails = r.Email, false, mine.Mails+1
	return &usersv1.UpdateMyEmailResponse{}, nil
}

// ResendMyEmailVerification implements the contract of the service.
func (u *Users) ResendMyEmailVerification(
	ctx context.Context, r *usersv1.ResendMyEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	mine := u.mine(ctx, r)
	if mine.Verified {
		return nil, usersfault.ErrEmailAlreadyVerified.Say("it is verified")
	}
	if mine.Mails >= MostMails {
		return nil, errTooManyMails()
	}
	mine.Mails++
	return &usersv1.ResendEmailVerificationResponse{}, nil
}

// VerifyMyEmail implements the contract of the service.
func (u *Users) VerifyMyEmail(
	ctx context.Context, r *usersv1.VerifyMyEmailRequest,
) (*usersv1.VerifyMyEmailResponse, error) {
	mine := u.mine(ctx, r)
	if f := faults()[r.Code]; f != nil {
		return nil, f
	}
	mine.Verified = true
	return &usersv1.VerifyMyEmailResponse{}, nil
}

// SearchMyPersonalAccessTokens implements the contract of the service.
func (u *Users) SearchMyPersonalAccessTokens(
	ctx context.Context, r *usersv1.SearchMyPersonalAccessTokensRequest,
) (*usersv1.SearchPersonalAccessTokensResponse, error) {
	return &usersv1.SearchPersonalAccessTokensResponse{Result: u.mine(ctx, r).Tokens}, nil
}

// AddMyPersonalAccessToken implements the contract of the service.
func (u *Users) AddMyPersonalAccessToken(
	ctx context.Context, r *usersv1.AddMyPersonalAccessTokenRequest,
) (*usersv1.AddPersonalAccessTokenResponse, error) {
	mine := u.mine(ctx, r)
	until := timestamppb.New(secret.NoExpiry)
	if r.ExpirationDate != nil {
		if until = r.ExpirationDate; until.AsTime().Before(time.Now()) {
			return nil, fault.ErrExpirationDatePast.Say("it is over")
		}
	}
	mine.Tokens = append(mine.Tokens, &usersv1.PersonalAccessToken{Id: "t1", ExpirationDate: until,
		Details: &heraldv1.ObjectDetails{CreationDate: timestamppb.Now()}})
	return &usersv1.AddPersonalAccessTokenResponse{TokenId: "t1", Token: "hrld_pat_secret"}, nil
}

// RemoveMyPersonalAccessToken implements the contract of the service.
func (u *Users) RemoveMyPersonalAccessToken(
	ctx context.Context, r *usersv1.RemoveMyPersonalAccessTokenRequest,
) (*usersv1.RemovePersonalAccessTokenResponse, error) {
	mine := u.mine(ctx, r)
	i := slices.IndexFunc(mine.Tokens, func(t *usersv1.PersonalAccessToken) bool { return t.Id == r.TokenId })
	if i < 0 {
		return nil, usersfault.ErrPATNotFound
	}
	mine.Tokens = slices.Delete(mine.Tokens, i, i+1)
	return &usersv1.RemovePersonalAccessTokenResponse{}, nil
}

// SearchMyIdpLinks implements the contract of the service.
func (u *Users) SearchMyIdpLinks(
	ctx context.Context, r *usersv1.SearchMyIdpLinksRequest,
) (*usersv1.SearchUserIdpLinksResponse, error) {
	return &usersv1.SearchUserIdpLinksResponse{Result: u.mine(ctx, r).Links}, nil
}

// RemoveMyIdpLink implements the contract of the service.
func (u *Users) RemoveMyIdpLink(
	ctx context.Context, r *usersv1.RemoveMyIdpLinkRequest,
) (*usersv1.RemoveUserIdpLinkResponse, error) {
	mine := u.mine(ctx, r)
	i := slices.IndexFunc(mine.Links, func(l *usersv1.UserIdpLink) bool {
		return l.IdpId == r.IdpId && l.ExternalUserId == r.ExternalUserId
	})
	if i < 0 {
		return nil, usersfault.ErrIdpLinkNotFound.Say("no such link")
	}
	mine.Links = slices.Delete(mine.Links, i, i+1)
	return &usersv1.RemoveUserIdpLinkResponse{}, nil
}

// RemoveMyOtp implements the contract of the service.
func (u *Users) RemoveMyOtp(ctx context.Context, r *usersv1.RemoveMyOtpRequest) (*usersv1.RemoveOtpResponse, error) {
	u.mine(ctx, r).Codes = 0
	return &usersv1.RemoveOtpResponse{}, nil
}

// RegenerateMyRecoveryCodes implements the contract of the service.
func (u *Users) RegenerateMyRecoveryCodes(
	ctx context.Context, r *usersv1.RegenerateMyRecoveryCodesRequest,
) (*usersv1.RegenerateMyRecoveryCodesResponse, error) {
	mine := u.mine(ctx, r)
	if mine.Codes == 0 {
		return nil, usersfault.ErrOTPNotFound.Say("there is no app")
	}
	mine.Codes = 10
	return &usersv1.RegenerateMyRecoveryCodesResponse{RecoveryCodes: []string{"AAAA-BBBB", "CCCC-DDDD"}}, nil
}

// Applications stands in for the service projects. All applications are there but one.
type Applications struct {
	projectsv1.UnimplementedInternalServer
	testkit.Unguarded
}

// ResolveClient implements the contract of the service.
func (Applications) ResolveClient(
	_ context.Context, r *projectsv1.ResolveClientRequest,
) (*projectsv1.ResolveClientResponse, error) {
	if r.ClientId == "removed" {
		return nil, projectsfault.ErrAppNotFound
	}
	return &projectsv1.ResolveClientResponse{OrgId: "o2", Project: &projectsv1.Project{Id: "p1"}, App: &projectsv1.App{
		Id: r.ClientId, Name: `<script>alert("` + r.ClientId + `")</script>`,
		Config: &projectsv1.App_OidcConfig{OidcConfig: &projectsv1.OidcConfig{ClientId: r.ClientId}},
	}}, nil
}

// SearchMyAuthFactors implements the contract of the service.
func (u *Users) SearchMyAuthFactors(
	context.Context, *usersv1.SearchMyAuthFactorsRequest,
) (*usersv1.SearchAuthFactorsResponse, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.Own.Codes == 0 {
		return &usersv1.SearchAuthFactorsResponse{}, nil
	}
	return &usersv1.SearchAuthFactorsResponse{Result: []*usersv1.AuthFactor{{
		State: usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY,
		Type:  &usersv1.AuthFactor_Otp{Otp: &usersv1.Otp{RecoveryCodesLeft: u.Own.Codes}},
	}}}, nil
}

// Protect gives the user an authenticator app with so many recovery codes.
func (u *Users) Protect(codes uint32) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Own.Codes = codes
}

// AddMyOtp implements the contract of the service.
func (u *Users) AddMyOtp(_ context.Context, r *usersv1.AddMyOtpRequest) (*usersv1.AddMyOtpResponse, error) {
	u.called(r)
	return &usersv1.AddMyOtpResponse{Url: "otpauth://totp/Herald:ada?secret=JBSWY3DPEHPK3PXP"}, nil
}
