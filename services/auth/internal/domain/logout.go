package domain

import "time"

// Logout is a notification of an application that a person's session has ended (OpenID Connect Back-Channel Logout
// 1.0).
type Logout struct {
	SessionID string
	ClientID  string
	// ClientOrgID is the organization of the application.
	ClientOrgID string
	UserID      string
	// Tries counts the tries to notify the application. The try of the current claim is included.
	Tries int
	// Fence is the number of the claim. After another replica has claimed the logout, a write with the old number
	// changes nothing.
	Fence int64
}

// logoutPauses are the pauses after the first try, the second and so on. There is one more try than pauses.
var logoutPauses = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}

// Pause returns how long to wait after a try that failed. It reports false after the last one.
func (l Logout) Pause() (time.Duration, bool) {
	if l.Tries > len(logoutPauses) {
		return 0, false
	}
	return logoutPauses[max(l.Tries, 1)-1], true
}
