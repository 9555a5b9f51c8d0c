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
	mux.HandleFunc("GET "+Path+"{$}", p.visited(p.start))
	mux.HandleFunc("POST "+passwordPath, p.Posts.Limited(p.visited(p.password)))
	mux.HandleFunc("GET "+factorPath, p.visited(p.withLogin(p.askFactor)))
	mux.HandleFunc("POST "+factorPath, p.Posts.Limited(p.visited(p.withLogin(p.factor))))
	mux.HandleFunc("GET "+nextPath, p.visited(p.withLogin(p.askNext)))
	mux.HandleFunc("POST "+nextPath, p.Posts.Limited(p.visited(p.withLogin(p.next))))
	mux.HandleFunc("POST "+continuePath, p.visited(p.goOn))
	mux.HandleFunc("POST "+logoutPath, p.visited(p.logout))
	mux.HandleFunc("GET "+domain.SignedOutPath, p.visited(p.ended))
	mux.HandleFunc("GET "+verifyPath, p.visited(p.withUnverified(p.askVerify)))
	mux.HandleFunc("POST "+verifyPath, p.Posts.Limited(p.visited(p.withUnverified(p.verify))))
	mux.HandleFunc("POST "+mailPath, p.Posts.Limited(p.visited(p.withUnverified(p.mail))))
	mux.HandleFunc("GET "+enrolPath, p.visited(p.protect(p.steps().Show)))
	mux.HandleFunc("POST "+enrolPath, p.visited(p.protect(p.steps().Take)))
	mux.HandleFunc("GET "+forgotPath, p.visited(p.askForgot))
	mux.HandleFunc("POST "+forgotPath, p.Posts.Limited(p.visited(p.forgot)))
	mux.HandleFunc("GET "+sentPath, p.visited(p.sent))
	mux.HandleFunc("GET "+domain.BackPath, p.visited(p.back))
	mux.HandleFunc("POST "+externalPath, p.Posts.Limited(p.visited(p.begin)))
	mux.HandleFunc("GET "+forwardPath, p.visited(p.forward))
	mux.HandleFunc("GET "+arrivePath, p.arrive)
}

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
	// Wrong is the key of the text that says what is wrong. Otherwise is the key of the text to use if there is no such
	// text.
	Wrong, Otherwise string
}

func (v visit) kept() kept {
	return kept{ID: v.ID, Language: v.Picked, Application: v.client.Name, Back: v.address(Path)}
}

// address returns the address of one of the pages, for the same request and language.
func (v visit) address(path string, more ...string) string {
	return frame.Address(path, append([]string{"request", v.ID, "lang", v.Picked}, more...)...)
}

// in returns a function for the address of a page in another language.
func (v visit) in(path string) func(tag string) string {
	return func(tag string) string { return v.address(path, "lang", tag) }
}

// visited reads the request of a browser, and the request that the login is for.
func (p Pages) visited(next func(http.ResponseWriter, visit)) http.HandlerFunc {
	return p.Frame.Visited(timeout, func(w http.ResponseWriter, r frame.Visit) {
		v := visit{Visit: r, ID: r.Values.Get("request"), Language: r.Picked}
		if len(v.ID) > domain.MaxRequest || !domain.Plain(v.ID) {
			p.Frame.Malformed(w, r.Request)
			return
		}
		if p.asked(w, &v) {
			next(w, v)
		}
	})
}

// asked reads the client's request, if there is one. If that does not wait any more, it writes a page that says so and
// returns false.
func (p Pages) asked(w http.ResponseWriter, v *visit) bool {
	if v.ID == "" {
		return true
	}
	var err error
	if v.asked, v.client, err = p.Destinations.Request(v.Context(), v.ID); err != nil {
		p.noRequest(w, *v, err)
		return false
	}
	if v.Language == "" {
		v.Language = p.Frame.Picked(v.Request, v.asked.UILocales)
	}
	p.Frame.PostTo(w, v.asked.RedirectURI)
	*v = v.branded("")
	return true
}

// noRequest writes the page for a client's request that does not wait any more, or whose client does not exist any
// more.
func (p Pages) noRequest(w http.ResponseWriter, v visit, err error) {
	if errors.Is(err, domain.ErrRequestGone) {
		p.notice(w, v, http.StatusBadRequest, "requestgone")
		return
	}
	if refusal, ok := errors.AsType[*domain.Refusal](err); ok && !refusal.Failure() {
		p.Destinations.Finish(v.Context(), w, v.Request, v.ID, domain.Session{}) // writes the reason
		return
	}
	p.failed(w, v, err)
}

// redirect sends the browser to another page after a form.
func redirect(w http.ResponseWriter, v visit, address string) {
	http.Redirect(w, v.Request, address, http.StatusSeeOther)
}

// finish ends a login that is done. At the first login after the activation the person can protect the account.
func (p Pages) finish(w http.ResponseWriter, v visit, s domain.Session) {
	if !p.stillOn(w, v, s) {
		return
	}
	if p.Sessions.TakeNew(w, v.Request) && p.unprotected(v, s) {
		redirect(w, v, v.address(enrolPath))
		return
	}
	if v.ID == "" {
		redirect(w, v, v.address(Path))
		return
	}
	p.Destinations.Finish(v.Context(), w, v.Request, v.ID, s)
}
