package rpc_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"herald/shared/caller"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestRegisterRefusesUnknownServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{})
	if err := w.server.Register(&grpc.ServiceDesc{ServiceName: "herald.users.v1.Nothing"}, nil); err == nil {
		t.Error("registered")
	}
	if err := w.server.Register(&usersv1.Users_ServiceDesc, users{}); err != nil {
		t.Error(err)
	}
	if err := w.server.Register(&usersv1.Users_ServiceDesc, w); err == nil || !strings.Contains(err.Error(), "lacks") {
		t.Errorf("without the methods: %v", err)
	}
	// A service with acts_on in its contract needs a MayActOn.
	err := w.server.Register(&usersv1.Users_ServiceDesc, usersv1.UnimplementedUsersServer{})
	if err == nil || !strings.Contains(err.Error(), "MayActOn") {
		t.Errorf("without a guard: %v", err)
	}
}

// The escalation rule is checked after the permission and the field rules, before the fresh login. It
// does not apply to callers who act on themselves.
func TestActsOn(t *testing.T) {
	t.Parallel()
	var reached []string
	w := newWorld(t, users{
		reached: func(m string) { reached = append(reached, m) },
		may: func(ctx context.Context, target *caller.Target) error {
			reached = append(reached, "asked as "+caller.From(ctx).UserID)
			switch target.UserID {
			case "above":
				return fault.ErrPermissionDenied.Say("no")
			case "forgotten":
				target.LeaveToChange()
			case "checked":
				target.LeaveToChange()
				target.Checked()
			}
			if !target.Costly {
				t.Error("setting a password is not known to be costly")
			}
			return nil
		},
	})
	as := func(login time.Time, roles ...string) context.Context {
		c := member(roles...)
		c.AuthenticatedAt = login
		return testkit.As(t.Context(), w.g, c)
	}
	by := func(c caller.Caller) context.Context {
		c.AuthenticatedAt, c.ClientID, c.AuthorizationID = w.g.Now(), "app", "a"
		return testkit.As(t.Context(), w.g, c)
	}
	trusted := member("ORG_OWNER")
	trusted.ClientTrusted = true
	now, long := w.g.Now(), strings.Repeat("x", 201)
	for name, c := range map[string]struct {
		ctx     context.Context
		user    string
		want    string
		reached string
	}{
		"another":                        {as(time.Time{}, "ORG_OWNER"), "below", "", "asked as u SetPassword"},
		"left and checked":               {as(now, "ORG_OWNER"), "checked", "", "asked as u SetPassword"},
		"left and forgotten":             {as(now, "ORG_OWNER"), "forgotten", "INTERNAL", "asked as u SetPassword"},
		"one above":                      {as(now, "ORG_OWNER"), "above", "PERMISSION_DENIED", "asked as u"},
		"one above, no permission":       {as(now), "above", "PERMISSION_DENIED", ""},
		"one above, against the rules":   {as(now, "ORG_OWNER"), long, "NOT_FOUND", ""},
		"oneself":                        {as(now.Add(-9*time.Minute), "ORG_OWNER"), "u", "", "SetPassword"},
		"oneself, an old login":          {as(now.Add(-11*time.Minute), "ORG_OWNER"), "u", "FRESH_LOGIN_REQUIRED", ""},
		"oneself, an application":        {by(member("ORG_OWNER")), "u", "APP_NOT_TRUSTED", ""},
		"oneself, a trusted application": {by(trusted), "u", "", "SetPassword"},
		"another, an application":        {by(member("ORG_OWNER")), "below", "", "asked as u SetPassword"},
		"oneself, a token without login": {as(time.Time{}, "ORG_OWNER"), "u", "FRESH_LOGIN_REQUIRED", ""},
	} {
		t.Run(name, func(t *testing.T) {
			reached = nil
			_, err := w.gateway.SetPassword(c.ctx, &usersv1.SetPasswordRequest{UserId: c.user, Password: "p"})
			if c.want == "" && err != nil {
				t.Error(err)
			} else if c.want != "" {
				wants(t, err, c.want)
			}
			if got := strings.Join(reached, " "); got != c.reached {
				t.Errorf("reached %q, want %q", got, c.reached)
			}
		})
	}
	if _, err := w.gateway.AddMyPersonalAccessToken(as(now), &usersv1.AddMyPersonalAccessTokenRequest{}); err != nil {
		t.Error(err)
	}
	_, err := w.gateway.AddMyPersonalAccessToken(as(time.Time{}), &usersv1.AddMyPersonalAccessTokenRequest{})
	wants(t, err, "FRESH_LOGIN_REQUIRED")
}
