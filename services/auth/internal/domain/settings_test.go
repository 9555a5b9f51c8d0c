package domain_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	"herald/shared/setting"
)

// some returns settings in the order in which the API names them.
func some(access, idle, refresh, period time.Duration) domain.Settings {
	return domain.Settings{Lifetimes: domain.Lifetimes{Access: access, RefreshIdle: idle, Refresh: refresh},
		KeyPeriod: period}
}

func TestSettingsOfTheEnvironmentHaveBounds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		access, idle, refresh time.Duration
		days                  int
		want                  string // the setting that is refused
	}{
		"the defaults":        {time.Hour, 30 * day, 90 * day, 90, ""},
		"the shortest":        {time.Minute, time.Minute, time.Minute, 1, ""},
		"the longest":         {day, 90 * day, 365 * day, 365, ""},
		"a long access token": {day + 1, 30 * day, 90 * day, 90, "HERALD_ACCESS_TOKEN_LIFETIME"},
		"none":                {0, 30 * day, 90 * day, 90, "HERALD_ACCESS_TOKEN_LIFETIME"},
		"a short idle time":   {day, time.Second, 90 * day, 90, "HERALD_REFRESH_TOKEN_IDLE_EXPIRATION"},
		"a long idle time":    {day, 91 * day, 90 * day, 90, "HERALD_REFRESH_TOKEN_IDLE_EXPIRATION"},
		"a long refresh":      {day, 30 * day, 366 * day, 90, "HERALD_REFRESH_TOKEN_EXPIRATION"},
		"a long period":       {day, 30 * day, 90 * day, 366, "HERALD_SIGNING_KEY_DAYS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := domain.OfEnvironment(&test.access, &test.idle, &test.refresh, &test.days)
			if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want+": ") {
				t.Error(err)
			}
			want := some(test.access, test.idle, test.refresh, time.Duration(test.days)*day)
			if err == nil && got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	if got, err := domain.OfEnvironment(nil, nil, nil, nil); err != nil || got != (domain.Settings{}) {
		t.Errorf("of nothing %v, %v", got, err)
	}
}

// A change replaces what the environment does not set. What is missing gets its default again.
func TestSettingsAreReplaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		to, environment domain.Settings
		changed         string
		err             error
		field           string
		live            domain.Settings // afterwards
	}{
		"nothing changes": {to: some(2*time.Hour, 0, 0, 0), live: some(2*time.Hour, 30*day, 90*day, 90*day)},
		"all": {to: some(time.Minute, day, 2*day, 30*day),
			changed: "accessTokenLifetime refreshTokenIdleExpiration refreshTokenExpiration signingKeyDays",
			live:    some(time.Minute, day, 2*day, 30*day)},
		"default again": {changed: "accessTokenLifetime", live: some(time.Hour, 30*day, 90*day, 90*day)},
		"environment wins": {to: some(5*time.Minute, day, 0, 0), environment: some(5*time.Minute, 0, 0, 10*day),
			changed: "refreshTokenIdleExpiration", live: some(5*time.Minute, day, 90*day, 10*day)},
		"environment is not changed": {to: some(6*time.Minute, 0, 0, 0), environment: some(5*time.Minute, 0, 0, 0),
			err: authfault.ErrSettingsSetByEnvironment, field: "accessTokenLifetime"},
		"too short": {to: some(59*time.Second, 0, 0, 0), err: authfault.ErrSettingsInvalid,
			field: "accessTokenLifetime"},
		"negative": {to: some(0, 0, -time.Hour, 0), err: authfault.ErrSettingsInvalid,
			field: "refreshTokenExpiration"},
		"too long": {to: some(0, 0, 0, 366*day), err: authfault.ErrSettingsInvalid, field: "signingKeyDays"},
		"idle for longer than a login": {to: some(0, 10*day, 9*day, 0), err: authfault.ErrSettingsInvalid,
			field: "refreshTokenIdleExpiration"},
		"a login shorter than the default of idle": {to: some(0, 0, 9*day, 0), err: authfault.ErrSettingsInvalid,
			field: "refreshTokenIdleExpiration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := some(2*time.Hour, 0, 0, 0)
			changed, err := s.Replace(test.to, test.environment)
			if !errors.Is(err, test.err) {
				t.Fatalf("%v, want %v", err, test.err)
			}
			if err != nil {
				if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Path != test.field {
					t.Errorf("%+v, want of %s", f, test.field)
				}
				return
			}
			if got := strings.Join(changed, " "); got != test.changed {
				t.Errorf("changed %q, want %q", got, test.changed)
			}
			if live := s.Live(test.environment).Settings; live != test.live {
				t.Errorf("%v, want %v", live, test.live)
			}
		})
	}
}

func TestSettingsHaveTheirOrigins(t *testing.T) {
	t.Parallel()
	var got []setting.Source
	for _, o := range some(time.Minute, 0, time.Hour, 0).Live(some(time.Hour, 0, 0, 0)).Origins {
		got = append(got, o.Source)
	}
	if want := []setting.Source{setting.ByEnvironment, setting.ByDefault, setting.ByAPI, setting.ByDefault}; !slices.
		Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
