package device

import (
	"context"
	"embed"
	"errors"
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/consent"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/session"
)

const (
	askPath = Page + "/confirm"
	// Destination is the key of these pages in login.Destinations.
	Destination = "device"
	// maxTyped is the most bytes of a typed user code.
	maxTyped = 64
)

var (
	//go:embed *.html
	files embed.FS

	codeBody = frame.Body(files, "code.html")
	askBody  = consent.Body(files, "ask.html")
)

// Grants makes authorizations.
type Grants interface {
	// Authorization returns what a person who has logged in gives a client, if everything is active and the person may
	// get tokens of the project.
	Authorization(ctx context.Context, c domain.Client, scopes []string, s domain.Session) (domain.Authorization, error)
}

// Pages are the pages at which a person lets a device in (RFC 8628 section 3.3). The person always confirms: the code
// may be that of somebody else's device (section 5.4).
type Pages struct {
	Store    store.Store
	Upstream *upstream.Services
	Sessions session.Sessions
	Grants   Grants
	// Posts counts the codes that a client tries.
	Posts frame.Posts
	Frame *frame.Frame
}

// Mount adds the pages' paths.
func (p Pages) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET "+Page, p.begin)
	mux.HandleFunc("POST "+Page, p.Posts.Limited(p.enter))
	mux.HandleFunc("GET "+askPath, p.ask)
	mux.HandleFunc("POST "+askPath, p.answer)
}

// typed is the form for a user code.
type typed struct {
	Code  string
	Wrong bool
}

// begin asks for the code. A link may contain the code. It is not used before the person sends the form.
func (p Pages) begin(w http.ResponseWriter, r *http.Request) {
	p.form(w, r, http.StatusOK, typed{Code: limited(r.URL.Query().Get("user_code"))})
}

func (p Pages) form(w http.ResponseWriter, r *http.Request, status int, t typed) {
	p.Frame.Write(w, r, frame.Page{Status: status, Name: "device", Body: codeBody, Data: t, Faulty: t.Wrong,
		InLanguage: func(tag string) string { return frame.Address(Page, "lang", tag) },
		Language:   limited(r.URL.Query().Get("lang"))})
}

// limited returns a value of a query, empty if it is too long.
func limited(value string) string {
	if len(value) > maxTyped {
		return ""
	}
	return value
}

// enter finds the device and leads to the question. A person who has not logged in must log in first.
func (p Pages) enter(w http.ResponseWriter, r *http.Request) {
	text := r.PostFormValue("user_code")
	code := domain.UserCode(limited(text))
	d, _, err := p.device(r.Context(), code, "")
	switch {
	case errors.Is(err, domain.ErrUnknown):
		p.form(w, r, http.StatusBadRequest, typed{Code: limited(text), Wrong: true})
	case err != nil:
		p.failed(w, r, err)
	default:
		p.Posts.Return(r.RemoteAddr)
		p.goOn(w, r, d.Name())
	}
}

// goOn sends the browser to the question, or to a login. From here on the addresses have a name of the device that
// nobody can guess. So user codes can be tried at one page only, which counts the tries (RFC 8628 section 5.1).
func (p Pages) goOn(w http.ResponseWriter, r *http.Request, name string) {
	_, there, err := p.Sessions.Session(r)
	switch {
	case err != nil:
		p.failed(w, r, err)
	case there:
		http.Redirect(w, r, askAddress(name), http.StatusSeeOther)
	default:
		http.Redirect(w, r, frame.Address(domain.LoginPath, "request", Destination+"."+name), http.StatusSeeOther)
	}
}

func askAddress(name string) string { return frame.Address(askPath, "device", name) }

// device returns the waiting device with a user code, or with a name, and its client. It returns domain.ErrUnknown if
// there is no such device, or its client may not log people in any more.
func (p Pages) device(ctx context.Context, code, name string) (domain.Device, domain.Client, error) {
	hash := domain.HashOfDevice(name)
	if code == "" && hash == nil {
		return domain.Device{}, domain.Client{}, domain.ErrUnknown
	}
	d, err := p.Store.Device(ctx, code, hash)
	if err != nil {
		return domain.Device{}, domain.Client{}, err
	}
	c, err := p.Upstream.Application(ctx, d.ClientID, upstream.Proof{})
	if errors.Is(err, upstream.ErrNoClient) || err == nil && !(c.Active && c.MayUse(domain.GrantDevice)) {
		err = domain.ErrUnknown
	}
	return d, c, err
}

// question is the page that asks whether a device is let in. It says the same as the consent page.
type question struct {
	consent.Question
	Code, Device string
}

func (p Pages) consents() consent.Consents {
	return consent.Consents{Store: p.Store, Upstream: p.Upstream}
}

func (p Pages) ask(w http.ResponseWriter, r *http.Request) {
	d, client, session, ok := p.waiting(w, r, r.URL.Query().Get("device"))
	if !ok {
		return
	}
	r = frame.Branded(r, p.Upstream.Branding(r.Context(), client, "", session.OrgID))
	asked, err := p.consents().Question(r.Context(), client, d.Scopes, session)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.Frame.Write(w, r, frame.Page{Status: http.StatusOK, Name: "deviceask", Body: askBody,
		Data:       question{asked, domain.ShownUserCode(d.UserCode), d.Name()},
		InLanguage: func(tag string) string { return frame.Address(askPath, "device", d.Name(), "lang", tag) }})
}

// waiting returns a device, its client and the person's login. If one of them is missing it answers, and reports false.
func (p Pages) waiting(
	w http.ResponseWriter, r *http.Request, name string,
) (d domain.Device, c domain.Client, s domain.Session, ok bool) {
	d, c, err := p.device(r.Context(), "", name)
	if errors.Is(err, domain.ErrUnknown) {
		p.form(w, r, http.StatusBadRequest, typed{Wrong: true})
		return d, c, s, false
	}
	if err == nil {
		s, ok, err = p.Sessions.Session(r)
	}
	if err != nil {
		p.failed(w, r, err)
		return d, c, s, false
	}
	if !ok {
		p.goOn(w, r, name)
	}
	return d, c, s, ok
}

func (p Pages) answer(w http.ResponseWriter, r *http.Request) {
	d, client, session, ok := p.waiting(w, r, r.PostFormValue("device"))
	if !ok {
		return
	}
	r = frame.Branded(r, p.Upstream.Branding(r.Context(), client, "", session.OrgID))
	code := d.UserCode
	if r.PostFormValue("answer") != "allow" {
		p.done(w, r, "devicerefused", p.Store.Deny(r.Context(), code))
		return
	}
	a, err := p.Grants.Authorization(r.Context(), client, d.Scopes, session)
	if err == nil {
		err = domain.AuthRequest{Scopes: d.Scopes}.Admits(session)
	}
	if errors.Is(err, domain.ErrAccessDenied) || errors.Is(err, domain.ErrAccountSelectionRequired) {
		p.done(w, r, "deviceno", p.Store.Deny(r.Context(), code))
		return
	}
	if err == nil {
		err = p.consents().Give(r.Context(), client, d.Scopes, session)
	}
	if err == nil {
		a.ExpiresAt = d.DeviceExpiresAt
		err = p.Store.LetIn(r.Context(), code, a, protocol.Granted(a))
	}
	p.done(w, r, "devicedone", err)
}

// done writes the last page. If the device is not waiting any more, it writes a page that says so.
func (p Pages) done(w http.ResponseWriter, r *http.Request, name string, err error) {
	switch {
	case errors.Is(err, domain.ErrUnknown):
		p.form(w, r, http.StatusBadRequest, typed{Wrong: true})
	case err != nil:
		p.failed(w, r, err)
	default:
		p.Frame.Notice(w, r, http.StatusOK, name, "")
	}
}

func (p Pages) failed(w http.ResponseWriter, r *http.Request, err error) {
	p.Frame.Failed(w, r, err, frame.Retry{Address: Page})
}

// Request returns what a login for a device is for, with the client of the device. The id is the device's name. It
// returns domain.ErrRequestGone if no such device waits.
func (p Pages) Request(ctx context.Context, id string) (domain.AuthRequest, domain.Client, error) {
	d, c, err := p.device(ctx, "", id)
	if errors.Is(err, domain.ErrUnknown) {
		err = domain.ErrRequestGone
	}
	return domain.AuthRequest{ClientID: c.ID, Scopes: d.Scopes, MaxAge: -1, CreatedAt: d.CreatedAt,
		ExpiresAt: d.DeviceExpiresAt}, c, err
}

// Finish leads to the question about the device.
func (p Pages) Finish(_ context.Context, w http.ResponseWriter, r *http.Request, id string, _ domain.Session) {
	http.Redirect(w, r, askAddress(id), http.StatusSeeOther)
}
