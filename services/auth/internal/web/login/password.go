package login

import (
	"net/http"
	"unicode/utf8"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/login/federated"
	"herald/services/auth/internal/web/session"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
)

// nameForm is the form for login name and password.
type nameForm struct {
	kept
	LoginName string
	// Forgot is the address of the page for a forgotten password.
	Forgot string
	// Offers are the identity providers that people of the organization can use.
	Offers []federated.Offer
}

// start writes the first page of a login. If the browser's login is enough for the request, it finishes at once.
func (p Pages) start(w http.ResponseWriter, v *visit) error {
	s, there, err := p.Sessions.Session(v.Request)
	if err != nil {
		return err
	}
	satisfied := v.asked.Satisfied(s, p.Now())
	switch {
	case there && v.Values.Get("other") == "" && v.ID == "":
		return p.session(w, v, s)
	case !there || v.Values.Get("other") != "" || !v.admits(s):
		p.askName(w, v, v.asked.LoginHint)
		return nil
	case satisfied && !v.asked.Asks():
		return p.finish(w, v, s)
	case satisfied || v.asked.Chooses():
		return p.choose(w, v, s)
	}
	return p.again(w, v, s)
}

// admits reports whether the client's request admits the person of a session.
func (v *visit) admits(s domain.Session) bool { return v.asked.Admits(s) == nil }

// again asks a person who has logged in for the password once more.
func (p Pages) again(w http.ResponseWriter, v *visit, s domain.Session) error {
	v.brand(p.Cached, s.OrgID)
	a, err := p.account(v, s)
	if err == nil {
		p.askName(w, v, a.LoginName)
	}
	return err
}

func (p Pages) askName(w http.ResponseWriter, v *visit, loginName string) {
	if len(loginName) > maxName || !domain.Plain(loginName) {
		loginName = ""
	}
	p.nameForm(w, v, http.StatusOK, nameForm{kept: v.kept(), LoginName: loginName})
}

func (p Pages) nameForm(w http.ResponseWriter, v *visit, status int, f nameForm) {
	var err error
	session.TryCookies(w, v.Request)
	f.Forgot = v.address(forgotPath)
	// People can log in with a password if idp is away.
	if f.Offers, _, err = p.offers(v); err != nil && !fault.IsOutage(err) {
		p.Log.WarnContext(v.Context(), "a login page offers no identity providers", "err", err)
	}
	p.write(w, v, Path, frame.Page{Status: status, Name: "login", Body: nameBody, Data: f, Faulty: f.Wrong != ""})
}

// password checks the login name and the password.
func (p Pages) password(w http.ResponseWriter, v *visit) error {
	if !session.TakesCookies(v.Request) {
		p.notice(w, v, http.StatusBadRequest, "nocookies", v.address(Path))
		return nil
	}
	name, typed := v.Values.Get("name"), v.Values.Get("current")
	again := nameForm{kept: v.kept(), LoginName: name}
	again.Wrong = usersfault.ErrLoginWrong.ID
	if len(name) > maxName || !domain.Plain(name) || !utf8.ValidString(typed) {
		again.LoginName = ""
		p.nameForm(w, v, http.StatusBadRequest, again)
		return nil
	}
	browser := p.Sessions.Browser(v.Request)
	found, err := p.Users.CheckPassword(v.Context(), &usersv1.CheckPasswordRequest{
		LoginName: name, Password: typed, Client: v.RemoteAddr, Browser: browser.ID, BrowserUserIds: browser.Users,
	})
	switch f := fault.From(err); {
	case err == nil:
		return p.known(w, v, found)
	case f.Code == fault.Invalid:
		p.nameForm(w, v, f.HTTPStatus(), again)
		return nil
	}
	return err
}

// known continues after the right password.
func (p Pages) known(w http.ResponseWriter, v *visit, found *usersv1.CheckPasswordResponse) error {
	v.brand(p.Cached, found.OrgId)
	switch {
	case found.State == usersv1.UserState_USER_STATE_INITIAL:
		p.initial(w, v, found.UserId, found.OrgId)
		return nil
	case found.State != usersv1.UserState_USER_STATE_ACTIVE || !found.OrgActive:
		p.inactive(w, v)
		return nil
	}
	return p.entered(w, v, domain.Login{
		UserID: found.UserId, UserGeneration: int64(found.Generation), OrgID: found.OrgId,
		OrgGeneration: int64(found.OrgGeneration), Credential: found.Credential, AuthTime: p.Now(),
		AMR: []string{domain.AMRPassword}, NeedsFactor: found.NeedsFactor, NeedsPassword: found.ChangeRequired,
	})
}

// initial writes the page for a user who still has to activate the account with the code of a mail, and can ask for a
// new mail.
func (p Pages) initial(w http.ResponseWriter, v *visit, userID, orgID string) {
	p.keepRequest(w, v)
	p.write(w, v, Path, frame.Page{Status: http.StatusForbidden, Name: "initial", Body: initialBody,
		Data: map[string]string{"Path": mail.Init.Page().Path, "UserID": userID, "OrgID": orgID,
			"Language": v.Language, "Back": v.address(Path)}})
}

// inactive writes the page for a user who may not log in, with a link back to the login.
func (p Pages) inactive(w http.ResponseWriter, v *visit) {
	p.leads(w, v, Path, frame.Page{Status: http.StatusForbidden, Name: "inactive"},
		onward{v.address(Path), "login.back"})
}

// entered makes a session for a login, or leads to the next step of it.
func (p Pages) entered(w http.ResponseWriter, v *visit, l domain.Login) error {
	p.Posts.Return(v.RemoteAddr)
	if !l.Done() {
		if err := p.Sessions.Begin(w, v.Request, l); err != nil {
			return err
		}
		redirect(w, v, v.address(step(l)))
		return nil
	}
	s, err := p.Sessions.Open(w, v.Request, l)
	if err != nil {
		return err
	}
	return p.opened(w, v, s)
}

// step returns the page for the next step of a login.
func step(l domain.Login) string {
	if l.NeedsFactor {
		return factorPath
	}
	return nextPath
}
