package domain

import "time"

// Logout is the end of a person's session that an application is to hear of (OpenID Connect Back-Channel Logout 1.0).
type Logout struct {
	SessionID string
	ClientID  string
	// ClientOrgID is the organization of the application.
	ClientOrgID string
	UserID      string
	// Tries is how often the application was told, with the try that the claim is for.
	Tries int
	// Fence is that of the claim: after a later claim of another replica, this one writes nothing.
	Fence int64
}

// logoutPauses are those after the first try, the second and so on. There is one more try than pauses.
var logoutPauses = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}

// Pause returns how long to wait after a try that failed. It reports false after the last one.
func (l Logout) Pause() (time.Duration, bool) {
	if l.Tries > len(logoutPauses) {
		return 0, false
	}
	return logoutPauses[max(l.Tries, 1)-1], true
}
