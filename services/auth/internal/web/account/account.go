// Package account serves the pages on which people see and change their own account. A page calls the methods of the
// API as the person whose session the browser has. These methods check all rights; this package checks none. A person
// who is not logged in is sent to the login and comes back. The same happens to a person who wants to change how they
// log in, if the login is older than domain.FreshLogin.
package account

import (
	"context"
	"embed"
	"net/http"
	"strings"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/login/federated"
	"herald/services/auth/internal/web/login/totp"
	"herald/services/auth/internal/web/onbehalf"
	"herald/services/auth/internal/web/session"
	usersv1 "herald/shared/gen/herald/users/v1"
)

const (
	// Path is the first page of an account.
	Path = domain.AccountPath

	// timeout bounds the answer of a page: a call of users may wait until a password is hashed.
	timeout = 10 * time.Second
	// maxID is the most bytes of an id.
	maxID = 800
)

var (
	//go:embed *.html
	files embed.FS

	overviewBody = frame.Body(files, "overview.html", "parts.html")
	formBody     = frame.Body(files, "form.html", "parts.html")
	listBody     = frame.Body(files, "list.html", "parts.html")
	emailBody    = frame.Body(files, "email.html", "parts.html")
	otpBody      = frame.Body(files, "otp.html", "parts.html")
	shownBody    = frame.Body(files, "shown.html", "parts.html")
	goneBody     = frame.Body(files, "gone.html", "parts.html")
	formOldBody  = frame.Body(files, "formold.html")
)

// Config is what the pages need.
type Config struct {
	Users       usersv1.UsersClient
	Credentials usersv1.CredentialsClient
	Factors     usersv1.FactorsClient
	IdpLinks    usersv1.LoginsClient
	Members     usersv1.MembersClient
	Sessions    session.Sessions
	Federated   *federated.Logins
	OnBehalf    onbehalf.Signer
	Frame       *frame.Frame
	Now         func() time.Time
}

// Pages serves the pages below Path.
type Pages struct {
	Config
	// places are the pages that can be opened, by their names.
	places map[string]page
}

// page is a page. Its name is the part of its path after Path.
type page struct {
	name string
	// fresh pages change how the person logs in. afterPassword pages are for people who have logged in with their
	// Herald password.
	fresh, afterPassword bool
	open                 handler
	// send handles a post to the page; nil if the page takes none.
	send handler
}

// handler answers a request for a page. If it returns an error, it has answered nothing.
type handler func(http.ResponseWriter, visit) error

// New returns the pages.
func New(c Config) *Pages {
	p := &Pages{Config: c, places: map[string]page{}}
	for _, one := range p.all() {
		p.places[one.name] = one
	}
	return p
}

func (p *Pages) all() []page {
	return []page{
		{name: "", open: p.overview},
		{name: "profile", open: p.profile, send: p.saveProfile},
		{name: "password", fresh: true, open: p.password, send: p.changePassword},
		{name: "email", open: p.email, send: p.verifyEmail},
		{name: "email/change", fresh: true, open: p.askEmail, send: p.changeEmail},
		{name: "email/cancel", fresh: true, open: p.email, send: p.cancelEmail},
		{name: "otp", open: p.otp},
		{name: "otp/add", open: p.enrolment(totp.Pages.Show), send: p.enrolment(totp.Pages.Take)},
		{name: "otp/end", fresh: true, open: p.asks("otpend", "otp.end"), send: p.endOTP},
		{name: "otp/codes", fresh: true, open: p.asks("otpcodes", "otpcodes.title"), send: p.renewCodes},
		{name: "tokens", open: p.tokens},
		{name: "tokens/new", fresh: true, open: p.askToken, send: p.makeToken},
		{name: "tokens/end", fresh: true, open: p.asksAbout("tokenend", "tokens.end", p.tokenRows), send: p.endToken},
		{name: "idplinks", open: p.idpLinks},
		{name: "idplinks/end", fresh: true, open: p.withLink(p.askUnlink), send: p.withLink(p.unlink)},
		{name: "idplinks/add", fresh: true, afterPassword: true, open: p.askLink, send: p.link},
		{name: "access", open: p.access},
		{name: "access/end", open: p.asksAbout("accessend", "access.end", p.accessRows), send: p.endAccess},
		{name: "sessions", open: p.sessions},
		{name: "sessions/end", fresh: true, open: p.asksAbout("sessionend", "sessions.end", p.sessionRows),
			send: p.endSession},
		{name: "sessions/others", fresh: true, open: p.asks("sessionsend", "sessions.others"), send: p.endOthers},
		{name: "memberships", open: p.memberships},
		{name: "memberships/accept", open: p.asksAbout("membershipaccept", "memberships.accept", p.pendingRows),
			send: p.acceptMembership},
		{name: "memberships/decline", open: p.asksAbout("membershipdecline", "memberships.decline", p.pendingRows),
			send: p.endMembership},
		{name: "memberships/end", open: p.asksAbout("membershipend", "memberships.end", p.activeRows),
			send: p.endMembership},
	}
}

// Mount adds the pages' paths.
func (p *Pages) Mount(mux *http.ServeMux) {
	for _, one := range p.places {
		mux.HandleFunc("GET "+path(one.name), p.visited(one, one.open))
		if one.send != nil {
			mux.HandleFunc("POST "+path(one.name), p.visited(one, one.send))
		}
	}
	mux.HandleFunc("GET "+Path+"/{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, Path, http.StatusSeeOther)
	})
}

func path(name string) string {
	if name == "" {
		return Path
	}
	return Path + "/" + name
}

// visit is a request of a person for a page.
type visit struct {
	frame.Visit
	page    page
	session domain.Session
	person  onbehalf.Person
}

// as returns the context of calls that the person makes.
func (v visit) as() context.Context { return v.person.In(v.Context()) }

// id returns the id of the object that the page is about; empty if there is none.
func (v visit) id() string { return v.Text("id", maxID) }

// address returns the address of a page, in the same language.
func (v visit) address(name string, more ...string) string {
	return frame.Address(path(name), append([]string{"lang", v.Picked}, more...)...)
}

// in returns the address of the page in another language.
func (v visit) in(tag string) string {
	return v.address(v.page.name, append(v.named(), "lang", tag)...)
}

// named returns the values with the id of the page's object.
func (v visit) named() (values []string) {
	for _, name := range []string{"id", "idp"} {
		if value := v.Text(name, maxID); value != "" {
			values = append(values, name, value)
		}
	}
	return values
}

// visited finds the person of a request. A person who is not logged in, or whose login is too old, is sent to the
// login.
func (p *Pages) visited(to page, next handler) http.HandlerFunc {
	return p.Frame.Visited(timeout, func(w http.ResponseWriter, r frame.Visit) {
		v := visit{Visit: r, page: to}
		if err := p.answer(w, &v, next); err != nil {
			p.failed(w, v, err)
		}
	})
}

func (p *Pages) answer(w http.ResponseWriter, v *visit, next handler) (err error) {
	var there bool
	if v.session, there, err = p.Sessions.Session(v.Request); err != nil {
		return err
	}
	v.Request = frame.Branded(v.Request, v.session.OrgID) // empty without a session
	if !there || v.page.fresh && !v.session.Fresh(p.Now()) || v.page.afterPassword && !v.session.Own() {
		p.logIn(w, *v)
		return nil
	}
	if v.person, err = p.OnBehalf.As(v.Context(), v.session); err != nil {
		return err
	}
	return next(w, *v)
}

// logIn sends a browser to the login, from which it comes back to the page. A form that was posted is lost, so its
// person gets a page that says so.
func (p *Pages) logIn(w http.ResponseWriter, v visit) {
	name, id := v.page.name, v.id()
	if v.idp() != "" { // the login keeps one id
		name, id = parent(name), ""
	}
	other := ""
	if v.page.afterPassword && v.session.ID != "" && !v.session.Own() {
		// A login with an account at an identity provider is not enough, even if it is fresh: the person needs the
		// password.
		other = "true"
	}
	to := frame.Address(domain.LoginPath, "request", requestOf(name, id), "other", other, "lang", v.Picked)
	if v.Method == http.MethodPost {
		_ = p.write(w, v, frame.Page{Status: http.StatusForbidden, Name: "formold", Body: formOldBody, Data: to}, nil)
		return
	}
	http.Redirect(w, v.Request, to, http.StatusSeeOther)
}

// done leads back after a change, to a page that says that the change was made. It returns err if the change failed.
func (p *Pages) done(w http.ResponseWriter, v visit, name string, err error) error {
	if err == nil {
		http.Redirect(w, v.Request, v.address(name, "done", "true"), http.StatusSeeOther)
	}
	return err
}

// write writes a page. It returns err instead if what the page shows is not known.
func (p *Pages) write(w http.ResponseWriter, v visit, shown frame.Page, err error) error {
	if err == nil {
		shown.Language, shown.InLanguage = v.Picked, v.in
		p.Frame.Write(w, v.Request, shown)
	}
	return err
}

// parent returns the page that leads to a page.
func parent(name string) string { return name[:max(strings.LastIndexByte(name, '/'), 0)] }
