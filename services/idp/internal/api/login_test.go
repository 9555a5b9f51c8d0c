package api_test

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/services/idp/internal/testworld"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// login is a world with a directory.
type login struct {
	*testworld.World
	at   *outside.Directory
	auth idpv1.IdpsClient
	log  *testkit.Lines
}

func newLogin(t *testing.T) login {
	t.Helper()
	d, log := outside.StartDirectory(t), &testkit.Lines{}
	c := testworld.Config
	c.Authority, c.OutboundPrivate = d.URL, true
	w := testworld.NewOn(t, testkit.Logged(t, testkit.Ground(t), slog.LevelInfo, log), c)
	return login{w, d, idpv1.NewIdpsClient(testkit.Calls(t, w.Ground, "auth")), log}
}

// provider creates an active provider whose client the directory knows.
func (l login) provider(more ...func(*idpv1.CreateDirectoryIdpRequest)) string {
	l.Helper()
	r := &idpv1.CreateDirectoryIdpRequest{
		Name: "Company", ClientId: outside.ClientID, ClientSecret: outside.ClientSecret,
	}
	for _, change := range more {
		change(r)
	}
	made, err := l.CreateDirectoryIdp(l.InA, r)
	if err != nil {
		l.Fatal(err)
	}
	l.Must(l.ReactivateIdp(l.InA, &idpv1.IdpRequest{Id: made.Id}))
	return made.Id
}

const verifier = "verifier-verifier-verifier-verifier-verifier"

func (l login) begin(orgID, id string) (*idpv1.BeginIdpLoginResponse, error) {
	return l.auth.BeginIdpLogin(l.Context(), &idpv1.BeginIdpLoginRequest{
		OrgId: orgID, IdpId: id, State: "s", Nonce: "n",
		CodeChallenge: base64.RawURLEncoding.EncodeToString(secret.Hash(verifier)),
	})
}

func (l login) finish(orgID, id, code string) (*idpv1.FinishIdpLoginResponse, error) {
	return l.auth.FinishIdpLogin(l.Context(), &idpv1.FinishIdpLoginRequest{OrgId: orgID, IdpId: id, Code: code,
		Nonce: "n", CodeVerifier: verifier})
}

// code returns a code of a login that begins now.
func (l login) code(id string) string {
	l.Helper()
	to, err := l.begin("org-a", id)
	if err != nil {
		l.Fatal(err)
	}
	u, err := url.Parse(to.Address)
	if err != nil {
		l.Fatal(err)
	}
	return l.at.Code(u.Query())
}

func TestLoginReturnsTheAccountOnce(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	id := l.provider(func(r *idpv1.CreateDirectoryIdpRequest) {
		r.EmailVerified, r.ProviderOptions = true, &idpv1.IdpProviderOptions{IsLinkingAllowed: true}
		r.Tenant = &idpv1.DirectoryTenant{TenantId: new(outside.Company)}
	})
	if to, err := l.begin("org-a", id); err != nil || to.IdpName != "Company" ||
		!strings.HasPrefix(to.Address, l.at.URL+"/authorize?") {
		t.Errorf("%v, %v", to, err)
	}
	code := l.code(id)
	got, err := l.finish("org-a", id, code)
	l.Must(got, err)
	if at := time.Unix(got.Account.AuthTime, 0); time.Since(at) > time.Minute {
		t.Errorf("the person authenticated %s", at)
	}
	testkit.Equal(t, got, &idpv1.FinishIdpLoginResponse{
		Account: &idpv1.ExternalAccount{
			TenantId: outside.Company, ExternalUserId: outside.Ada, UserName: "ada@company.example",
			AuthTime:    got.Account.AuthTime,
			DisplayName: "Ada Lovelace", FirstName: "Ada", LastName: "Lovelace", Email: "ada@company.example",
			EmailVerified: true,
		},
		IdpName: "Company", ProviderOptions: &idpv1.IdpProviderOptions{IsLinkingAllowed: true},
		OnlyTenant: outside.Company,
	})
	_, err = l.finish("org-a", id, code)
	refused(t, err, "IDP_CODE_REFUSED")
	if text := l.log.String(); !strings.Contains(text, `invalid_grant`) || strings.Contains(text, code) ||
		strings.Contains(text, "private text") || strings.Contains(text, "ada@") {
		t.Errorf("the log is %s", text)
	}
}

// Nobody logs in with a provider that is not active, or that is another organization's.
func TestLoginNeedsAnActiveProvider(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	id := l.provider()
	code := l.code(id)
	for _, where := range [][2]string{{"org-b", id}, {"org-a", "nowhere"}, {"", id}} {
		_, err := l.begin(where[0], where[1])
		refused(t, err, "IDP_NOT_FOUND")
		_, err = l.finish(where[0], where[1], code)
		refused(t, err, "IDP_NOT_FOUND")
	}
	l.Must(l.DeactivateIdp(l.InA, &idpv1.IdpRequest{Id: id}))
	_, err := l.begin("org-a", id)
	refused(t, err, "IDP_NOT_ACTIVE")
	_, err = l.finish("org-a", id, code)
	refused(t, err, "IDP_NOT_ACTIVE")
	if n := l.at.Asked(outside.Token); n != 0 {
		t.Errorf("the directory was asked for %d tokens", n)
	}
}

func TestFailedLoginReturnsTheReason(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	id := l.provider()
	l.at.LogIn(outside.Claims{"oid": nil})
	_, err := l.finish("org-a", id, l.code(id))
	refused(t, err, "IDP_TOKEN_INVALID")
	one := l.provider(func(r *idpv1.CreateDirectoryIdpRequest) {
		r.Tenant = &idpv1.DirectoryTenant{TenantId: new(outside.OtherCompany)}
	})
	l.at.Honest()
	_, err = l.finish("org-a", one, l.code(one))
	refused(t, err, "IDP_TENANT_REFUSED")
	l.at.Replace(outside.Token, http.NotFound)
	_, err = l.finish("org-a", id, l.code(id))
	refused(t, err, "IDP_AWAY")
}

// Whatever a directory answers, the log has at most 200 bytes of an error about it.
func TestLogHasLittleOfAnAnswer(t *testing.T) {
	t.Parallel()
	much := strings.Repeat("7", 200_000) + `}`
	for what, body := range map[string]string{
		outside.Token:    `{"access_token":"a","token_type":"Bearer","expires_in":` + much,
		outside.Metadata: `{"issuer":` + much,
		outside.Keys:     `{"keys":` + much,
	} {
		t.Run(what, func(t *testing.T) {
			l := newLogin(t)
			id := l.provider()
			code := ""
			if what != outside.Metadata {
				code = l.code(id)
			}
			l.at.Replace(what, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(body))
			})
			_, err := l.finish("org-a", id, code)
			refused(t, err, "IDP_AWAY")
			for line := range strings.Lines(l.log.String()) {
				if len(line) > 1000 || strings.Count(line, "7") > 300 {
					t.Errorf("%d bytes: %.300s", len(line), line)
				}
			}
		})
	}
}

func TestActiveProvidersOfAnOrganizationAreOffered(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	first, off := l.provider(), l.provider()
	l.Directory(l.InB, "Foreign")
	l.Must(l.DeactivateIdp(l.InA, &idpv1.IdpRequest{Id: off}))
	for orgID, want := range map[string]*idpv1.ListOfferedIdpsResponse{
		"org-a": {Idps: []*idpv1.OfferedIdp{{Id: first, Name: "Company"}}}, "org-c": {}, "": {},
	} {
		t.Run("in "+orgID, func(t *testing.T) {
			got, err := l.auth.ListOfferedIdps(t.Context(), &idpv1.ListOfferedIdpsRequest{OrgId: orgID})
			l.Must(got, err)
			testkit.Equal(t, got, want)
		})
	}
}

// Administrators find in the history of a provider why logins were refused, and how often. It does not change the
// provider. Whoever causes 300 in a minute causes two entries.
func TestHistoryHasRefusedLogins(t *testing.T) {
	t.Parallel()
	clock, g := testkit.ClockAt(time.Now().Truncate(time.Second)), testkit.Ground(t)
	g.Now = clock.Now
	w := testworld.NewOn(t, g, testworld.Config)
	id, auth := w.Directory(w.InA, "Company"), idpv1.NewIdpsClient(testkit.Calls(t, w.Ground, "auth"))
	before, began := w.Get(id), clock.Now()
	refuse := func(n int, reason string) {
		t.Helper()
		for range n {
			w.Must(auth.NoteRefusedLogin(t.Context(), &idpv1.NoteRefusedLoginRequest{OrgId: "org-a", IdpId: id,
				Reason: reason, TenantId: outside.OtherCompany, ExternalUserId: outside.Ada}))
		}
	}
	reported := func() (all []map[string]any) {
		t.Helper()
		got, err := w.SearchIdpChanges(w.As("org-a", "ORG_OWNER"), &idpv1.SearchIdpChangesRequest{Id: id})
		w.Must(got, err)
		for _, change := range got.Result {
			if change.EventType == "idp.login_refused" {
				all = append(all, change.Data.AsMap())
			}
		}
		return all
	}
	data := func(since time.Time, reasons ...any) map[string]any {
		var list []any
		total := 0.0
		for i := 0; i < len(reasons); i += 2 {
			list = append(list, map[string]any{"reason": reasons[i], "count": reasons[i+1]})
			total += reasons[i+1].(float64)
		}
		at := since.UTC().Format(time.RFC3339)
		return map[string]any{"reason": reasons[0], "count": total, "since": at, "reasons": list}
	}
	refuse(1, "IDP_TENANT_REFUSED")
	first := data(began, "IDP_TENANT_REFUSED", 1.0)
	if got := reported(); !reflect.DeepEqual(got, []map[string]any{first}) {
		t.Errorf("one is reported as %v, want %v", got, first)
	}
	clock.Advance(10 * time.Second)
	refuse(99, "IDP_TOKEN_INVALID")
	refuse(200, "IDP_LINK_NOT_FOUND")
	if got := reported(); len(got) != 1 {
		t.Errorf("in the same minute: %v", got)
	}
	clock.Advance(51 * time.Second)
	refuse(1, "IDP_TOKEN_INVALID")
	next := data(began.Add(10*time.Second), "IDP_LINK_NOT_FOUND", 200.0, "IDP_TOKEN_INVALID", 100.0)
	if got := reported(); !reflect.DeepEqual(got, []map[string]any{next, first}) {
		t.Errorf("300 are reported as %v, want %v", got, next)
	}
	w.InA = w.As("org-a", "ORG_OWNER") // the one from the beginning is too old
	testkit.Equal(t, w.Get(id), before)
	for _, where := range [][2]string{{"org-b", id}, {"org-a", "nowhere"}} {
		_, err := auth.NoteRefusedLogin(t.Context(), &idpv1.NoteRefusedLoginRequest{OrgId: where[0], IdpId: where[1],
			Reason: "IDP_TOKEN_INVALID"})
		refused(t, err, "IDP_NOT_FOUND")
	}
}
