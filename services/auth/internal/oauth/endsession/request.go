package endsession

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/upstream"
)

// logout is a checked request.
type logout struct {
	client domain.Client
	// userID is the subject of the id token; empty without one.
	userID string
	// uri is where the person goes afterwards, with state. It is empty if the person stays on the page.
	uri, state string
	languages  []string
}

// checkParameters refuses parameters that are sent twice or are not plain text.
func checkParameters(values url.Values) error {
	for _, name := range []string{
		"id_token_hint", "logout_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales",
	} {
		if len(values[name]) > 1 {
			return domain.ErrInvalidRequest.Say(name + " is there more than once")
		}
		if !domain.Plain(values.Get(name)) {
			return domain.ErrInvalidRequest.Say(name + " must be text in UTF-8 without control characters")
		}
	}
	return nil
}

// check checks the parameters of section 2. Where the person goes afterwards must be registered for the client,
// character for character (section 3). A logout_hint changes nothing: a browser has one session.
func (e Endpoint) check(ctx context.Context, values url.Values) (logout, error) {
	if err := checkParameters(values); err != nil {
		return logout{}, err
	}
	asked := logout{uri: values.Get("post_logout_redirect_uri"), state: values.Get("state"),
		languages: strings.Fields(values.Get("ui_locales"))}
	clientID := values.Get("client_id")
	if hint := values.Get("id_token_hint"); hint != "" {
		userID, audience, err := protocol.Hint(e.Keys, e.Issuer, hint)
		if err != nil {
			return logout{}, err
		}
		if asked.userID = userID; clientID == "" && len(audience) > 0 {
			clientID = audience[0]
		}
		if !slices.Contains(audience, clientID) {
			return logout{}, domain.ErrInvalidRequest.Say("client_id is not that of id_token_hint")
		}
	}
	if clientID == "" {
		if asked.uri != "" {
			return logout{}, domain.ErrInvalidRequest.Say("post_logout_redirect_uri needs client_id or id_token_hint")
		}
		return asked, nil
	}
	var err error
	asked.client, err = e.Upstream.Application(ctx, clientID, upstream.Proof{})
	switch {
	case errors.Is(err, upstream.ErrNoClient):
		return logout{}, domain.ErrInvalidRequest.Say("client_id: there is no such application")
	case err != nil:
		return logout{}, err
	case asked.uri != "" && !(asked.client.Active && slices.Contains(asked.client.PostLogoutRedirectURIs, asked.uri)):
		e.Log.WarnContext(ctx, "an application sent a post_logout_redirect_uri that is not registered for it, or is "+
			"not active", "client", clientID, "sent", protocol.Said(asked.uri),
			"registered", asked.client.PostLogoutRedirectURIs)
		return logout{}, domain.ErrInvalidRequest.Say("post_logout_redirect_uri is not one of those that are " +
			"registered for this application, or the application is not active")
	}
	return asked, nil
}
