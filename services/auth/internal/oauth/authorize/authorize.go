// Package authorize is the authorization endpoint (RFC 6749 section 3.1, OpenID Connect Core section 3.1.2). It checks
// what a client asks for, sends the person to the login pages if the login of the browser is not enough, and gives the
// client a code. It checks the client and its redirect URI first, and redirects nobody before that.
package authorize

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/services/auth/internal/web/frame"
	"herald/shared/secret"
)

const (
	// Path is where the endpoint is.
	Path = "/oauth/v2/authorize"
	// maxQuery is how many bytes the parameters of a POST may have in the query of a GET.
	maxQuery = 8 << 10
)

// Sessions finds the logins of browsers.
type Sessions interface {
	// Session returns the login of the browser that sends a request. It reports false if there is none.
	Session(r *http.Request) (domain.Session, bool, error)
}

// Config is what the endpoint needs.
type Config struct {
	Store    store.Store
	Upstream *upstream.Services
	// Cached is Upstream with answers that are cached for at most 2 s; for pages only.
	Cached   *upstream.Services
	Keys     *signing.Keys
	Sessions Sessions
	Frame    *frame.Frame
	Issuer   string
	Now      func() time.Time
	Log      *slog.Logger
	Metrics  prometheus.Registerer
}

// Endpoint is the authorization endpoint.
type Endpoint struct {
	Config
	// waiting counts the requests of one address for which nobody has logged in, because each is stored for an hour.
	waiting *domain.Limit
	// count counts the answered requests by their result.
	count *prometheus.CounterVec
}

// waitingAMinute is how many requests of one address may be stored within a minute without a login. Many people may
// share an address.
const waitingAMinute = 300

// New returns the endpoint.
func New(c Config) *Endpoint {
	return &Endpoint{
		Config: c, waiting: domain.NewLimit(waitingAMinute, time.Minute, c.Now),
		count: protocol.Counter(c.Metrics, "herald_authorizations_total",
			"Answered requests of applications to log somebody in, by result.", "result"),
	}
}

// Mount answers the endpoint's path.
func (e *Endpoint) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET "+Path, e.get)
	mux.HandleFunc("POST "+Path, e.post)
	mux.HandleFunc("GET "+consentPath, e.askConsent)
	mux.HandleFunc("POST "+consentPath, e.takeConsent)
}

// Part returns what clients find by discovery.
func (e *Endpoint) Part() discovery.Part {
	return discovery.Part{
		Paths: map[string]string{"authorization_endpoint": Path},
		Lists: map[string][]string{
			"response_types_supported":         {"code"},
			"response_modes_supported":         {string(domain.ResponseQuery), string(domain.ResponseFormPost)},
			"code_challenge_methods_supported": {"S256"},
			"prompt_values_supported":          domain.Prompts(),
		},
		Flags: map[string]bool{"authorization_response_iss_parameter_supported": true},
	}
}

// post takes the parameters in a form (OpenID Connect Core section 3.1.2.1).
func (e *Endpoint) post(w http.ResponseWriter, r *http.Request) {
	if !frame.AsGet(w, r, maxQuery) {
		e.page(w, r, domain.ErrInvalidRequest.Say("the form cannot be read, is too large, or goes with a query"))
	}
}

func (e *Endpoint) get(w http.ResponseWriter, r *http.Request) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		e.page(w, r, domain.ErrInvalidRequest.Say("the query cannot be read").Because(err))
		return
	}
	asked := domain.Asked(values)
	clientID, uri, err := asked.Target()
	if err != nil {
		e.page(w, r, err)
		return
	}
	client, err := e.client(r.Context(), e.Upstream, clientID, uri)
	if err != nil {
		e.page(w, r, err)
		return
	}
	request, err := asked.Request(client, e.Now())
	if err == nil { // before a person is asked to log in for nothing
		err = e.Upstream.Admit(r.Context(), client.Project, new(client.Asks(request.Scopes, request.Targets...)))
	}
	if hint := values.Get("id_token_hint"); err == nil && hint != "" {
		request.UserID, _, err = protocol.Hint(e.Keys, e.Issuer, hint)
	}
	if err == nil {
		err = e.answer(w, r, client, request)
	}
	if err != nil {
		mode, state := asked.Return()
		e.fail(w, r, back{uri: uri, mode: mode, state: state}, err)
	}
}

// client returns the client of a request if it, its project and its organization are active and the address is one of
// its own. Otherwise it returns a refusal that says what to change. The registered addresses are only in the log.
func (e *Endpoint) client(ctx context.Context, o *upstream.Services, id, uri string) (domain.Client, error) {
	c, err := o.Application(ctx, id, upstream.Proof{})
	if errors.Is(err, upstream.ErrNoClient) {
		return c, domain.ErrInvalidRequest.Say("client_id: there is no such application")
	}
	if err != nil {
		return c, err
	}
	if !c.MayRedirect(uri) {
		e.Log.WarnContext(ctx, "an application sent a redirect_uri that is not registered for it", "client", c.ID,
			"org", c.OrgID, "project", c.Project.ID, "sent", protocol.Said(uri), "registered", c.RedirectURIs)
		return c, domain.ErrInvalidRequest.Say("redirect_uri is not one of those that are registered for this " +
			"application: they must be the same, character for character")
	}
	orgs, err := o.Orgs(ctx, c.OrgID)
	if err != nil {
		return c, err
	}
	if !c.Active || !orgs[c.OrgID].Active {
		return c, domain.ErrUnauthorizedClient.Say("the application, its project or its organization is not active")
	}
	return c, nil
}

// answer gives a code if the login of the browser is enough, and otherwise sends the person to the login pages. The
// error is for the client.
func (e *Endpoint) answer(w http.ResponseWriter, r *http.Request, c domain.Client, request domain.AuthRequest) error {
	session, there, err := e.Sessions.Session(r)
	if err != nil {
		return err
	}
	code, ask, refused := e.atOnce(r.Context(), c, request, session, there)
	if refused == nil && !ask {
		e.giveCode(w, r, answerTo(request), code)
		return nil
	}
	if request.Silent() || refused != nil && !askable(refused) {
		return refused
	}
	if wait := e.waiting.Take(r.RemoteAddr); wait > 0 {
		e.Frame.TooMany(w, r, wait)
		return nil
	}
	request.ID = secret.RandomString(requestID)
	if err := e.Store.AddAuthRequest(r.Context(), request); err != nil {
		return err
	}
	if refused == nil && !request.Asks() {
		toConsent(w, r, request.ID)
		return nil
	}
	login(w, r, request.ID)
	return nil
}

// atOnce returns a code if the login of the browser is enough and the person need not see a page. It reports whether
// the person must be asked.
func (e *Endpoint) atOnce(
	ctx context.Context, c domain.Client, request domain.AuthRequest, s domain.Session, there bool,
) (code secret.Text, ask bool, err error) {
	if err := e.fits(request, s, there); err != nil {
		return code, false, err
	}
	agree, err := e.consents().Needed(ctx, c, request, s)
	switch {
	case err != nil:
		return code, false, err
	case agree && request.Silent():
		return code, false, errMustAgree
	case agree || request.Asks():
		return code, true, nil
	}
	code, err = e.issue(ctx, c, request, s, false)
	if errors.Is(err, errMustAgree) && !request.Silent() {
		return code, true, nil
	}
	return code, false, err
}

// errMustAgree refuses a person who has to see the consent page.
var errMustAgree = domain.ErrConsentRequired.Say("the person has to agree")

// requestID is how many characters the id of a request has: at least 128 random bits.
const requestID = 22

// login sends the person to the login pages.
func login(w http.ResponseWriter, r *http.Request, id string) {
	http.Redirect(w, r, frame.Address(domain.LoginPath, "request", id), http.StatusSeeOther)
}

// askable reports whether the login pages can help: the person logs in, or chooses another account.
func askable(err error) bool {
	code := protocol.Refusal(err).Code
	return code == domain.ErrLoginRequired.Code || code == domain.ErrAccountSelectionRequired.Code
}

// fits refuses a login that is not enough for a request.
func (e *Endpoint) fits(request domain.AuthRequest, s domain.Session, there bool) error {
	if !there {
		return domain.ErrLoginRequired.Say("nobody is logged in")
	}
	if err := request.Admits(s); err != nil {
		return err
	}
	if !request.Satisfied(s, e.Now()) {
		return domain.ErrLoginRequired.Say("the login is too old")
	}
	return nil
}
