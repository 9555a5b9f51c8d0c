package authorize

import (
	"context"
	"errors"
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/upstream"
)

// Request returns a request that waits for a person, with its client, for the login pages. It returns
// domain.ErrRequestGone if it has expired or was answered, and a domain.Refusal if its client may not log anybody in
// any more.
func (e *Endpoint) Request(ctx context.Context, id string) (domain.AuthRequest, domain.Client, error) {
	return e.request(ctx, e.Cached, id)
}

func (e *Endpoint) request(
	ctx context.Context, o *upstream.Services, id string,
) (domain.AuthRequest, domain.Client, error) {
	request, err := e.Store.AuthRequest(ctx, id)
	if err != nil {
		return domain.AuthRequest{}, domain.Client{}, err
	}
	client, err := e.client(ctx, o, request.ClientID, request.RedirectURI)
	return request, client, err
}

// Finish answers the client of a request after a person has logged in. The request can be used only once. If the login
// is not enough, the person is sent to the login pages again. If this answers the form of a page, the page needs
// frame.PostTo with the redirect URI of the request, in case the client is a program on the person's device.
func (e *Endpoint) Finish(ctx context.Context, w http.ResponseWriter, r *http.Request, id string, s domain.Session) {
	r = r.WithContext(ctx)
	request, client, err := e.request(ctx, e.Upstream, id)
	if err != nil {
		e.page(w, r, err)
		return
	}
	if !client.MayUse(domain.GrantCode) {
		e.page(w, r, domain.ErrUnauthorizedClient.Say("the client may not use the grant authorization_code"))
		return
	}
	if !request.Satisfied(s, e.Now()) {
		login(w, r, id)
		return
	}
	agree, err := e.consents().Needed(ctx, client, request, s)
	if err != nil {
		e.page(w, r, err)
		return
	}
	if agree {
		toConsent(w, r, id)
		return
	}
	e.conclude(w, r, request, client, s, false)
}

// conclude answers the client of a request with a code. agreed reports whether the person was asked.
func (e *Endpoint) conclude(
	w http.ResponseWriter, r *http.Request, request domain.AuthRequest, client domain.Client, s domain.Session,
	agreed bool,
) {
	err := request.Admits(s)
	if err == nil {
		code, failed := e.issue(r.Context(), client, request, s, agreed)
		if failed == nil {
			e.waiting.Return(r.RemoteAddr)
			e.giveCode(w, r, answerTo(request), code)
			return
		}
		err = failed
		if errors.Is(err, errMustAgree) {
			toConsent(w, r, request.ID)
			return
		}
		if protocol.Refusal(err).Code == domain.ErrLoginRequired.Code { // the person is not active any more
			login(w, r, request.ID)
			return
		}
	}
	e.giveError(w, r, request, err)
}

// giveError answers the client of a stored request with an error. After a temporary error the request stays, so that
// the person can try again.
func (e *Endpoint) giveError(w http.ResponseWriter, r *http.Request, request domain.AuthRequest, err error) {
	if errors.Is(err, domain.ErrRequestGone) || protocol.Refusal(err).Code == domain.ErrUnavailable.Code {
		e.page(w, r, err)
		return
	}
	if ended := e.Store.EndAuthRequest(r.Context(), request.ID); ended != nil {
		e.page(w, r, ended)
		return
	}
	e.fail(w, r, answerTo(request), err)
}
