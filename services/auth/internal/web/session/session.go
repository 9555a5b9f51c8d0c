// Package session has the sessions of browsers. A browser has a cookie with 256 random bits, of which only the hash is
// stored. Each use of a session asks whether its user and organization are still active and unchanged.
package session

import (
	"context"
	"errors"
	"net/http"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/gen/fault/authfault"
	"herald/shared/resource"
	"herald/shared/secret"
)

// The cookies. Their prefix makes browsers refuse one that another host or an insecure page has set (RFC 6265bis
// section 4.1.3.2).
const (
	// Cookie is the cookie of a session.
	Cookie = "__Host-herald-session"
	// LoginCookie is the cookie of a login that has begun.
	LoginCookie = "__Host-herald-login"

	cookieLength = 43 // 256 bits in base 62
)

// Sessions are the logins of people in browsers.
type Sessions struct {
	Store    store.Store
	Upstream *upstream.Services
	// Cached is Upstream with answers that are cached for at most 2 s, for requests that change nothing.
	Cached *upstream.Services
	Now    func() time.Time
	// BrowserKey proves that a cookie of a browser is ours.
	BrowserKey []byte
}

// Session returns the login of the browser that sends a request. It reports false if there is none, or if it is not
// valid any more.
func (s Sessions) Session(r *http.Request) (domain.Session, bool, error) {
	for _, hash := range hashes(r, Cookie) {
		found, there, err := s.Store.Session(r.Context(), hash)
		if err != nil {
			return domain.Session{}, false, err
		}
		if !there {
			continue
		}
		asked := s.Upstream
		if r.Method == http.MethodGet {
			asked = s.Cached
		}
		alive, err := alive(r.Context(), asked, found)
		if err == nil && alive {
			err = s.use(r, found)
		}
		if err != nil || alive {
			return found, alive && err == nil, err
		}
	}
	return domain.Session{}, false, nil
}

func alive(ctx context.Context, asked *upstream.Services, found domain.Session) (bool, error) {
	u, err := asked.User(ctx, found.UserID, upstream.Proof{Credential: found.Credential})
	if errors.Is(err, upstream.ErrNoUser) {
		return false, nil
	}
	return err == nil && found.Alive(u), err
}

// use stores when and from where a browser uses a session.
func (s Sessions) use(r *http.Request, n domain.Session) error {
	now := s.Now()
	if !n.UsedLongAgo(now) {
		return nil
	}
	n.UsedAt, n.Client, n.Agent = now, r.RemoteAddr, domain.Agent(r.UserAgent())
	return s.Store.UseSession(r.Context(), n)
}

// Begin begins a login: the browser gets a cookie for the rest of it.
func (s Sessions) Begin(w http.ResponseWriter, r *http.Request, l domain.Login) error {
	l.ExpiresAt = s.Now().Add(domain.LoginLifetime)
	cookie := secret.RandomString(cookieLength)
	if err := s.Store.BeginLogin(r.Context(), secret.Hash(cookie), l); err != nil {
		return err
	}
	set(w, LoginCookie, cookie, domain.LoginLifetime)
	return nil
}

// Login returns the login that the browser has begun, or authfault.ErrLoginGone.
func (s Sessions) Login(r *http.Request) (domain.Login, error) {
	l, _, err := s.login(r)
	return l, err
}

func (s Sessions) login(r *http.Request) (l domain.Login, hash []byte, err error) {
	err = authfault.ErrLoginGone
	for _, hash = range hashes(r, LoginCookie) {
		if l, err = s.Store.Login(r.Context(), hash); !errors.Is(err, authfault.ErrLoginGone) {
			break
		}
	}
	return l, hash, err
}

// Proceed stores which steps of the browser's login are still missing. If none is missing, it makes the session and
// reports true. A login makes one session only.
func (s Sessions) Proceed(w http.ResponseWriter, r *http.Request, l domain.Login) (domain.Session, bool, error) {
	_, hash, err := s.login(r)
	switch {
	case err != nil:
		return domain.Session{}, false, err
	case !l.Done():
		return domain.Session{}, false, s.Store.AdvanceLogin(r.Context(), hash, l)
	}
	if err := s.Store.EndLogin(r.Context(), hash); err != nil {
		return domain.Session{}, false, err
	}
	set(w, LoginCookie, "", -1)
	opened, err := s.Open(w, r, l)
	return opened, err == nil, err
}

// Open makes the session of a login that is done. The cookie is always a new one. If the browser has a session of the
// same user, that session continues. A session of another user ends.
func (s Sessions) Open(w http.ResponseWriter, r *http.Request, l domain.Login) (domain.Session, error) {
	n := l.Session(resource.NewID(), r.RemoteAddr, domain.Agent(r.UserAgent()), s.Now())
	old, there, err := s.Session(r)
	if err != nil {
		return domain.Session{}, err
	}
	switch {
	case there && old.UserID == n.UserID:
		n.ID, n.CreatedAt = old.ID, old.CreatedAt
	case there:
		if err := s.end(r.Context(), old); err != nil {
			return domain.Session{}, err
		}
	}
	if err := s.add(w, r, n, s.Store.OpenSession, domain.SessionLifetime); err != nil {
		return n, err
	}
	s.know(w, r, n.UserID)
	return n, nil
}

// add stores a session with save, and gives the browser a new cookie for it. Sessions of the user beyond the quota end,
// because a login that is refused would help nobody.
func (s Sessions) add(
	w http.ResponseWriter, r *http.Request, n domain.Session,
	save func(context.Context, []byte, domain.Session) error, lasts time.Duration,
) error {
	cookie := secret.RandomString(cookieLength)
	if err := save(r.Context(), secret.Hash(cookie), n); err != nil {
		return err
	}
	beyond, err := s.Store.SessionsBeyond(r.Context(), n)
	if err != nil {
		return err
	}
	for _, old := range beyond {
		if err := s.end(r.Context(), old); err != nil {
			return err
		}
	}
	set(w, Cookie, cookie, lasts)
	return nil
}

// End ends the session of a browser, if it has one, and the authorizations that its person gave clients in it.
func (s Sessions) End(w http.ResponseWriter, r *http.Request) error {
	for _, hash := range hashes(r, Cookie) {
		found, there, err := s.Store.Session(r.Context(), hash)
		if err == nil && there {
			err = s.end(r.Context(), found)
		}
		if err != nil {
			return err
		}
	}
	set(w, Cookie, "", -1)
	return nil
}

func (s Sessions) end(ctx context.Context, n domain.Session) error {
	err := s.EndOne(ctx, n, n.ID)
	if errors.Is(err, authfault.ErrSessionNotFound) {
		return nil // another request has ended it
	}
	return err
}

// most is how many cookies of one name are checked. A browser normally sends one.
const most = 2

// hashes returns the hashes of Cookies.
func hashes(r *http.Request, name string) (found [][]byte) {
	for _, value := range Cookies(r, name) {
		found = append(found, secret.Hash(value))
	}
	return found
}

// Cookies returns the values of the cookies with that name that Herald can have set.
func Cookies(r *http.Request, name string) (found []string) {
	for _, c := range r.CookiesNamed(name) {
		if len(c.Value) == cookieLength && len(found) < most {
			found = append(found, c.Value)
		}
	}
	return found
}

// SetCookie sets a cookie to a new random value, and returns the value.
func SetCookie(w http.ResponseWriter, name string, lasts time.Duration) string {
	value := secret.RandomString(cookieLength)
	set(w, name, value, lasts)
	return value
}

// RemoveCookie removes a cookie.
func RemoveCookie(w http.ResponseWriter, name string) { set(w, name, "", -1) }

// set sets a cookie. With a negative lifetime it removes the cookie.
func set(w http.ResponseWriter, name, value string, lasts time.Duration) {
	age := int(lasts.Seconds())
	if lasts < 0 {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
