package account_test

import (
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
)

// People see which applications have access to their account, and take it away from one of them.
func TestPeopleEndTheAccessOfAnApplication(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	if page := a.open(session, "/access").Body.String(); !strings.Contains(page, testworld.PageTexts(t,
		"en")["access.none"]) {
		t.Error("the page does not say that there is none")
	}
	give := func(userID, clientID string) {
		t.Helper()
		id := userID + clientID
		if err := a.Store.Issue(t.Context(), domain.Authorization{ID: id, ClientID: clientID, ProjectID: "p1",
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
		if err := a.Store.GiveConsent(t.Context(), domain.Consent{UserID: "u1", ClientID: clientID, OrgID: "o1"},
			&authv1.ConsentGiven{UserId: "u1", ClientId: clientID}); err != nil {
			t.Fatal(err)
		}
	}
	made := &heraldv1.ObjectDetails{CreationDate: timestamppb.New(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC))}
	a.Users.Set(func(u *testworld.Users) {
		u.Own.Tokens = []*usersv1.PersonalAccessToken{{Id: "made-by-c1", ClientId: "c1", Details: made},
			{Id: "made-by-c2", ClientId: "c2", Name: "Backup", Details: made}, {Id: "made-by-u1"}}
		u.Own.Codes, u.Own.FactorOf = 10, []string{"c2"}
	})
	page := a.open(session, "/access")
	testworld.Shows(t, page, 200, "access")
	texts := testworld.PageTexts(t, "en")
	for text, want := range map[string]int{"made-by-c1": 1, "Backup": 1, "made-by-u1": 0, "made-by-c2": 0,
		texts["access.token"]: 2, texts["access.otp"]: 1, texts["access.otpprepared"]: 0,
		"<span><bdi>Company o2</bdi></span>": 3, "made-by-c1</bdi> · 2": 1} {
		if got := strings.Count(page.Body.String(), text); got != want {
			t.Errorf("%d times %s: %s", got, text, page.Body)
		}
	}
	if body := page.Body.String(); strings.Contains(body, "<script>") || strings.Count(body, "/access/end?id=") != 3 {
		t.Error(body)
	}
	a.Users.Set(func(u *testworld.Users) { u.Own.Codes = 0 }) // the app was never confirmed
	if body := a.open(session, "/access").Body.String(); strings.Contains(body, texts["access.otp"]) ||
		!strings.Contains(body, texts["access.otpprepared"]) {
		t.Errorf("an app that is not in use: %s", body)
	}
	a.Users.Set(func(u *testworld.Users) { u.Own.Codes = 10 })
	a.sameAsMissing(session, "/access/end", "id", "c3")
	testworld.Shows(t, a.open(session, "/access/end?id=c1"), 200, "accessend")
	testworld.Leads(t, a.send(session, "/access/end", "id", "c1"), accountPath+"/access?done=true")
	testworld.Shows(t, a.send(session, "/access/end", "id", "c1"), 404, "accountgone")
	testworld.Leads(t, a.send(session, "/access/end", "id", "c4"), accountPath+"/access?done=true")
	for _, clientID := range []string{"c1", "c4"} {
		if c, err := a.Store.Consent(t.Context(), "u1", clientID); err != nil || c.UserID != "" {
			t.Errorf("what u1 let %s know is still remembered: %v %v", clientID, c, err)
		}
	}
	for id, alive := range map[string]bool{"u1c1": false, "u1c2": true, "u2c3": true} {
		if _, err := a.Store.Token(t.Context(), domain.KindAccess, secret.Hash(id)); (err == nil) != alive {
			t.Errorf("the token of %s: %v", id, err)
		}
	}
}

// says fails the test unless an element of a page has a text.
func says(t *testing.T, w *httptest.ResponseRecorder, id, key string) {
	t.Helper()
	if got := testworld.Page(t, w).Find("p", "id", id).Text(); got != testworld.PageTexts(t, "en")[key] {
		t.Errorf("%s says %q, want %s", id, got, key)
	}
}

// People confirm their address with the code of a mail, have another mail sent, and change the address.
func TestPeopleVerifyAndChangeTheirEmailAddress(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session, mine := a.Login("here"), &a.Users.Own
	mine.Email = "ada@example.com"
	w := a.open(session, "/email")
	testworld.Shows(t, w, 200, "email")
	if !strings.Contains(w.Body.String(), "ada@example.com") {
		t.Error(w.Body)
	}
	for code, key := range map[string]string{
		"WRONG222": "CODE_WRONG", "OVERDUE2": "expired.title", "LOCKED22": "locked.text", "": "CODE_REQUIRED",
		strings.Repeat("A", 65): "CODE_REQUIRED", "\x00": "CODE_REQUIRED",
	} {
		t.Run(strconv.Quote(code), func(t *testing.T) {
			w := a.send(session, "/email", "code", code)
			testworld.Shows(t, w, 400, "email")
			says(t, w, "code-fault", key)
		})
	}
	testworld.Shows(t, a.send(session, "/email", "code", "AWAY2222"), 503, "away")
	testworld.Leads(t, a.send(session, "/email", "again", "true"), accountPath+"/email?resent=true")
	testworld.Leads(t, a.send(session, "/email", "code", "GUTERKXD"), accountPath+"/email?done=true")
	testworld.Leads(t, a.send(session, "/email", "again", "true"), accountPath+"/email?resent=true")
	if !mine.Verified || mine.Mails != 1 {
		t.Errorf("verified %v, %d mails", mine.Verified, mine.Mails)
	}
	if testworld.Page(t, a.open(session, "/email")).Find("input", "id", "code").Exists() {
		t.Error("a confirmed address asks for a code")
	}
	for _, typed := range []string{"nobody", "", `"><script>alert(1)</script>`, strings.Repeat("a", 1001) + "@x.test"} {
		w := a.send(session, "/email/change", "email", typed)
		testworld.Shows(t, w, 400, "changeemail")
		says(t, w, "email-fault", "EMAIL_INVALID")
		if strings.Contains(w.Body.String(), "<script>") {
			t.Errorf("%q is not escaped", typed)
		}
	}
	testworld.Leads(t, a.send(session, "/email/change", "email", "king@example.com"), accountPath+"/email?done=true")
	if mine.Email != "ada@example.com" || mine.Pending != "king@example.com" {
		t.Errorf("the address is %q, %q is pending", mine.Email, mine.Pending)
	}
	if body := a.open(session, "/email").Body.String(); !strings.Contains(body, "ada@example.com") ||
		!strings.Contains(body, "king@example.com") || !strings.Contains(body, "/email/cancel") {
		t.Errorf("the page lacks an address or the way back: %s", body)
	}
	testworld.Leads(t, a.send(session, "/email/cancel"), accountPath+"/email?done=true")
	if body := a.open(session, "/email").Body.String(); mine.Pending != "" || strings.Contains(body, "/email/cancel") {
		t.Errorf("%q is still pending: %s", mine.Pending, body)
	}
	testworld.Leads(t, a.send(session, "/email/cancel"), accountPath+"/email?done=true") // nothing is pending
	testworld.Leads(t, a.send(session, "/email/change", "email", "king@example.com"), accountPath+"/email?done=true")
	mine.Mails = testworld.MostMails
	says(t, a.send(session, "/email", "again", "true"), "code-fault", "TOO_MANY_MAILS")
	says(t, a.send(session, "/email/change", "email", "queen@example.com"), "email-fault", "TOO_MANY_MAILS")
}

// A token is shown once, and ends when its person removes it.
func TestTokenIsShownOnceAndCanBeRemoved(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session, mine := a.Login("here"), &a.Users.Own
	empty := a.open(session, "/tokens")
	testworld.Shows(t, empty, 200, "tokens")
	if !strings.Contains(empty.Body.String(), testworld.PageTexts(t, "en")["tokens.none"]) {
		t.Error("the page does not say that there is none")
	}
	form := a.open(session, "/tokens/new")
	testworld.Shows(t, form, 200, "newtoken")
	until := testworld.Page(t, form).Find("input", "id", "until").Attr("value")
	if day, err := time.Parse(time.DateOnly, until); err != nil || time.Until(day) < 88*24*time.Hour {
		t.Errorf("the form suggests %q", until)
	}
	for _, typed := range []string{"2020-01-01", "tomorrow", "2999-13-01", "\x00", strings.Repeat("1", 99)} {
		w := a.send(session, "/tokens/new", "until", typed)
		testworld.Shows(t, w, 400, "newtoken")
		says(t, w, "until-fault", "newtoken.wrong")
	}
	if len(mine.Tokens) != 0 {
		t.Fatal("there is a token")
	}
	for typed, want := range map[string]string{"2999-12-31": "3000-01-01", "": "9999-12-31"} {
		mine.Tokens = nil
		w := a.send(session, "/tokens/new", "until", typed)
		testworld.Shows(t, w, 200, "tokenmade")
		if got := testworld.Page(t, w).Find("code").Text(); got != "hrld_pat_secret" {
			t.Errorf("the page shows %q", got)
		}
		named := testworld.Page(t, w).Find("p", "class", "whose")
		if got, want := named.Text(), testworld.PageTexts(t, "en")["tokenmade.id"]+" t1"; got != want {
			t.Errorf("the page says %q, want %q: the token is not found in the list", got, want)
		}
		if got := mine.Tokens[0].ExpirationDate.AsTime().Format(time.DateOnly); got != want {
			t.Errorf("%q: the token is valid until %s", typed, got)
		}
	}
	made := a.send(session, "/tokens/new", "until", "", "name", " Backup of my <b>files ")
	if got := testworld.Page(t, made).Find("p", "class", "whose").Text(); got != testworld.PageTexts(t,
		"en")["tokenmade.id"]+" Backup of my <b>files" {
		t.Errorf("the page says %q", got)
	}
	mine.Tokens = mine.Tokens[1:]
	root := testworld.Page(t, a.open(session, "/tokens"))
	if got := root.Find("strong").Text(); strings.TrimSpace(got) != "Backup of my <b>files" {
		t.Errorf("the list calls the token %q", got)
	}
	for _, used := range []*timestamppb.Timestamp{nil, timestamppb.New(time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC))} {
		mine.Tokens[0].LastUsedDate = used
		body, texts := a.open(session, "/tokens").Body.String(), testworld.PageTexts(t, "en")
		if strings.Contains(body, texts["tokens.unused"]) != (used == nil) ||
			strings.Contains(body, texts["tokens.used"]+" 2\u00a0November") != (used != nil) {
			t.Errorf("used at %v: %s", used, body)
		}
	}
	if page := a.open(session, "/tokens").Body.String(); strings.Contains(page, "secret") ||
		!strings.Contains(page, "tokens/end?id=t1") {
		t.Error(page)
	}
	a.sameAsMissing(session, "/tokens/end", "id", "of-u2")
	testworld.Shows(t, a.open(session, "/tokens/end?id=t1"), 200, "tokenend")
	if len(mine.Tokens) != 1 {
		t.Error("opening the page ends the token")
	}
	testworld.Leads(t, a.send(session, "/tokens/end", "id", "t1"), accountPath+"/tokens?done=true")
	if len(mine.Tokens) != 0 {
		t.Error("the token is still there")
	}
}

// A used-up quota is not Herald's fault, and the page says so.
func TestUsedUpQuotaHasAPage(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	a.Users.Own.Tokens = make([]*usersv1.PersonalAccessToken, testworld.MostTokens)
	testworld.Shows(t, a.send(session, "/tokens/new", "until", "2999-12-31"), 400, "toomany")
}

func TestPeopleUnlinkAccountsExceptTheOnlyWayToLogIn(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session, mine := a.Login("here"), &a.Users.Own
	empty := a.open(session, "/idplinks").Body.String()
	if !strings.Contains(empty, testworld.PageTexts(t, "en")["idplinks.none"]) {
		t.Error("the page does not say that there is none")
	}
	hostile := `"><script>alert(1)</script>`
	mine.Links = []*usersv1.UserIdpLink{{IdpId: "i1", ExternalUserId: hostile, DisplayName: hostile}, {IdpId: "i2",
		ExternalUserId: "x"}}
	page := a.open(session, "/idplinks")
	testworld.Shows(t, page, 200, "idplinks")
	if strings.Contains(page.Body.String(), "<script>") {
		t.Error("names are not escaped")
	}
	titles := testworld.Page(t, page).All("strong")
	if got := strings.Count(page.Body.String(), "x</bdi>"); len(titles) != 2 || got != 1 {
		t.Errorf("an account is named %d times: %s", got, page.Body)
	}
	a.sameAsMissing(session, "/idplinks/end", "id", "x") // without its provider
	w := testworld.Call(t, a.Pages, accountPath+"/idplinks/end?idp=i2&id=x", nil, "Cookie", session)
	testworld.Shows(t, w, 200, "idplinkend")
	root := testworld.Page(t, w)
	for name, value := range map[string]string{"idp": "i2", "id": "x"} {
		if got := root.Find("input", "name", name).Attr("value"); got != value {
			t.Errorf("the form keeps %q as %s", got, name)
		}
	}
	testworld.Leads(t, a.send(session, "/idplinks/end", "idp", "i2", "id", "x"), accountPath+"/idplinks?done=true")
	if len(mine.Links) != 1 || mine.Links[0].IdpId != "i1" {
		t.Errorf("left is %v", mine.Links)
	}
	mine.NoPassword = true
	only := []string{"idp", "i1", "id", hostile}
	testworld.Shows(t, a.send(session, "/idplinks/end", only...), 200, "nopassword")
	testworld.Shows(t, a.open(session, "/idplinks/end?"+url.Values{"idp": {"i1"}, "id": {hostile}}.Encode()), 200,
		"nopassword")
	if len(mine.Links) != 1 {
		t.Error("the only way in is gone")
	}
	mine.NoPassword = false
	testworld.Shows(t, a.open(session, "/idplinks/end?"+url.Values{"idp": {"i1"}, "id": {hostile}}.Encode()), 200,
		"idplinkend")
	testworld.Shows(t, a.send(session, "/idplinks/end", "idp", "i2", "id", "x"), 404, "accountgone")
	a.Advance(time.Hour)
	testworld.Leads(t, a.open(session, "/idplinks/end?idp=i1&id=x"), testworld.ToLogin("/idplinks"))
}

// People set an authenticator app up, get other recovery codes and remove it. What is shown once is in one answer.
func TestPeopleManageTheirAuthenticatorApp(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session, mine := a.Login("here"), &a.Users.Own
	page := a.open(session, "/otp")
	testworld.Shows(t, page, 200, "otp")
	if !strings.Contains(page.Body.String(), testworld.PageTexts(t, "en")["otp.none"]) ||
		!strings.Contains(page.Body.String(), accountPath+"/otp/add") {
		t.Error(page.Body)
	}
	testworld.Shows(t, a.open(session, "/otp/add?lang=en"), 200, "enrol")
	testworld.Shows(t, a.send(session, "/otp/codes"), 404, "accountgone")
	mine.Codes = 3
	page = a.open(session, "/otp")
	if body := page.Body.String(); !strings.Contains(body, testworld.PageTexts(t, "en")["otp.codes"]+" 3") ||
		strings.Contains(body, "/otp/add") {
		t.Error(body)
	}
	testworld.Shows(t, a.open(session, "/otp/codes"), 200, "otpcodes")
	testworld.Shows(t, a.open(session, "/otp/end"), 200, "otpend")
	if mine.Codes != 3 {
		t.Error("opening a page changes something")
	}
	w := a.send(session, "/otp/codes")
	testworld.Shows(t, w, 200, "recovery")
	if !strings.Contains(w.Body.String(), "AAAA-BBBB") || mine.Codes != 10 {
		t.Error(w.Body)
	}
	testworld.Leads(t, a.send(session, "/otp/end"), accountPath+"/otp?done=true")
	if mine.Codes != 0 {
		t.Error("the app is still there")
	}
}
