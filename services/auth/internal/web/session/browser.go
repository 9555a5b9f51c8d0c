package session

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"herald/shared/secret"
)

// BrowserCookie is the cookie of a browser in which people have logged in.
const BrowserCookie = "__Host-herald-browser"

const (
	// browserLifetime is how long a browser is known after a login.
	browserLifetime = 180 * 24 * time.Hour
	// maxPeople is how many people a browser is known for. The first are forgotten.
	maxPeople = 10
	// maxBrowser bounds the cookie. The id of a user has 200 bytes at most.
	maxBrowser = 4000
)

// Browser is a browser in which people have logged in. Wrong passwords of these people are counted apart there, so that
// no stranger keeps them out. It gives no other right. The zero Browser is one in which nobody has.
type Browser struct {
	ID    string    `json:"id"`
	Users []string  `json:"users"`
	Until time.Time `json:"until"`
}

// Browser returns the browser of a request. A cookie that Herald did not make, or that is too old, is the zero Browser.
func (s Sessions) Browser(r *http.Request) Browser {
	for _, c := range r.CookiesNamed(BrowserCookie) {
		sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
		if err != nil || len(c.Value) > maxBrowser || len(sealed) < sha256.Size {
			continue
		}
		mac, text := sealed[:sha256.Size], sealed[sha256.Size:]
		var b Browser
		if hmac.Equal(mac, s.browserMAC(text)) && json.Unmarshal(text, &b) == nil && s.Now().Before(b.Until) {
			return b
		}
	}
	return Browser{}
}

// know notes that a user has logged in in the browser of a request.
func (s Sessions) know(w http.ResponseWriter, r *http.Request, userID string) {
	b := s.Browser(r)
	if b.ID == "" {
		b.ID = secret.RandomString(cookieLength)
	}
	b.Users = append([]string{userID}, slices.DeleteFunc(b.Users, func(id string) bool { return id == userID })...)
	b.Users, b.Until = b.Users[:min(len(b.Users), maxPeople)], s.Now().Add(browserLifetime)
	text, err := json.Marshal(b)
	if err != nil {
		return // no text of these fields fails
	}
	value := base64.RawURLEncoding.EncodeToString(append(s.browserMAC(text), text...))
	set(w, BrowserCookie, value, browserLifetime)
}

func (s Sessions) browserMAC(text []byte) []byte {
	return secret.MAC(s.BrowserKey, "browser", string(text))
}
