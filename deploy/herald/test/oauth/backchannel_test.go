package oauth_test

import (
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	// hears lets an application hear of logouts.
	hears = `,"backChannelLogoutUri":"HOST/ended"`
	// nearby lets Herald tell applications on the own machine.
	nearby = "HERALD_OUTBOUND_PRIVATE=true"
)

// ended returns the logout of which an application hears, as coreos/go-oidc reads it.
func (a *application) ended() *oidc.LogoutToken {
	a.TB.Helper()
	provider, err := oidc.NewProvider(a.Context(), a.URL)
	if err != nil {
		a.Fatal(err)
	}
	select {
	case token := <-a.ends:
		read, err := provider.Verifier(&oidc.Config{ClientID: a.clientID}).VerifyLogout(a.Context(), token)
		if err != nil {
			a.Fatalf("%v: %s", err, token)
		}
		return read
	case <-time.After(time.Minute):
		a.Fatal("the application hears of no logout")
		return nil
	}
}

// sessionOf returns the claim sid of an id token.
func (a *application) sessionOf(tokens answer) string {
	a.TB.Helper()
	return a.claimsOf(tokens)["sid"].(string)
}

// claimsOf returns the claims of an id token, as coreos/go-oidc reads it.
func (a *application) claimsOf(tokens answer) (c map[string]any) {
	a.TB.Helper()
	provider, err := oidc.NewProvider(a.Context(), a.URL)
	if err != nil {
		a.Fatal(err)
	}
	read, err := provider.Verifier(&oidc.Config{ClientID: a.clientID}).Verify(a.Context(), tokens.text("id_token"))
	if err == nil {
		err = read.Claims(&c)
	}
	if err != nil {
		a.Fatal(err)
	}
	return c
}

// However a person's session ends, each application that the person logged in to gets a logout token, and no other
// application.
func TestApplicationsHearOfLogouts(t *testing.T) {
	t.Parallel()
	w := start(t, nearby)
	shop, bank, deaf := w.application("Shop", hears), w.application("Bank", hears), w.application("Deaf")
	w.Must("POST", "/management/v1/users/human/_import", person("other", ""))
	for name, end := range map[string]func(v *visitor, userID string, tokens answer){
		"logout page": func(v *visitor, _ string, _ answer) {
			v.named(v.submit(v.visit(v.URL+"/ui/login/")), "You are signed out")
		},
		"end_session": func(v *visitor, _ string, tokens answer) {
			v.named(v.visit(shop.end("id_token_hint", tokens.text("id_token"))), "Welcome")
		},
		"from elsewhere": func(v *visitor, userID string, tokens answer) {
			other := v.world.visitor()
			p := other.enter(other.visit(deaf.request("scope", apiScope)), userID)
			other.named(other.submit(p), "Welcome") // after the question whether the application may act in Herald
			if a := v.end(deaf.token(), shop.sessionOf(tokens)); a.Status != http.StatusOK {
				t.Fatal(a.Status, a.Body)
			}
		},
		"administrator": func(v *visitor, userID string, tokens answer) {
			v.Must("DELETE", "/management/v1/users/"+userID+"/sessions/"+shop.sessionOf(tokens), "")
		},
		"administrator of all": func(v *visitor, userID string, _ answer) {
			v.Must("DELETE", "/management/v1/users/"+userID+"/sessions", "")
		},
		"login of somebody else": func(v *visitor, _ string, _ answer) {
			v.named(v.enter(v.visit(deaf.request("prompt", "login")), "other"), "Welcome")
			deaf.redeem()
		},
		"password": func(v *visitor, userID string, _ answer) {
			v.Must("POST", "/management/v1/users/"+userID+"/password", `{"password":"another horse"}`)
		},
		"lock": func(v *visitor, userID string, _ answer) {
			v.Must("POST", "/management/v1/users/"+userID+"/_lock", `{}`)
		},
		"deactivation": func(v *visitor, userID string, _ answer) {
			v.Must("POST", "/management/v1/users/"+userID+"/_deactivate", `{}`)
		},
		"removal": func(v *visitor, userID string, _ answer) { v.Must("DELETE", "/management/v1/users/"+userID, "") },
	} {
		userID := strings.ReplaceAll(name, " ", "-")
		w.Must("POST", "/management/v1/users/human/_import", person(userID, ""))
		v := w.visitor()
		tokens := v.login(shop, userID)
		v.named(v.visit(bank.request()), "Welcome")
		bank.redeem()
		v.named(v.visit(deaf.request()), "Welcome")
		deaf.redeem()
		end(v, userID, tokens)
		for _, a := range []*application{shop, bank} {
			got := a.ended()
			if got.Subject != userID || got.SessionID != shop.sessionOf(tokens) || got.Issuer != w.URL {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	if len(shop.ends)+len(bank.ends)+len(deaf.ends) != 0 {
		t.Errorf("there are %d, %d and %d more logouts", len(shop.ends), len(bank.ends), len(deaf.ends))
	}
}

// An organization that is deactivated ends the sessions of its people, and applications of others hear of it.
func TestOrganizationsEndSessions(t *testing.T) {
	t.Parallel()
	w := start(t, nearby)
	shop := w.application("Shop", hears)
	home := w.Org
	w.Org = w.Must("POST", "/management/v1/orgs", `{"name":"Guests"}`)["id"].(string)
	w.Must("POST", "/management/v1/users/human/_import", person("guest", ""))
	v := w.visitor()
	asked := v.enter(v.visit(shop.request()), "guest")
	v.named(asked, "Share your data?") // once, because the shop belongs to another organization
	v.named(v.submit(asked), "Welcome")
	shop.redeem()
	w.Must("POST", "/management/v1/orgs/me/_deactivate", `{}`)
	if got := shop.ended(); got.Subject != "guest" {
		t.Errorf("%+v", got)
	}
	w.Must("POST", "/management/v1/orgs/me/_reactivate", `{}`)
	v.login(shop, "guest")
	w.Must("DELETE", "/management/v1/orgs/me", "")
	if got := shop.ended(); got.Subject != "guest" {
		t.Errorf("%+v", got)
	}
	w.Org = home
}

// A process that is killed after a logout, before it told an application, tells it after the restart.
func TestLogoutsSurviveAKill(t *testing.T) {
	t.Parallel()
	w := start(t, nearby)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	asked := make(chan struct{})
	shop := w.application("Shop", hears)
	var once sync.Once
	shop.away = func() (first bool) {
		once.Do(func() {
			close(asked)
			first = true
		})
		return first
	}
	v := w.visitor()
	tokens := v.login(shop, "ada")
	v.named(v.visit(shop.end("id_token_hint", tokens.text("id_token"))), "Welcome")
	<-asked // the application is away, and the logout waits for the next try
	w.Stop(syscall.SIGKILL)
	w.Start()
	if got := shop.ended(); got.SessionID == "" || got.Subject != "ada" {
		t.Errorf("%+v", got)
	}
}
