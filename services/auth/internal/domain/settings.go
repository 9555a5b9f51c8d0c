package domain

import (
	"fmt"
	"strconv"
	"time"

	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	"herald/shared/resource"
	"herald/shared/setting"
)

// Instance is the id of the settings: there are only those of the whole instance.
const Instance = "instance"

const day = 24 * time.Hour

// Settings are how long tokens are valid and keys sign. What is 0 is not set.
type Settings struct {
	resource.Record
	Lifetimes
	// KeyPeriod is how long a key signs, in whole days.
	KeyPeriod time.Duration
}

// field is a field of Settings. Unless it is set, it has the value usual.
type field struct {
	name, variable        string
	value                 *time.Duration
	usual, least, longest time.Duration
}

// fields returns all fields, always in the same order.
func (s *Settings) fields() []field {
	return []field{
		{"accessTokenLifetime", "HERALD_ACCESS_TOKEN_LIFETIME", &s.Access, time.Hour, time.Minute, day},
		{"refreshTokenIdleExpiration", "HERALD_REFRESH_TOKEN_IDLE_EXPIRATION", &s.RefreshIdle,
			30 * day, time.Minute, 90 * day},
		{"refreshTokenExpiration", "HERALD_REFRESH_TOKEN_EXPIRATION", &s.Refresh,
			90 * day, time.Minute, 365 * day},
		{"signingKeyDays", "HERALD_SIGNING_KEY_DAYS", &s.KeyPeriod, 90 * day, day, maxDays * day},
	}
}

// check returns why a field cannot have a value, empty if it can.
func (f field) check(value time.Duration) (reason string) {
	if value < f.least || value > f.longest {
		reason = seconds(value) + " is not between " + seconds(f.least) + " and " + seconds(f.longest)
	}
	return reason
}

// seconds returns a time in the form in which the API and the environment take it, such as 3600s.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }

// OfEnvironment returns the settings of environment variables, of which nil are not set. It returns an error for one
// that is out of bounds.
func OfEnvironment(access, refreshIdle, refresh *time.Duration, keyDays *int) (Settings, error) {
	var period *time.Duration
	if keyDays != nil {
		p, err := CheckPeriod(*keyDays)
		if err != nil {
			return Settings{}, err
		}
		period = &p
	}
	var s Settings
	given := []*time.Duration{access, refreshIdle, refresh, period}
	for i, f := range s.fields() {
		if given[i] == nil {
			continue
		}
		if reason := f.check(*given[i]); reason != "" {
			return Settings{}, fmt.Errorf("%s: %s", f.variable, reason)
		}
		*f.value = *given[i]
	}
	return s, nil
}

// Live is what counts, and where each field comes from, in their order.
type Live struct {
	Settings
	Origins []setting.Origin
}

// Live returns what counts beside an environment.
func (s Settings) Live(environment Settings) Live {
	l := Live{Settings: s}
	of := environment.fields()
	for i, f := range l.fields() {
		source := setting.ByAPI
		switch {
		case *of[i].value != 0:
			*f.value, source = *of[i].value, setting.ByEnvironment
		case *f.value == 0:
			*f.value, source = f.usual, setting.ByDefault
		}
		l.Origins = append(l.Origins, setting.Origin{Field: f.name, Variable: f.variable, Source: source})
	}
	return l
}

// Replace sets what the environment does not set, and returns the names of the changed fields. What the environment
// sets must be 0 or as it is.
func (s *Settings) Replace(to, environment Settings) (changed []string, err error) {
	asked, of := to.fields(), environment.fields()
	origins := s.Live(environment).Origins
	for i, f := range s.fields() {
		value, set := *asked[i].value, *of[i].value
		if set != 0 {
			if value != 0 && value != set {
				return nil, authfault.ErrSettingsSetByEnvironment.Naming(origins[i].Won())
			}
			continue
		}
		if reason := f.check(value); value != 0 && reason != "" {
			return nil, authfault.ErrSettingsInvalid.Naming(fault.Field{Path: f.name, Reason: reason})
		}
		if *f.value != value {
			*f.value, changed = value, append(changed, f.name)
		}
	}
	return changed, s.Live(environment).checkRefresh()
}

// checkRefresh refuses that one refresh token can be used for longer than all of a login. If the API sets neither, they
// may be so: the login ends then.
func (l Live) checkRefresh() error {
	idle, all := l.Origins[1], l.Origins[2]
	if l.RefreshIdle <= l.Refresh || idle.Source != setting.ByAPI && all.Source != setting.ByAPI {
		return nil
	}
	return authfault.ErrSettingsInvalid.Naming(fault.Field{Path: idle.Field, Reason: seconds(l.RefreshIdle) +
		" is longer than " + all.Field + ", " + seconds(l.Refresh)})
}
