package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"

	"herald/shared/fault"
	"herald/shared/secret"
)

const sessionHelp = `Log in to an instance as a person: open the printed address in any browser and enter the code
(RFC 8628). Calls to that instance then need no other token. The login is kept in a file that only you can read,
in the folder "herald" of your user's configuration. It ends with "herald logout", 30 days after the last call, or
when you sign the application out on the page of your account.

The instance needs an application for the command line. --client-id is needed for the first login only.`

// session is the login of a person at an instance.
type session struct {
	ClientID string        `json:"clientId"`
	Token    *oauth2.Token `json:"token"`
}

// sessionFile returns the file with the login at an instance.
func sessionFile(instance string) (string, error) {
	folder, err := os.UserConfigDir()
	return filepath.Join(folder, "herald", url.QueryEscape(instance)+".json"), err
}

// readSession returns the login at an instance, or an empty one.
func readSession(instance string) (s session, err error) {
	file, err := sessionFile(instance)
	if err != nil { // a container has no home
		return session{}, nil //nolint:nilerr // nobody has logged in
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return session{}, nil
	}
	if err == nil && json.Unmarshal(text, &s) != nil {
		err = fmt.Errorf("%s is not what `herald login` wrote: remove it and log in again", file)
	}
	return s, err
}

func (s session) write(instance string) error {
	file, err := sessionFile(instance)
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return secret.ReplaceFile(file, string(text)+"\n", 0o600)
}

// config returns what the library needs to log in at an instance.
func (s session) config(at *metadata) oauth2.Config {
	return oauth2.Config{
		ClientID: s.ClientID,
		Scopes:   append(strings.Fields(apiScope), "offline_access"),
		Endpoint: oauth2.Endpoint{
			TokenURL: at.Token, DeviceAuthURL: at.Device, AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

// valid returns the access token. One that has ended is renewed.
func (s session) valid(ctx context.Context, client *http.Client, instance string) (secret.Text, error) {
	if s.Token.Valid() {
		return secret.NewText(s.Token.AccessToken), nil
	}
	at, err := discover(ctx, client, instance)
	if err != nil {
		return secret.Text{}, err
	}
	c := s.config(at)
	ended := "the login at " + instance + " has ended: log in again with `herald login`"
	if s.Token, err = c.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client), s.Token).Token(); err != nil {
		return secret.Text{}, notGiven(ended, err)
	}
	return secret.NewText(s.Token.AccessToken), s.write(instance)
}

// notGiven returns the error for a token that was not given. A refusal is said in the given words.
func notGiven(refused string, err error) error {
	r, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok: // not wrapped: an interrupted login must not exit as a successful one
		return errors.New(line(err.Error()))
	case r.Response.StatusCode >= http.StatusInternalServerError:
		return &refusal{fault.ErrUnavailable, r.Response.Header.Get("X-Request-Id")}
	case r.ErrorDescription != "":
		refused += ": " + r.ErrorDescription
	default:
		refused += ": " + r.ErrorCode
	}
	return &refusal{fault.ErrUnauthenticated.Say("%s", refused), r.Response.Header.Get("X-Request-Id")}
}

func login() *cobra.Command {
	var (
		f        callFlags
		clientID string
	)
	c := &cobra.Command{
		Use:   "login",
		Short: "Log in as a person, in a browser",
		Long:  sessionHelp,
		Example: `  herald login --url https://id.example.com --client-id CLIENT
  # the application, which an administrator makes once, in a project
  herald call Apps.CreateOidcApp --json '{"projectId":"PROJECT","name":"Command line",
    "appType":"OIDC_APP_TYPE_NATIVE","authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE",
    "grantTypes":["OIDC_GRANT_TYPE_DEVICE_CODE","OIDC_GRANT_TYPE_REFRESH_TOKEN"]}' -o id --columns clientId`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, address, err := f.settings()
			if err != nil {
				return err
			}
			s, err := readSession(address)
			if err != nil {
				return err
			}
			if clientID != "" {
				s.ClientID = clientID
			}
			if s.ClientID == "" {
				return errors.New("--client-id is needed for the first login: the client id of an application for " +
					"the command line; `herald login --help` says how to make one")
			}
			return s.begin(c.Context(), client(), address, c.OutOrStdout())
		},
	}
	f.atInstance(c.Flags())
	c.Flags().StringVar(&clientID, "client-id", "", "client id of the application for the command line; if empty, "+
		"that of the last login")
	return c
}

// begin shows a code, waits until a person has entered it, and keeps the login.
func (s session) begin(ctx context.Context, client *http.Client, instance string, out io.Writer) error {
	at, err := discover(ctx, client, instance)
	if err != nil {
		return err
	}
	if at.Device == "" {
		return fmt.Errorf("%s has no endpoint for devices", instance)
	}
	c := s.config(at)
	through := context.WithValue(ctx, oauth2.HTTPClient, client)
	device, err := c.DeviceAuth(through)
	if err != nil {
		return notGiven("the login was refused", err)
	}
	fmt.Fprintf(out, "Open %s and enter the code %s\n", line(device.VerificationURI), line(device.UserCode))
	if s.Token, err = c.DeviceAccessToken(through, device); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return errors.New("nobody has entered the code in time: log in again")
		}
		return notGiven("the login was refused", err)
	}
	if err := s.write(instance); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "You are logged in.")
	return err
}

func logout() *cobra.Command {
	var f callFlags
	c := &cobra.Command{
		Use:     "logout",
		Example: "  herald logout --url https://id.example.com",
		Short:   "End the login of `herald login`",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, address, err := f.settings()
			if err != nil {
				return err
			}
			s, err := readSession(address)
			if err != nil {
				return err
			}
			if s.Token == nil {
				return fmt.Errorf("nobody is logged in at %s", address)
			}
			if err := s.revoke(c.Context(), client(), address); err != nil {
				return err
			}
			file, err := sessionFile(address)
			if err != nil {
				return err
			}
			return os.Remove(file)
		},
	}
	f.atInstance(c.Flags())
	return c
}

// revoke ends all tokens of the login at the instance (RFC 7009). They end with the refresh token, if there is one.
func (s session) revoke(ctx context.Context, client *http.Client, instance string) error {
	at, err := discover(ctx, client, instance)
	if err != nil {
		return err
	}
	if at.Revocation == "" {
		return fmt.Errorf("%s has no endpoint that ends tokens", instance)
	}
	token := s.Token.RefreshToken
	if token == "" {
		token = s.Token.AccessToken
	}
	form := url.Values{"token": {token}, "client_id": {s.ClientID}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w, err := client.Do(r)
	if err != nil {
		return errors.New(line(err.Error()))
	}
	defer w.Body.Close()
	// An application that was removed has no tokens any more.
	if w.StatusCode != http.StatusOK && w.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("%s answered %s; you are still logged in", at.Revocation, w.Status)
	}
	return nil
}
