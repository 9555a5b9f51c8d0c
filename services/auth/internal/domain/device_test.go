package domain

import (
	"errors"
	"testing"
	"time"
)

func TestUserCode(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"BCDFGHJK": "BCDFGHJK", "bcdf-ghjk": "BCDFGHJK", " bc df gh jk ": "BCDFGHJK", "BCDF--GHJK": "BCDFGHJK",
		"": "", "BCDFGHJ": "", "BCDFGHJKL": "", "ACDFGHJK": "", "BCDFGH1K": "", "BCDFGHJÄ": "", "BCDF\nGHJK": "",
	} {
		t.Run(typed, func(t *testing.T) {
			if got := UserCode(typed); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if got := ShownUserCode("BCDFGHJK"); got != "BCDF-GHJK" {
		t.Error(got)
	}
}

// The refusals of RFC 8628 section 3.5.
func TestDeviceRedeem(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name   string
		change func(*Device)
		want   error
	}{
		{"let in", func(*Device) {}, nil},
		{"pending", func(d *Device) { d.AuthorizationID = "" }, ErrAuthorizationPending},
		{"too soon", func(d *Device) { d.AuthorizationID, d.Soon = "", true }, ErrSlowDown},
		{"too soon after it was let in", func(d *Device) { d.Soon = true }, ErrSlowDown},
		{"refused", func(d *Device) { d.AuthorizationID, d.Denied = "", true }, ErrAccessDenied},
		{"refused and too soon", func(d *Device) { d.Denied, d.Soon = true, true }, ErrAccessDenied},
		{"expired", func(d *Device) { d.DeviceExpiresAt = now }, ErrExpiredToken},
		{"another client's", func(d *Device) { d.ClientID = "c2" }, ErrInvalidGrant},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Device{ClientID: "c1", DeviceExpiresAt: now.Add(time.Second), AuthorizationID: "a1"}
			c.change(&d)
			if err := d.Redeem("c1", now); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
