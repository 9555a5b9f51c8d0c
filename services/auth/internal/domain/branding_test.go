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
		{0, "", ""}, {0, "users", ""},
		{1, "", "shops"}, {1, "users", "shops"},
		{2, "", "shops"}, {2, "users", "users"},
		{3, "users", ""},
	} {
		client := Client{OrgID: "shops", Project: Project{Branding: c.setting}}
		if got := client.BrandingOf(c.userOrg); got != c.want {
			t.Errorf("setting %d, user of %q: the branding of %q, want %q", c.setting, c.userOrg, got, c.want)
		}
	}
	for _, c := range []struct {
		setting              int32
		asked, userOrg, want string
	}{
		{0, "", "users", ""}, {0, "askeds", "", "askeds"}, {0, "askeds", "askeds", "askeds"},
		{1, "", "users", "shops"}, {1, "askeds", "", "shops"}, {1, "askeds", "askeds", "shops"},
		{2, "", "users", "users"}, {2, "askeds", "", "askeds"}, {2, "askeds", "askeds", "askeds"},
	} {
		client := Client{OrgID: "shops", Project: Project{Branding: c.setting}}
		if got := client.BrandingIn(c.asked, c.userOrg); got != c.want {
			t.Errorf("%+v: the branding of %q", c, got)
		}
	}
	if got := (Client{}).BrandingOf("users"); got != "" {
		t.Errorf("without a client the page has the branding of %q", got)
	}
}
