package auth

import (
	"context"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/domain"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// things are what the stand-in for users keeps of an account besides the profile.
type things struct {
	email    string
	verified bool
	mails    int
	tokens   []*usersv1.PersonalAccessToken
	links    []*usersv1.UserIdpLink
	codes    uint32
}

// mostMails is how many mails users sends a person.
const mostMails = 10

var errTooManyMails = fault.New(fault.Exhausted, "TOO_MANY_MAILS", "too many")

func (u *users) UpdateMyEmail(
	ctx context.Context, r *usersv1.UpdateMyEmailRequest,
) (*usersv1.UpdateMyEmailResponse, error) {
	mine := u.mine(ctx, r)
	if mine.mails >= mostMails {
		return nil, errTooManyMails
	}
	if !strings.Contains(r.Email, "@") {
		return nil, fault.New(fault.Invalid, "EMAIL_INVALID", "no address").On("email", "is none")
	}
	mine.email, mine.verified, mine.mails = r.Email, false, mine.mails+1
	return &usersv1.UpdateMyEmailResponse{}, nil
}

func (u *users) ResendMyEmailVerification(
	ctx context.Context, r *usersv1.ResendMyEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	mine := u.mine(ctx, r)
	if mine.verified {
		return nil, fault.New(fault.Precondition, "EMAIL_ALREADY_VERIFIED", "it is verified")
	}
	if mine.mails >= mostMails {
		return nil, errTooManyMails
	}
	mine.mails++
	return &usersv1.ResendEmailVerificationResponse{}, nil
}

func (u *users) VerifyMyEmail(
	ctx context.Context, r *usersv1.VerifyMyEmailRequest,
) (*usersv1.VerifyMyEmailResponse, error) {
	mine := u.mine(ctx, r)
	if f := faults[r.Code]; f != nil {
		return nil, f
	}
	mine.verified = true
	return &usersv1.VerifyMyEmailResponse{}, nil
}

func (u *users) SearchMyPersonalAccessTokens(
	ctx context.Context, r *usersv1.SearchMyPersonalAccessTokensRequest,
) (*usersv1.SearchPersonalAccessTokensResponse, error) {
	return &usersv1.SearchPersonalAccessTokensResponse{Result: u.mine(ctx, r).tokens}, nil
}

func (u *users) AddMyPersonalAccessToken(
	ctx context.Context, r *usersv1.AddMyPersonalAccessTokenRequest,
) (*usersv1.AddPersonalAccessTokenResponse, error) {
	mine := u.mine(ctx, r)
	until := timestamppb.New(secret.NoExpiry)
	if r.ExpirationDate != nil {
		if until = r.ExpirationDate; until.AsTime().Before(time.Now()) {
			return nil, fault.New(fault.Invalid, "EXPIRATION_PAST", "it is over")
		}
	}
	mine.tokens = append(mine.tokens, &usersv1.PersonalAccessToken{Id: "t1", ExpirationDate: until,
		Details: &heraldv1.ObjectDetails{CreationDate: timestamppb.Now()}})
	return &usersv1.AddPersonalAccessTokenResponse{TokenId: "t1", Token: "hrld_pat_secret"}, nil
}

func (u *users) RemoveMyPersonalAccessToken(
	ctx context.Context, r *usersv1.RemoveMyPersonalAccessTokenRequest,
) (*usersv1.RemovePersonalAccessTokenResponse, error) {
	mine := u.mine(ctx, r)
	i := slices.IndexFunc(mine.tokens, func(t *usersv1.PersonalAccessToken) bool { return t.Id == r.TokenId })
	if i < 0 {
		return nil, fault.New(fault.NotFound, "PAT_NOT_FOUND", "Personal access token not found")
	}
	mine.tokens = slices.Delete(mine.tokens, i, i+1)
	return &usersv1.RemovePersonalAccessTokenResponse{}, nil
}

func (u *users) SearchMyIdpLinks(
	ctx context.Context, r *usersv1.SearchMyIdpLinksRequest,
) (*usersv1.SearchUserIdpLinksResponse, error) {
	return &usersv1.SearchUserIdpLinksResponse{Result: u.mine(ctx, r).links}, nil
}

func (u *users) RemoveMyIdpLink(
	ctx context.Context, r *usersv1.RemoveMyIdpLinkRequest,
) (*usersv1.RemoveUserIdpLinkResponse, error) {
	mine := u.mine(ctx, r)
	i := slices.IndexFunc(mine.links, func(l *usersv1.UserIdpLink) bool {
		return l.IdpId == r.IdpId && l.ExternalUserId == r.ExternalUserId
	})
	if i < 0 {
		return nil, fault.New(fault.NotFound, "IDP_LINK_NOT_FOUND", "no such link")
	}
	mine.links = slices.Delete(mine.links, i, i+1)
	return &usersv1.RemoveUserIdpLinkResponse{}, nil
}

func (u *users) RemoveMyOtp(ctx context.Context, r *usersv1.RemoveMyOtpRequest) (*usersv1.RemoveOtpResponse, error) {
	u.mine(ctx, r).codes = 0
	return &usersv1.RemoveOtpResponse{}, nil
}

func (u *users) RegenerateMyRecoveryCodes(
	ctx context.Context, r *usersv1.RegenerateMyRecoveryCodesRequest,
) (*usersv1.RegenerateMyRecoveryCodesResponse, error) {
	mine := u.mine(ctx, r)
	if mine.codes == 0 {
		return nil, fault.New(fault.NotFound, "OTP_NOT_FOUND", "there is no app")
	}
	mine.codes = 10
	return &usersv1.RegenerateMyRecoveryCodesResponse{RecoveryCodes: []string{"AAAA-BBBB", "CCCC-DDDD"}}, nil
}

// applications stands in for the service projects. All applications are there but one.
type applications struct {
	projectsv1.UnimplementedInternalServer
	testkit.Unguarded
}

func (applications) ResolveClient(
	_ context.Context, r *projectsv1.ResolveClientRequest,
) (*projectsv1.ResolveClientResponse, error) {
	if r.ClientId == "removed" {
		return nil, fault.New(fault.NotFound, "APP_NOT_FOUND", "Application not found")
	}
	return &projectsv1.ResolveClientResponse{OrgId: "o2", Project: &projectsv1.Project{Id: "p1"}, App: &projectsv1.App{
		Id: r.ClientId, Name: `<script>alert("` + r.ClientId + `")</script>`,
		Config: &projectsv1.App_OidcConfig{OidcConfig: &projectsv1.OidcConfig{ClientId: r.ClientId}},
	}}, nil
}

// People see which applications have access to their account, and take it away from one of them.
func TestAccessOfApplications(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.login("here")
	if page := a.open(session, "/access").Body.String(); !strings.Contains(page, pageTexts(t, "en")["access.none"]) {
		t.Error("the page does not say that there is none")
	}
	give := func(userID, clientID string) {
		t.Helper()
		id := userID + clientID
		if err := a.store.Issue(t.Context(), domain.Authorization{ID: id, ClientID: clientID, ProjectID: "p1",
			UserID: userID, UserGeneration: 1, OrgID: "o1", OrgGeneration: 1, Scopes: []string{}, Audience: []string{},
			AMR: []string{}, AuthTime: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}, domain.Use{},
			domain.NewToken{Kind: domain.KindAccess, Hash: secret.Hash(id), ExpiresAt: time.Now().Add(time.Hour)},
		); err != nil {
			t.Fatal(err)
		}
	}
	for _, clientID := range []string{"c1", "c2", "removed"} {
		give("u1", clientID)
	}
	give("u2", "c3")
	for _, clientID := range []string{"c1", "c4"} { // of c4 it is only remembered
		if err := a.store.GiveConsent(t.Context(), domain.Consent{UserID: "u1", ClientID: clientID, OrgID: "o1"},
			&authv1.ConsentGiven{UserId: "u1", ClientId: clientID}); err != nil {
			t.Fatal(err)
		}
	}
	page := a.open(session, "/access")
	shows(t, page, 200, "access")
	if body := page.Body.String(); strings.Contains(body, "<script>") || strings.Count(body, "/access/end?id=") != 3 {
		t.Error(body)
	}
	a.sameAsMissing(session, "/access/end", "id", "c3")
	shows(t, a.open(session, "/access/end?id=c1"), 200, "accessend")
	leads(t, a.send(session, "/access/end", "id", "c1"), accountPath+"/access?done=true")
	shows(t, a.send(session, "/access/end", "id", "c1"), 404, "accountgone")
	leads(t, a.send(session, "/access/end", "id", "c4"), accountPath+"/access?done=true")
	for _, clientID := range []string{"c1", "c4"} {
		if c, err := a.store.Consent(t.Context(), "u1", clientID); err != nil || c.UserID != "" {
			t.Errorf("what u1 let %s know is still remembered: %v %v", clientID, c, err)
		}
	}
	for id, alive := range map[string]bool{"u1c1": false, "u1c2": true, "u2c3": true} {
		if _, err := a.store.Token(t.Context(), domain.KindAccess, secret.Hash(id)); (err == nil) != alive {
			t.Errorf("the token of %s: %v", id, err)
		}
	}
}

// says fails the test unless an element of a page has a text.
func says(t *testing.T, w *httptest.ResponseRecorder, id, key string) {
	t.Helper()
	if got := textOf(element(parse(t, w.Body.String()), "p", "id", id)); got != pageTexts(t, "en")[key] {
		t.Errorf("%s says %q, want %s", id, got, key)
	}
}

// People confirm their address with the code of a mail, have another mail sent, and change the address.
func TestEmailOfAnAccount(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session, mine := a.login("here"), &a.users.own
	mine.email = "ada@example.com"
	w := a.open(session, "/email")
	shows(t, w, 200, "email")
	if !strings.Contains(w.Body.String(), "ada@example.com") {
		t.Error(w.Body)
	}
	for code, key := range map[string]string{
		"WRONG222": "CODE_WRONG", "OVERDUE2": "expired.title", "LOCKED22": "locked.text", "": "CODE_REQUIRED",
		strings.Repeat("A", 65): "CODE_REQUIRED", "\x00": "CODE_REQUIRED",
	} {
		w := a.send(session, "/email", "code", code)
		shows(t, w, 400, "email")
		says(t, w, "code-fault", key)
	}
	shows(t, a.send(session, "/email", "code", "AWAY2222"), 503, "away")
	leads(t, a.send(session, "/email", "again", "true"), accountPath+"/email?resent=true")
	leads(t, a.send(session, "/email", "code", "GUTERKXD"), accountPath+"/email?done=true")
	leads(t, a.send(session, "/email", "again", "true"), accountPath+"/email?resent=true")
	if !mine.verified || mine.mails != 1 {
		t.Errorf("verified %v, %d mails", mine.verified, mine.mails)
	}
	if form := element(parse(t, a.open(session, "/email").Body.String()), "input", "id", "code"); form != nil {
		t.Error("a confirmed address asks for a code")
	}
	for _, typed := range []string{"nobody", "", `"><script>alert(1)</script>`, strings.Repeat("a", 1001) + "@x.test"} {
		w := a.send(session, "/email/change", "email", typed)
		shows(t, w, 400, "changeemail")
		says(t, w, "email-fault", "EMAIL_INVALID")
		if strings.Contains(w.Body.String(), "<script>") {
			t.Errorf("%q is not escaped", typed)
		}
	}
	leads(t, a.send(session, "/email/change", "email", "king@example.com"), accountPath+"/email?done=true")
	if mine.email != "king@example.com" || mine.verified {
		t.Errorf("the address is %q, verified %v", mine.email, mine.verified)
	}
	mine.mails = mostMails
	says(t, a.send(session, "/email", "again", "true"), "code-fault", "TOO_MANY_MAILS")
	says(t, a.send(session, "/email/change", "email", "queen@example.com"), "email-fault", "TOO_MANY_MAILS")
}

// A token is shown once, and ends when its person says so.
func TestTokensOfAnAccount(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session, mine := a.login("here"), &a.users.own
	empty := a.open(session, "/tokens")
	shows(t, empty, 200, "tokens")
	if !strings.Contains(empty.Body.String(), pageTexts(t, "en")["tokens.none"]) {
		t.Error("the page does not say that there is none")
	}
	form := a.open(session, "/tokens/new")
	shows(t, form, 200, "newtoken")
	until, _ := attribute(element(parse(t, form.Body.String()), "input", "id", "until"), "value")
	if day, err := time.Parse(time.DateOnly, until); err != nil || time.Until(day) < 88*24*time.Hour {
		t.Errorf("the form suggests %q", until)
	}
	for _, typed := range []string{"2020-01-01", "tomorrow", "2999-13-01", "\x00", strings.Repeat("1", 99)} {
		w := a.send(session, "/tokens/new", "until", typed)
		shows(t, w, 400, "newtoken")
		says(t, w, "until-fault", "newtoken.wrong")
	}
	if len(mine.tokens) != 0 {
		t.Fatal("there is a token")
	}
	for typed, want := range map[string]string{"2999-12-31": "3000-01-01", "": "9999-12-31"} {
		mine.tokens = nil
		w := a.send(session, "/tokens/new", "until", typed)
		shows(t, w, 200, "tokenmade")
		if got := textOf(element(parse(t, w.Body.String()), "code", "", "")); got != "hrld_pat_secret" {
			t.Errorf("the page shows %q", got)
		}
		named := element(parse(t, w.Body.String()), "p", "class", "whose")
		if got, want := textOf(named), pageTexts(t, "en")["tokenmade.id"]+" t1"; got != want {
			t.Errorf("the page says %q, want %q: the token is not found in the list", got, want)
		}
		if got := mine.tokens[0].ExpirationDate.AsTime().Format(time.DateOnly); got != want {
			t.Errorf("%q: the token is valid until %s", typed, got)
		}
	}
	if page := a.open(session, "/tokens").Body.String(); strings.Contains(page, "secret") ||
		!strings.Contains(page, "tokens/end?id=t1") {
		t.Error(page)
	}
	a.sameAsMissing(session, "/tokens/end", "id", "of-u2")
	shows(t, a.open(session, "/tokens/end?id=t1"), 200, "tokenend")
	if len(mine.tokens) != 1 {
		t.Error("opening the page ends the token")
	}
	leads(t, a.send(session, "/tokens/end", "id", "t1"), accountPath+"/tokens?done=true")
	if len(mine.tokens) != 0 {
		t.Error("the token is still there")
	}
}

func TestLinkedAccounts(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session, mine := a.login("here"), &a.users.own
	empty := a.open(session, "/idplinks").Body.String()
	if !strings.Contains(empty, pageTexts(t, "en")["idplinks.none"]) {
		t.Error("the page does not say that there is none")
	}
	hostile := `"><script>alert(1)</script>`
	mine.links = []*usersv1.UserIdpLink{{IdpId: "i1", ExternalUserId: hostile, DisplayName: hostile}, {IdpId: "i2",
		ExternalUserId: "x"}}
	page := a.open(session, "/idplinks")
	shows(t, page, 200, "idplinks")
	if strings.Contains(page.Body.String(), "<script>") {
		t.Error("names are not escaped")
	}
	a.sameAsMissing(session, "/idplinks/end", "id", "x") // without its provider
	w := call(t, a.pages, accountPath+"/idplinks/end?idp=i2&id=x", nil, "Cookie", session)
	shows(t, w, 200, "idplinkend")
	root := parse(t, w.Body.String())
	for name, value := range map[string]string{"idp": "i2", "id": "x"} {
		if got, _ := attribute(element(root, "input", "name", name), "value"); got != value {
			t.Errorf("the form keeps %q as %s", got, name)
		}
	}
	leads(t, a.send(session, "/idplinks/end", "idp", "i2", "id", "x"), accountPath+"/idplinks?done=true")
	if len(mine.links) != 1 || mine.links[0].IdpId != "i1" {
		t.Errorf("left is %v", mine.links)
	}
	mine.noPassword = true
	only := []string{"idp", "i1", "id", hostile}
	shows(t, a.send(session, "/idplinks/end", only...), 200, "nopassword")
	shows(t, a.open(session, "/idplinks/end?"+url.Values{"idp": {"i1"}, "id": {hostile}}.Encode()), 200, "nopassword")
	if len(mine.links) != 1 {
		t.Error("the only way in is gone")
	}
	mine.noPassword = false
	shows(t, a.open(session, "/idplinks/end?"+url.Values{"idp": {"i1"}, "id": {hostile}}.Encode()), 200, "idplinkend")
	shows(t, a.send(session, "/idplinks/end", "idp", "i2", "id", "x"), 404, "accountgone")
	a.ahead.Store(int64(time.Hour))
	leads(t, a.open(session, "/idplinks/end?idp=i1&id=x"), toLogin("/idplinks"))
}

// People set an authenticator app up, get other recovery codes and remove it. What is shown once is in one answer.
func TestSecondFactorOfAnAccount(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session, mine := a.login("here"), &a.users.own
	page := a.open(session, "/otp")
	shows(t, page, 200, "otp")
	if !strings.Contains(page.Body.String(), pageTexts(t, "en")["otp.none"]) ||
		!strings.Contains(page.Body.String(), accountPath+"/otp/add") {
		t.Error(page.Body)
	}
	shows(t, a.open(session, "/otp/add?lang=en"), 200, "enrol")
	shows(t, a.send(session, "/otp/codes"), 404, "accountgone")
	mine.codes = 3
	page = a.open(session, "/otp")
	if body := page.Body.String(); !strings.Contains(body, pageTexts(t, "en")["otp.codes"]+" 3") ||
		strings.Contains(body, "/otp/add") {
		t.Error(body)
	}
	shows(t, a.open(session, "/otp/codes"), 200, "otpcodes")
	shows(t, a.open(session, "/otp/end"), 200, "otpend")
	if mine.codes != 3 {
		t.Error("opening a page changes something")
	}
	w := a.send(session, "/otp/codes")
	shows(t, w, 200, "recovery")
	if !strings.Contains(w.Body.String(), "AAAA-BBBB") || mine.codes != 10 {
		t.Error(w.Body)
	}
	leads(t, a.send(session, "/otp/end"), accountPath+"/otp?done=true")
	if mine.codes != 0 {
		t.Error("the app is still there")
	}
}
