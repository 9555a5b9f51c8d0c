// Package login serves the pages on which people log in: the login name with the password, a second factor, another
// password if the old one must be changed, and the choice of an account. Opening a page changes nothing. The pages do
// not show whether a user exists. They show more only after the right password.
package login

import (
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/upstream"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/login/federated"
	"herald/services/auth/internal/web/login/totp"
	"herald/services/auth/internal/web/maillink"
	"herald/services/auth/internal/web/onbehalf"
	"herald/services/auth/internal/web/session"
	usersv1 "herald/shared/gen/herald/users/v1"
)

const (
	// Path is where people log in.
	Path = domain.LoginPath

	passwordPath = Path + "password"
	factorPath   = Path + "factor"
	nextPath     = Path + "next"
	continuePath = Path + "continue"
	logoutPath   = Path + "logout"
	externalPath = Path + "externalidp"
	forwardPath  = domain.ForwardPath
	arrivePath   = externalPath + "/callback"

	// timeout bounds the answer of a page: a call of users may wait until a password is hashed.
	timeout = 10 * time.Second
	// arriveTimeout bounds the answer of a page for which the service idp calls an identity provider. That takes at
	// most 22 s.
	arriveTimeout = 27 * time.Second
	// maxName is the most bytes of a login name.
	maxName = 400
)

var (
	//go:embed *.html
	files embed.FS

	nameBody    = frame.Body(files, "name.html", "kept.html")
	factorBody  = frame.Body(files, "factor.html", "kept.html")
	nextBody    = frame.Body(files, "next.html", "kept.html")
	chooseBody  = frame.Body(files, "choose.html", "kept.html")
	sessionBody = frame.Body(files, "session.html", "kept.html")
	initialBody = frame.Body(files, "initial.html", "kept.html")
	forwardBody = frame.Body(files, "forward.html")
	newBody     = frame.Body(files, "new.html", "kept.html")
)

// Pages serves the pages below Path.
type Pages struct {
	Users     usersv1.InternalClient
	Factors   usersv1.FactorsClient
	Sessions  session.Sessions
	Federated *federated.Logins
	OnBehalf  onbehalf.Signer
	// Destinations are what the logins are for.
	Destinations Destinations
	// Cached are the services that own users and clients. Their answers may be up to 2 s old, because they are only
	// shown.
	Cached *upstream.Services
	// Mails sends the requests for mails to users.
	Mails *maillink.Later
	// Posts counts the posts of a client that fail or ask for a mail.
	Posts frame.Posts
	Frame *frame.Frame
	Now   func() time.Time
	Log   *slog.Logger
}

// Mount adds the pages' paths.
func (p Pages) Mount(mux *http.ServeMux) {
	for pattern, next := range map[string]handler{
		"GET " + Path + "{$}":         p.start,
		"GET " + factorPath:           p.withLogin(p.askFactor),
		"GET " + nextPath:             p.withLogin(p.askNext),
		"POST " + continuePath:        p.withSession(p.goOn),
		"POST " + logoutPath:          p.logout,
		"GET " + domain.SignedOutPath: p.ended,
		"GET " + verifyPath:           p.withUnverified(p.askVerify),
		"GET " + enrolPath:            p.withSession(p.enrolment(totp.Pages.Show)),
		"POST " + enrolPath:           p.withSession(p.enrolment(totp.Pages.Take)),
		"GET " + forgotPath:           p.askForgot,
		"GET " + sentPath:             p.sent,
		"GET " + domain.BackPath:      p.back,
		"GET " + forwardPath:          p.forward,
		"GET " + pausePath:            p.pause,
	} {
		mux.HandleFunc(pattern, p.visited(next))
	}
	for path, next := range map[string]handler{
		passwordPath: p.password,
		factorPath:   p.withLogin(p.factor),
		nextPath:     p.withLogin(p.next),
		verifyPath:   p.withUnverified(p.verify),
		mailPath:     p.withUnverified(p.mail),
		forgotPath:   p.forgot,
		externalPath: p.begin,
	} {
		mux.HandleFunc("POST "+path, p.Posts.Limited(p.visited(next)))
	}
	mux.HandleFunc("GET "+arrivePath, p.arrive)
}

// handler answers a request for a page. If it returns an error, it has answered nothing.
type handler func(http.ResponseWriter, *visit) error

// visit is a request of a browser for a page.
type visit struct {
	frame.Visit
	// ID is the id of the client's request; empty for a login without a client.
	ID string
	// Language is the language that the reader or the client has picked; empty for the browser's.
	Language string
	asked    domain.AuthRequest
	client   domain.Client
}

// kept is the content that every form has.
type kept struct {
	ID, Language string
	// Application is the name of the client.
	Application string
	// Back is the address of the page on which the login begins.
	Back string
	// PasswordOf is the login name with which a password manager keeps a new password; empty if the form has none.
	PasswordOf string
	// Wrong is the key of the text that says what is wrong. Otherwise is the key of the text to use if there is no such
	// text.
	Wrong, Otherwise string
}

func (v *visit) kept() kept {
	return kept{ID: v.ID, Language: v.Picked, Application: v.client.Name, Back: v.address(Path)}
}

// address returns the address of one of the pages, for the same request and language.
func (v *visit) address(path string, more ...string) string {
	return frame.Address(path, append([]string{"request", v.ID, "lang", v.Picked}, more...)...)
}

// in returns a function for the address of a page in another language.
func (v *visit) in(path string) func(tag string) string {
	return func(tag string) string { return v.address(path, "lang", tag) }
}

// brand gives the pages of the visit the branding of the client's login, for a user of an organization. The
// organization is empty until the right password is entered.
func (v *visit) brand(o *upstream.Services, userOrgID string) {
	asked, err := domain.AskedOrg(v.asked.Scopes)
	if err != nil {
		asked = "" // the client's request is refused elsewhere
	}
	v.Request = frame.Branded(v.Request, o.Branding(v.Context(), v.client, asked, userOrgID))
}

// visited reads the request of a browser.
func (p Pages) visited(next handler) http.HandlerFunc {
	return p.Frame.Visited(timeout, func(w http.ResponseWriter, r frame.Visit) {
		v := &visit{Visit: r, ID: r.Values.Get("request"), Language: r.Picked}
		if len(v.ID) > domain.MaxRequest || !domain.Plain(v.ID) {
			p.Frame.Malformed(w, r.Request)
			return
		}
		p.serve(w, v, next)
	})
}

// serve reads the request that the login is for, if there is one, and calls next.
func (p Pages) serve(w http.ResponseWriter, v *visit, next handler) {
	err := p.readAsked(w, v)
	if err == nil {
		err = next(w, v)
	} else {
		err = p.noRequest(w, v, err)
	}
	if err != nil {
		p.failed(w, v, err)
	}
}

// readAsked reads the client's request, if there is one.
func (p Pages) readAsked(w http.ResponseWriter, v *visit) (err error) {
	if v.ID == "" {
		return nil
	}
	if v.asked, v.client, err = p.Destinations.Request(v.Context(), v.ID); err != nil {
		return err
	}
	if v.Language == "" {
		v.Language = p.Frame.Picked(v.Request, v.asked.UILocales)
	}
	p.Frame.PostTo(w, v.asked.RedirectURI)
	v.brand(p.Cached, "")
	return nil
}

// noRequest writes the page for a client's request that does not wait any more, or whose client does not exist any
// more. It returns any other error.
func (p Pages) noRequest(w http.ResponseWriter, v *visit, err error) error {
	if errors.Is(err, domain.ErrRequestGone) {
		return p.requestGone(w, v)
	}
	if refusal, ok := errors.AsType[*domain.Refusal](err); ok && !refusal.Failure() {
		p.Destinations.Finish(v.Context(), w, v.Request, v.ID, domain.Session{}) // writes the reason
		return nil
	}
	return err
}

// requestGone writes the page for a client's request that does not wait any more. A person who has logged in has
// probably gone back to the page of that login.
func (p Pages) requestGone(w http.ResponseWriter, v *visit) error {
	s, there, err := p.Sessions.Session(v.Request)
	switch {
	case err != nil:
		return err
	case !there:
		p.notice(w, v, http.StatusBadRequest, "requestgone", "")
		return nil
	}
	v.Request = frame.Branded(v.Request, s.OrgID)
	p.leads(w, v, Path, frame.Page{Status: http.StatusBadRequest, Name: "requestused"},
		onward{frame.Address(domain.AccountPath, "lang", v.Picked), "account.title"})
	return nil
}

// withSession returns a handler that gets the session of the browser. A browser without one is sent to the first page.
func (p Pages) withSession(next func(http.ResponseWriter, *visit, domain.Session) error) handler {
	return func(w http.ResponseWriter, v *visit) error {
		s, there, err := p.Sessions.Session(v.Request)
		if err != nil {
			return err
		}
		if !there {
			redirect(w, v, v.address(Path))
			return nil
		}
		return next(w, v, s)
	}
}

// write writes a page that can be opened in other languages at the path.
func (p Pages) write(w http.ResponseWriter, v *visit, path string, page frame.Page) {
	page.Language, page.InLanguage = v.Language, v.in(path)
	p.Frame.Write(w, v.Request, page)
}

// onward is the address to which a page leads, and the key of the text that names it.
type onward struct{ Address, Key string }

// leads writes a page that has only its texts, and leads on.
func (p Pages) leads(w http.ResponseWriter, v *visit, path string, page frame.Page, to onward) {
	page.Body, page.Data = goBody, to
	p.write(w, v, path, page)
}

// notice writes a page that has only its texts, and a link to go on at an address if that is not empty.
func (p Pages) notice(w http.ResponseWriter, v *visit, status int, name, address string) {
	p.write(w, v, Path, frame.Page{Status: status, Name: name, Body: frame.NoticeBody, Data: address})
}

// failed writes the page for a fault after which the person can only wait.
func (p Pages) failed(w http.ResponseWriter, v *visit, err error) {
	p.Frame.Failed(w, v.Request, err, frame.Retry{
		Address: v.address(Path), Forgot: v.address(forgotPath), Language: v.Language, Pause: p.pauseAddress(v),
	})
}

// redirect sends the browser to another page after a form.
func redirect(w http.ResponseWriter, v *visit, address string) {
	http.Redirect(w, v.Request, address, http.StatusSeeOther)
}

// finish ends a login that is done. At the first login after the activation the person can protect the account.
func (p Pages) finish(w http.ResponseWriter, v *visit, s domain.Session) error {
	if err := p.stillOn(v, s); err != nil {
		provider := domain.ExternalLogin{OrgID: s.OrgID, IdpID: s.Provider()}
		return p.refuse(w, v, federated.Arrived{ExternalLogin: provider}, err)
	}
	switch {
	case p.Sessions.TakeNew(w, v.Request) && p.unprotected(v, s):
		redirect(w, v, v.address(enrolPath))
	case v.ID == "":
		redirect(w, v, v.address(Path))
	default:
		p.Destinations.Finish(v.Context(), w, v.Request, v.ID, s)
	}
	return nil
}
