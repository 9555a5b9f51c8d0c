// Command authenticators logs people in as HashiCorp's Vault does, and lets them in as Kubernetes does, with the
// packages of these programs.
package main

import (
	"context"
	"fmt"
	"html"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/cap/jwt"
	vault "github.com/hashicorp/cap/oidc"
	"k8s.io/apiserver/pkg/apis/apiserver"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	kubernetes "k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	"sigs.k8s.io/yaml"
)

var (
	issuer, origin = os.Getenv("ISSUER"), os.Getenv("ORIGIN")
	clientID       = os.Getenv("CLIENT_ID")
)

// program has what Vault and Kubernetes make of their settings.
type program struct {
	login *vault.Provider
	// tokens checks access tokens, as the jwt method of Vault does.
	tokens *jwt.Validator
	// api checks id tokens, as the server of Kubernetes does.
	api authenticator.Token
	// asked is the request of the one login that the program makes.
	asked *vault.Req
}

func main() {
	log.SetFlags(0)
	p, err := newProgram(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/{$}", p.begin)
	http.HandleFunc("/callback", p.end)
	server := &http.Server{Addr: strings.TrimPrefix(origin, "http://"), ReadHeaderTimeout: time.Minute}
	fmt.Println("ready")
	log.Fatal(server.ListenAndServe())
}

func newProgram(ctx context.Context) (*program, error) {
	p := &program{}
	ca, err := os.ReadFile(os.Getenv("CA"))
	if err != nil {
		return p, err
	}
	config, err := vault.NewConfig(issuer, clientID, vault.ClientSecret(os.Getenv("CLIENT_SECRET")),
		[]vault.Alg{vault.RS256}, []string{origin + "/callback"}, vault.WithProviderCA(string(ca)))
	if err != nil {
		return p, err
	}
	if p.login, err = vault.NewProvider(config); err != nil {
		return p, err
	}
	keys, err := jwt.NewOIDCDiscoveryKeySet(ctx, issuer, string(ca))
	if err != nil {
		return p, err
	}
	if p.tokens, err = jwt.NewValidator(keys); err != nil {
		return p, err
	}
	roots, err := dynamiccertificates.NewStaticCAContent("herald", ca)
	if err != nil {
		return p, err
	}
	settings, err := authentication()
	if err != nil {
		return p, err
	}
	api, err := kubernetes.New(ctx, kubernetes.Options{
		JWTAuthenticator: settings, CAContentProvider: roots, SupportedSigningAlgs: []string{"RS256"},
	})
	p.api = api
	return p, err
}

// authentication returns the settings of Kubernetes in the file SETTINGS, in which variables are replaced.
func authentication() (settings apiserver.JWTAuthenticator, err error) {
	text, err := os.ReadFile(os.Getenv("SETTINGS"))
	if err != nil {
		return settings, err
	}
	var file apiserverv1.AuthenticationConfiguration
	if err := yaml.UnmarshalStrict([]byte(os.ExpandEnv(string(text))), &file); err != nil {
		return settings, err
	}
	return settings, apiserverv1.Convert_v1_JWTAuthenticator_To_apiserver_JWTAuthenticator(&file.JWT[0], &settings, nil)
}

func (p *program) begin(w http.ResponseWriter, r *http.Request) {
	verifier, err := vault.NewCodeVerifier()
	if err == nil {
		p.asked, err = vault.NewRequest(time.Minute, origin+"/callback", vault.WithPKCE(verifier),
			vault.WithScopes("profile", "email", "groups"))
	}
	address := ""
	if err == nil {
		address, err = p.login.AuthURL(r.Context(), p.asked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
}

func (p *program) end(w http.ResponseWriter, r *http.Request) {
	answer, err := p.enter(r)
	if err != nil {
		answer = "Refused: " + err.Error()
	}
	fmt.Fprintf(w, "<h1>%s</h1>", html.EscapeString(answer))
}

// enter returns what each of the three makes of the person who comes back.
func (p *program) enter(r *http.Request) (string, error) {
	ctx := r.Context()
	token, err := p.login.Exchange(ctx, p.asked, r.FormValue("state"), r.FormValue("code"))
	if err != nil {
		return "", err
	}
	var claims struct {
		Name   string
		Groups []string
	}
	if err := token.IDToken().Claims(&claims); err != nil {
		return "", err
	}
	checked, err := p.tokens.Validate(ctx, string(token.AccessToken()), jwt.Expected{
		Issuer: issuer, Audiences: []string{os.Getenv("PROJECT_ID")}, SigningAlgorithms: []jwt.Alg{jwt.RS256},
	})
	if err != nil {
		return "", err
	}
	reader, err := p.admit(ctx, string(token.IDToken()))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is %s: %v %v %v", claims.Name, reader[0], claims.Groups, checked["groups"], reader[1:]), nil
}

// admit waits for Kubernetes to read the keys and returns the person's name and groups there.
func (p *program) admit(ctx context.Context, idToken string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		response, ok, err := p.api.AuthenticateToken(ctx, idToken)
		if ok {
			return append([]string{response.User.GetName()}, response.User.GetGroups()...), nil
		}
		if err == nil || !strings.Contains(err.Error(), "not initialized") {
			return nil, fmt.Errorf("Kubernetes: %v, %w", ok, err)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
