package token_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// resources returns parameters that name projects (RFC 8707).
func resources(projectIDs ...string) url.Values {
	v := url.Values{}
	for _, id := range projectIDs {
		v.Add("resource", "urn:service:iam:org:project:id:"+id)
	}
	return v
}

// with posts a form of a client with further parameters.
func with(w *testworld.OAuth, path, client string, more url.Values, form ...string) testworld.Answer {
	w.Helper()
	values := maps.Clone(more)
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(client, "secret")
	return w.Send(r)
}

// askFor sends the browser to the authorization endpoint with further parameters.
func askFor(w *testworld.OAuth, more url.Values, changes ...string) *httptest.ResponseRecorder {
	w.Helper()
	return w.Visit("GET", "/oauth/v2/authorize?"+testworld.Query(changes...).Encode()+"&"+more.Encode(), nil)
}

// A client gets tokens only for resources that its organization owns or of which it has accepted a grant, whichever way
// it asks.
func TestResourceNamesOnlyProjectsOfTheOrganization(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { devices(w) })
	ways := map[string]func(url.Values) (refused string){
		"authorization": func(v url.Values) string { return w.Back(askFor(w, v)).Get("error") },
		"device": func(v url.Values) string {
			return with(w, "/oauth/v2/device_authorization", "web", v, "scope", "openid").Text("error")
		},
	}
	for _, client := range []string{"api", "robot"} {
		ways[client] = func(v url.Values) string {
			return with(w, "/oauth/v2/token", client, v, "grant_type", "client_credentials").Text("error")
		}
	}
	many := make([]string, 21)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for what, test := range map[string]struct {
		resource url.Values
		want     string
	}{
		"accepted":  {resources("accepted"), ""},
		"twice":     {resources("accepted", "accepted"), ""},
		"pending":   {resources("pending"), "invalid_target"},
		"foreign":   {resources("foreign"), "invalid_target"},
		"unknown":   {resources("unknown"), "invalid_target"},
		"one bad":   {resources("accepted", "foreign"), "invalid_target"},
		"too many":  {resources(many...), "invalid_target"},
		"no URI":    {url.Values{"resource": {"accepted"}}, "invalid_target"},
		"no UTF-8":  {url.Values{"resource": {"\xff"}}, "invalid_target"},
		"two lines": {url.Values{"resource": {"urn:service:iam:org:project:id:accepted\nx"}}, "invalid_target"},
		"empty":     {url.Values{"resource": {""}}, ""},
	} {
		for way, ask := range ways {
			w.Run(way+", "+what, func() {
				if got := ask(test.resource); got != test.want {
					w.Errorf("%q, want %q", got, test.want)
				}
			})
		}
	}
	w.Run("own project", func() {
		if got := w.Back(askFor(w, resources("p1"))).Get("code"); got == "" {
			w.Error("no code")
		}
	})
	w.Run("foreign by scope", func() {
		got := w.Back(askFor(w, resources("accepted"), "scope", of("foreign"))).Get("error")
		if got != "invalid_scope" {
			w.Error(got)
		}
	})
}

// audience fails the test unless a token is for these, besides its client and the client's project.
func audience(w *testworld.OAuth, a testworld.Answer, client string, projects ...string) {
	w.Helper()
	var got []string
	aud, _ := inJWT(w, w.Good(a).Text("access_token"))["aud"].([]any)
	for _, who := range aud {
		if who != client && who != "p1" {
			got = append(got, fmt.Sprint(who))
		}
	}
	if slices.Sort(got); !slices.Equal(got, projects) {
		w.Errorf("for %v, want %v", got, projects)
	}
}

// A resource chooses the audience. A later request may choose less of it, and not more.
func TestResourceChoosesTheAudience(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() {
		devices(w)
		setFormat(w, "OIDC_TOKEN_TYPE_JWT")
		w.Named["second"] = &projectsv1.ResolveAccessResponse{Project: w.Named["accepted"].Project, OrgHasProject: true,
			Grounds: "1.s"}
		w.Named["second"].Project = &projectsv1.Project{Id: "second"}
	})
	redeem := func(code string, of ...string) testworld.Answer {
		return with(w, "/oauth/v2/token", "web", resources(of...), "grant_type", "authorization_code", "code", code,
			"redirect_uri", testworld.Callback, "code_verifier", testworld.Verifier)
	}
	code := func() string { return w.Back(askFor(w, resources("accepted", "second"))).Get("code") }
	audience(w, redeem(code()), "web", "accepted", "second")
	one := redeem(code(), "second")
	audience(w, one, "web", "second")
	refresh := func(scope string, of ...string) testworld.Answer {
		return with(w, "/oauth/v2/token", "web", resources(of...), "grant_type", "refresh_token", "refresh_token",
			one.Text("refresh_token"), "scope", scope)
	}
	audience(w, refresh(""), "web", "accepted", "second")
	audience(w, refresh("", "accepted"), "web", "accepted")
	audience(w, refresh("", "p1"), "web")
	audience(w, refresh("openid", "second"), "web", "second")
	for _, not := range []string{"third", "service", "foreign"} {
		w.Refused(refresh("", not), 400, "invalid_target")
	}
	late := code()
	w.Refused(redeem(late, "third"), 400, "invalid_target")
	audience(w, redeem(late), "web", "accepted", "second") // the refusal has not ended the code
	device := with(w, "/oauth/v2/device_authorization", "web", resources("accepted", "second"), "scope", "openid")
	letIn(w, entered(w, device))
	audience(w, with(w, "/oauth/v2/token", "web", resources("accepted"), "grant_type", string(domain.GrantDevice),
		"device_code", device.Text("device_code")), "web", "accepted")
	audience(w, with(w, "/oauth/v2/token", "robot", resources("accepted"), "grant_type", "client_credentials"), "robot",
		"accepted")
	audience(w, with(w, "/oauth/v2/token", "robot", resources("service"), "grant_type", "client_credentials"), "robot",
		"service")
}

// The checks of a project that a resource names apply, and the person agrees to it on a page that names it.
func TestResourceIsCheckedAndNamed(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { w.Named["accepted"].OrgHasProject = false })
	to := askFor(w, resources("accepted")).Header().Get("Location")
	if page := w.Visit("GET", to, nil).Body.String(); !strings.Contains(page, "Project accepted") {
		t.Errorf("%s: %s", to, page)
	}
	to = askFor(w, resources("service")).Header().Get("Location")
	if !strings.HasPrefix(to, "/ui/login/consent?") {
		t.Errorf("the API of Herald without a question: %s", to)
	}
	w.Change(func() { w.Named["accepted"].Project.ProjectRoleCheck = true })
	if got := w.Back(askFor(w, resources("accepted"))).Get("error"); got != "access_denied" {
		t.Error(got)
	}
}
