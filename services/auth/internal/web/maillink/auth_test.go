package maillink_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/mailer"
	"herald/shared/testkit"
)

// pageCase is a request for a page and the expected answer.
type pageCase struct {
	name   string
	uri    string
	form   url.Values
	status int
	page   string // whose title is the heading
	fault  string // the text beside the field
}

const wrongOrUsed = "This code is wrong or was already used. If you have just used it, there is nothing more to do."

// cases returns the cases that every kind of mail has.
func cases(j testworld.Journey) []pageCase {
	long := strings.Repeat("x", 201)
	return []pageCase{
		{"form", j.Link(), nil, 200, j.Form, ""},
		{"form without code", j.Path + "?userID=u1", nil, 200, j.Form, ""},
		{"expired on opening", j.Link("code", "expired2"), nil, 400, "expired", ""},
		{"wrong or used on opening", j.Link("code", "WRONG222"), nil, 400, "linkgone", ""},
		{"too many tries look like wrong on opening", j.Link("code", "LOCKED22"), nil, 400, "linkgone", ""},
		{"users away on opening", j.Link("code", "AWAY2222"), nil, 503, "away", ""},
		{"no user", j.Path + "?code=GUTERKXD", nil, 400, "malformed", ""},
		{"impossible user", j.Link("userID", long), nil, 400, "malformed", ""},
		{"NUL in the user", j.Link("userID", "a\x00"), nil, 400, "malformed", ""},
		{"user not UTF-8", j.Link("userID", "a\xff"), nil, 400, "malformed", ""},
		{"broken query", j.Path + "?userID=u1&code=%zz", nil, 400, "malformed", ""},
		{"semicolons", j.Path + "?userID=u1;code=GUTERKXD", nil, 400, "malformed", ""},

		{"done", j.Path, j.Filled(), 200, j.Kind + ".done", ""},
		{"code typed freely", j.Path, j.Filled("code", " guter-ｋｘｄ "), 200, j.Kind + ".done", ""},
		{"no code", j.Path, j.Filled("code", " - "), 400, j.Form, "Enter the code from the email."},
		{"wrong code", j.Path, j.Filled("code", "WRONG222"), 400, j.Form, wrongOrUsed},
		{"expired while typing", j.Path, j.Filled("code", "OVERDUE2"), 400, "expired", ""},
		{"too many tries", j.Path, j.Filled("code", "LOCKED22"), 429, "locked", ""},
		{"users busy", j.Path, j.Filled("code", "BUSY2222"), 429, "away", ""},
		{"users away", j.Path, j.Filled("code", "AWAY2222"), 503, "away", ""},
		{"users slow", j.Path, j.Filled("code", "SLOW2222"), 504, "away", ""},
		{"users broken", j.Path, j.Filled("code", "BROKEN22"), 500, "failed", ""},
		{"not allowed to call users", j.Path, j.Filled("code", "DENIED22"), 500, "failed", ""},
		{"form without user", j.Path, j.Filled("userID", ""), 400, "malformed", ""},
		{"parameters of a form in the address", j.Path + "?" + j.Filled().Encode(), url.Values{}, 400, "malformed", ""},

		{"resend", j.Path + "/resend", testworld.Linked(), 200, j.Kind + ".resent", ""},
		{"resend for nobody", j.Path + "/resend", testworld.Linked("userID", "nobody"), 200, j.Kind + ".resent", ""},
		{"resend without user", j.Path + "/resend", testworld.Linked("userID", ""), 400, "malformed", ""},
		{"resend is no link", j.Path + "/resend?" + testworld.Linked().Encode(), nil, 404, "unknown", ""},

		{"unknown below", j.Path + "/x", nil, 404, "unknown", ""},
		{"upper case", strings.ToUpper(j.Path), nil, 404, "unknown", ""},
	}
}

// passwordCases returns the cases of a form that asks for a password.
func passwordCases(j testworld.Journey) []pageCase {
	return []pageCase{
		{"no password", j.Path, j.Filled("password", ""), 400, j.Form, "Choose a password."},
		{"different passwords", j.Path, j.Filled("confirmation", "Tr0ub4dor4"), 400, j.Form,
			"The two passwords are different."},
		{"no confirmation", j.Path, j.Filled("confirmation", ""), 400, j.Form, "The two passwords are different."},
		{"not UTF-8", j.Path, j.Filled("password", "\xff", "confirmation", "\xff"), 400, j.Form,
			"This password contains characters that cannot be used."},
		{"refused", j.Path, j.Filled("password", "short", "confirmation", "short"), 400, j.Form,
			"This password is too short. Use at least 8 characters."},
		{"refused for a new reason", j.Path, j.Filled("password", "odd", "confirmation", "odd"), 400, j.Form,
			`No <b>odd</b> passwords & the "like"`},
		{"missing says users", j.Path, j.Filled("code", "NEEDSPW2"), 400, j.Form, "Choose a password."},
	}
}

func TestEachAnswerOfUsersHasAPage(t *testing.T) {
	t.Parallel()
	h, _, _ := testworld.New(t)
	check := func(kind string, cases []pageCase) {
		for _, c := range cases {
			t.Run(kind+"/"+c.name, func(t *testing.T) { t.Parallel(); checkPage(t, h, c) })
		}
	}
	for _, j := range testworld.Journeys {
		check(j.Kind, cases(j))
		if j.Password {
			check(j.Kind+" password", passwordCases(j))
		}
	}
	check("initialize", []pageCase{
		{"form for a user with a password", testworld.Initialize.Link("passwordset", "true"), nil, 200, "init.confirm",
			""},
		{"done without a new password", testworld.Initialize.Path, testworld.Linked("userID", "has-one", "passwordset",
			"true"), 200,
			"init.done", ""},
		{"password that only the link says is there", testworld.Initialize.Path, testworld.Linked("passwordset",
			"true"), 400, "init.form",
			"Choose a password."},
	})
	check("", []pageCase{
		{"password for a form without one", "/ui/login/mail/verification", testworld.Linked("code", "NEEDSPW2"), 500,
			"failed", ""},
		{"unknown", "/ui/", nil, 404, "unknown", ""},
		{"unknown form", "/ui/login/user", testworld.Initialize.Filled(), 404, "unknown", ""},
	})
}

func checkPage(t *testing.T, h http.Handler, c pageCase) {
	t.Helper()
	w := testworld.Call(t, h, c.uri, c.form)
	root := testworld.Page(t, w)
	if title := testworld.PageTexts(t, "en")[c.page+".title"]; w.Code != c.status || title == "" ||
		root.Find("h1").Text() != title {
		t.Errorf("%d %q", w.Code, root.Find("h1").Text())
	}
	if got := root.Find("p", "class", "fault").Text(); got != c.fault {
		t.Errorf("beside the field: %q", got)
	}
	if faulty := strings.HasPrefix(root.Find("title").Text(), "Please check:"); faulty != (c.fault != "") {
		t.Errorf("title %q", root.Find("title").Text())
	}
	checkForms(t, w)
	testworld.CheckHeaders(t, w)
}

// checkForms checks what assistive technology and password managers need, and that no form contains a password that was
// typed.
func checkForms(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	root, body := testworld.Page(t, w), w.Body.String()
	if strings.Contains(body, "Tr0ub4dor3") || strings.Contains(body, "<script") {
		t.Error("the page has a password or a script")
	}
	for _, input := range root.All("input") {
		id, described := input.Attr("id"), input.Attr("aria-describedby")
		if id == "" {
			if input.Attr("type") != "hidden" && !input.Has("hidden") {
				t.Errorf("an input without id: %v", input.Node.Attr)
			}
			continue
		}
		for name := range strings.FieldsSeq(described) {
			if !root.Find("p", "id", name).Exists() {
				t.Errorf("%s is described by %q, which is not there", id, name)
			}
		}
		if input.Has("aria-invalid") && (!input.Has("autofocus") || !strings.Contains(described, id+"-fault")) {
			t.Errorf("%s is invalid: %v", id, input.Node.Attr)
		}
		if !root.Find("label", "for", id).Exists() || input.Attr("autocomplete") == "" {
			t.Errorf("%s has no label or no autocomplete", id)
		}
	}
	for n := range root.Node.Descendants() {
		for _, a := range n.Attr {
			if (a.Key == "action" || a.Key == "href") && !strings.HasPrefix(a.Val, "/ui/") && a.Val != "data:," &&
				!strings.HasPrefix(a.Val, "?") { // the page itself
				t.Errorf("%s leads to %q", n.Data, a.Val)
			}
		}
	}
}

func TestFormsSendUsersOnlyTheirFields(t *testing.T) {
	t.Parallel()
	h, u, _ := testworld.New(t)
	for _, j := range testworld.Journeys {
		secret := ""
		if j.Password {
			secret = " p w "
		}
		for _, test := range []struct {
			name, uri string
			form      url.Values
			want      proto.Message
		}{
			{"open", j.Link("code", "guter kxd"), nil, &usersv1.CheckCodeRequest{
				Kind: j.Kind, UserId: "u1", Code: "GUTERKXD",
			}},
			{"complete", j.Path, testworld.Linked("password", " p w ", "confirmation", " p w "),
				&usersv1.CompleteCodeRequest{
					Kind: j.Kind, UserId: "u1", Code: "GUTERKXD", Password: secret,
				}},
			{"no code", j.Path, j.Filled("code", ""), nil},
			{"no user", j.Path, j.Filled("userID", ""), nil},
			{"unknown page", j.Path + "/x", nil, nil},
		} {
			before := len(u.Requests())
			testworld.Call(t, h, test.uri, test.form)
			if got := u.Requests()[before:]; len(got) > 1 || len(got) == 0 != (test.want == nil) ||
				len(got) == 1 && !proto.Equal(got[0], test.want) {
				t.Errorf("%s %s: users was asked %v, want %v", j.Kind, test.name, got, test.want)
			}
		}
		// Different passwords do not reach users, which is only asked again whose code it is.
		before := len(u.Requests())
		testworld.Call(t, h, j.Path, testworld.Linked("password", "a", "confirmation", "b"))
		asked := u.Requests()[before:]
		want := proto.Message(&usersv1.CompleteCodeRequest{Kind: j.Kind, UserId: "u1", Code: "GUTERKXD"})
		if j.Password {
			want = &usersv1.CheckCodeRequest{Kind: j.Kind, UserId: "u1", Code: "GUTERKXD"}
		}
		if len(asked) != 1 || !proto.Equal(asked[0], want) {
			t.Errorf("%s: after different passwords users was asked %v, want %v", j.Kind, asked, want)
		}
	}
}

func TestLastPageNamesTheLogin(t *testing.T) {
	t.Parallel()
	h, _, _ := testworld.New(t)
	for _, j := range testworld.Journeys {
		w := testworld.Call(t, h, j.Path, j.Filled())
		if got := testworld.Page(t, w).Find("strong", "class", "name").Text(); got != "ada@example.com" {
			t.Errorf("%s: login name %q", j.Kind, got)
		}
	}
}

// A form asks for a password if its kind of mail needs one, or if users answers that one is missing.
func TestFormAsksForAMissingPassword(t *testing.T) {
	t.Parallel()
	h, _, _ := testworld.New(t)
	verify, reset := testworld.Journeys[1], testworld.Journeys[2]
	for _, test := range []struct {
		uri  string
		form url.Values
		want bool
	}{
		{testworld.Initialize.Link(), nil, true},
		{testworld.Initialize.Link("passwordset", "false"), nil, true},
		{testworld.Initialize.Link("passwordset", "yes please"), nil, true},
		{testworld.Initialize.Link("passwordset", "true"), nil, false},
		{testworld.Initialize.Path, testworld.Linked("passwordset", "true", "code", "WRONG222"), false},
		{testworld.Initialize.Path, testworld.Linked("passwordset", "true"), true},
		{verify.Link(), nil, false},
		{verify.Link("passwordset", "false"), nil, false},
		{verify.Path, testworld.Linked("code", "WRONG222"), false},
		{reset.Link(), nil, true},
		{reset.Link("passwordset", "true"), nil, true},
		{reset.Path, testworld.Linked("passwordset", "true", "code", "WRONG222"), true},
	} {
		t.Run(test.uri+" "+test.form.Encode(), func(t *testing.T) {
			root := testworld.Page(t, testworld.Call(t, h, test.uri, test.form))
			if got := root.Find("input", "name", "password").Exists(); got != test.want {
				t.Errorf("the form asks for a password: %t", got)
			}
		})
	}
	// The next form has the values of the link, until users returns others.
	for form, want := range map[string]bool{"WRONG222": true, "NEEDSPW2": false} {
		root := testworld.Page(t, testworld.Call(t, h, testworld.Initialize.Path, testworld.Linked("passwordset",
			"true", "code", form)))
		if got := root.Find("input", "name", "passwordset").Exists(); got != want {
			t.Errorf("after %s the form says that there is a password: %t", form, got)
		}
	}
}

// The link to try again has all the values of the link in the mail.
func TestLinkToTryAgainHasAllValues(t *testing.T) {
	t.Parallel()
	h := testworld.Open(t, testkit.Ground(t), testworld.Public) // the service users is not running
	for _, j := range testworld.Journeys {
		for uri, form := range map[string]url.Values{
			j.Link("passwordset", "true"): nil,
			j.Path: testworld.Linked("passwordset", "true", "password", "x", "confirmation",
				"x"),
		} {
			w := testworld.Call(t, h, uri, form)
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
				t.Errorf("%s: %d, Retry-After %q", uri, w.Code, w.Header().Get("Retry-After"))
			}
			back := testworld.Page(t, w).Find("a", "class", "button").Attr("href")
			again, err := url.Parse(back)
			if err != nil || again.Path != j.Path {
				t.Fatalf("leads back to %q", back)
			}
			if got, want := again.Query(), testworld.Linked("passwordset", "true"); !reflect.DeepEqual(got, want) {
				t.Errorf("leads back with %v, want %v", got, want)
			}
		}
	}
}

// The links that mails carry lead to these pages.
func TestLinksOfMailsOpenTheirPages(t *testing.T) {
	t.Parallel()
	h, u, _ := testworld.New(t)
	for _, j := range testworld.Journeys {
		m, err := mailer.Mail{PublicURL: testworld.Public, Kind: mail.Kind(j.Kind), UserID: "u/1&a=b",
			Reader: &usersv1.PrepareMailResponse{OrgId: "o1"}}.Render()
		if err != nil {
			t.Fatal(err)
		}
		if m, err = m.Fill("GUTERKXD"); err != nil {
			t.Fatal(err)
		}
		link, ok := strings.CutPrefix(strings.Fields(m.Text)[0], testworld.Public)
		if !ok || !strings.HasPrefix(link, j.Path+"?") {
			t.Fatalf("the mail %s leads to %s", j.Kind, m.Text)
		}
		checkPage(t, h, pageCase{j.Kind, link, nil, 200, j.Form, ""})
		asked := u.Requests()
		if want := (&usersv1.CheckCodeRequest{Kind: j.Kind, UserId: "u/1&a=b", Code: "GUTERKXD"}); !proto.Equal(
			asked[len(asked)-1], want) {
			t.Errorf("%s asks users %v", link, asked[len(asked)-1])
		}
	}
}
