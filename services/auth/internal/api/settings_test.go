package api_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/auth/internal/testworld"
	"herald/shared/caller"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// The settings are read with their origins, replaced, and the change is one event. A change of nothing is none.
func TestSettingsAreSet(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	as := func(role string) context.Context {
		return testkit.As(t.Context(), b.Ground, caller.Caller{UserID: "admin",
			Memberships: []caller.Membership{{Roles: []string{role}}}})
	}
	origins := func(access heraldv1.SettingSource) (all []*heraldv1.SettingOrigin) {
		for _, field := range []string{"accessTokenLifetime", "refreshTokenIdleExpiration", "refreshTokenExpiration",
			"signingKeyDays"} {
			all = append(all, &heraldv1.SettingOrigin{Field: field,
				Source: heraldv1.SettingSource_SETTING_SOURCE_DEFAULT})
		}
		all[0].Source = access
		return all
	}
	get := func() *authv1.Settings {
		t.Helper()
		r, err := b.Pages.Auth.GetSettings(as("IAM_OWNER_VIEWER"), &authv1.GetSettingsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return r.InstanceSettings
	}
	before := get()
	want := &authv1.Settings{Details: before.Details, AccessTokenLifetime: durationpb.New(time.Hour),
		RefreshTokenIdleExpiration: durationpb.New(720 * time.Hour),
		RefreshTokenExpiration:     durationpb.New(2160 * time.Hour), SigningKeyDays: 90,
		Origins: origins(heraldv1.SettingSource_SETTING_SOURCE_DEFAULT)}
	testkit.Equal(t, before, want)
	set := &authv1.SetSettingsRequest{AccessTokenLifetime: durationpb.New(10 * time.Minute)}
	first, err := b.Pages.Auth.SetSettings(as("IAM_OWNER"), set)
	if err != nil || first.Details.Sequence <= before.Details.Sequence {
		t.Fatal(first, err)
	}
	again, err := b.Pages.Auth.SetSettings(as("IAM_OWNER"), set)
	if err != nil || again.Details.Sequence != first.Details.Sequence {
		t.Errorf("the same again: %v, %v", again, err)
	}
	after := get()
	want.Details, want.AccessTokenLifetime = after.Details, set.AccessTokenLifetime
	want.Origins = origins(heraldv1.SettingSource_SETTING_SOURCE_API)
	testkit.Equal(t, after, want)
	_, err = b.Pages.Auth.SetSettings(as("IAM_OWNER_VIEWER"), set)
	testkit.Refused(t, err, "PERMISSION_DENIED")
	_, err = b.Pages.Auth.SetSettings(as("IAM_OWNER"), &authv1.SetSettingsRequest{SigningKeyDays: 366})
	testkit.Refused(t, err, "SETTINGS_INVALID")
}
