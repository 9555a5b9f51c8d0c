package domain

import "testing"

// The project decides whose branding a login has. A user's organization counts only after the user has logged in.
func TestProjectDecidesOnBranding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting int32
		userOrg string
		want    string
	}{
		{0, "", "shops"}, {0, "users", "shops"},
		{1, "", "shops"}, {1, "users", "shops"},
		{2, "", "shops"}, {2, "users", "users"},
		{3, "users", "shops"},
	} {
		client := Client{ID: "c", OrgID: "shops", Project: Project{Branding: c.setting}}
		if got := client.BrandingOf(c.userOrg); got != c.want {
			t.Errorf("setting %d, user of %q: the branding of %q, want %q", c.setting, c.userOrg, got, c.want)
		}
	}
	for _, c := range []struct {
		setting              int32
		asked, userOrg, want string
	}{
		{0, "", "users", "shops"}, {0, "askeds", "", "askeds"}, {0, "askeds", "askeds", "askeds"},
		{1, "", "users", "shops"}, {1, "askeds", "", "shops"}, {1, "askeds", "askeds", "shops"},
		{2, "", "users", "users"}, {2, "askeds", "", "askeds"}, {2, "askeds", "askeds", "askeds"},
	} {
		client := Client{ID: "c", OrgID: "shops", Project: Project{Branding: c.setting}}
		if got := client.BrandingIn(c.asked, c.userOrg); got != c.want {
			t.Errorf("%+v: the branding of %q", c, got)
		}
	}
	if got := (Client{}).BrandingOf("users"); got != "users" {
		t.Errorf("without a client the page has the branding of %q", got)
	}
	if got := (Client{}).BrandingOf(""); got != "" {
		t.Errorf("before a login without a client the page has the branding of %q", got)
	}
}
