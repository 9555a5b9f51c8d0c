package auth

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

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
func (j journey) cases() []pageCase {
	long := strings.Repeat("x", 201)
	return []pageCase{
		{"form", j.link(), nil, 200, j.form, ""},
		{"form without code", j.path + "?userID=u1", nil, 200, j.form, ""},
		{"expired on opening", j.link("code", "expired2"), nil, 400, "expired", ""},
		{"wrong or used on opening", j.link("code", "WRONG222"), nil, 400, j.form, wrongOrUsed},
		{"too many tries look like wrong on opening", j.link("code", "LOCKED22"), nil, 400, j.form, wrongOrUsed},
		{"users away on opening", j.link("code", "AWAY2222"), nil, 503, "away", ""},
		{"no user", j.path + "?code=GUTERKXD", nil, 400, "malformed", ""},
		{"impossible user", j.link("userID", long), nil, 400, "malformed", ""},
		{"NUL in the user", j.link("userID", "a\x00"), nil, 400, "malformed", ""},
		{"user not UTF-8", j.link("userID", "a\xff"), nil, 400, "malformed", ""},
		{"broken query", j.path + "?userID=u1&code=%zz", nil, 400, "malformed", ""},
		{"semicolons", j.path + "?userID=u1;code=GUTERKXD", nil, 400, "malformed", ""},

		{"done", j.path, j.filled(), 200, j.kind + ".done", ""},
		{"code typed freely", j.path, j.filled("code", " guter-ｋｘｄ "), 200, j.kind + ".done", ""},
		{"no code", j.path, j.filled("code", " - "), 400, j.form, "Enter the code from the email."},
		{"wrong code", j.path, j.filled("code", "WRONG222"), 400, j.form, wrongOrUsed},
		{"expired while typing", j.path, j.filled("code", "OVERDUE2"), 400, "expired", ""},
		{"too many tries", j.path, j.filled("code", "LOCKED22"), 429, "locked", ""},
		{"users busy", j.path, j.filled("code", "BUSY2222"), 429, "away", ""},
		{"users away", j.path, j.filled("code", "AWAY2222"), 503, "away", ""},
		{"users slow", j.path, j.filled("code", "SLOW2222"), 504, "away", ""},
		{"users broken", j.path, j.filled("code", "BROKEN22"), 500, "failed", ""},
		{"not allowed to call users", j.path, j.filled("code", "DENIED22"), 500, "failed", ""},
		{"form without user", j.path, j.filled("userID", ""), 400, "malformed", ""},
		{"parameters of a form in the address", j.path + "?" + j.filled().Encode(), url.Values{}, 400, "malformed", ""},

		{"resend", j.path + "/resend", linked(), 200, j.kind + ".resent", ""},
		{"resend for nobody", j.path + "/resend", linked("userID", "nobody"), 200, j.kind + ".resent", ""},
		{"resend without user", j.path + "/resend", linked("userID", ""), 400, "malformed", ""},
		{"resend is no link", j.path + "/resend?" + linked().Encode(), nil, 404, "unknown", ""},

		{"unknown below", j.path + "/x", nil, 404, "unknown", ""},
		{"upper case", strings.ToUpper(j.path), nil, 404, "unknown", ""},
	}
}

// passwordCases returns the cases of a form that asks for a password.
func (j journey) passwordCases() []pageCase {
	return []pageCase{
		{"no password", j.path, j.filled("password", ""), 400, j.form, "Choose a password."},
		{"different passwords", j.path, j.filled("confirmation", "Tr0ub4dor4"), 400, j.form,
			"The two passwords are different."},
		{"no confirmation", j.path, j.filled("confirmation", ""), 400, j.form, "The two passwords are different."},
		{"not UTF-8", j.path, j.filled("password", "\xff", "confirmation", "\xff"), 400, j.form,
			"This password contains characters that cannot be used."},
		{"refused", j.path, j.filled("password", "short", "confirmation", "short"), 400, j.form,
			"This password is too short. Use at least 8 characters."},
		{"refused for a new reason", j.path, j.filled("password", "odd", "confirmation", "odd"), 400, j.form,
			`No <b>odd</b> passwords & the "like"`},
		{"missing says users", j.path, j.filled("code", "NEEDSPW2"), 400, j.form, "Choose a password."},
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	h, _, _ := world(t)
	check := func(kind string, cases []pageCase) {
		for _, c := range cases {
			t.Run(kind+"/"+c.name, func(t *testing.T) { t.Parallel(); checkPage(t, h, c) })
		}
	}
	for _, j := range journeys {
		check(j.kind, j.cases())
		if j.password {
			check(j.kind+" password", j.passwordCases())
		}
	}
	check("initialize", []pageCase{
		{"form for a user with a password", initialize.link("passwordset", "true"), nil, 200, "init.confirm", ""},
		{"done without a new password", initialize.path, linked("userID", "has-one", "passwordset", "true"), 200,
			"init.done", ""},
		{"password that only the link says is there", initialize.path, linked("passwordset", "true"), 400, "init.form",
			"Choose a password."},
	})
	check("", []pageCase{
		{"password for a form without one", "/ui/login/mail/verification", linked("code", "NEEDSPW2"), 500,
			"failed", ""},
		{"unknown", "/ui/", nil, 404, "unknown", ""},
		{"unknown form", "/ui/login/user", initialize.filled(), 404, "unknown", ""},
	})
}

func checkPage(t *testing.T, h http.Handler, c pageCase) {
	t.Helper()
	w := call(t, h, c.uri, c.form)
	root := parse(t, w.Body.String())
	if title := pageTexts(t, "en")[c.page+".title"]; w.Code != c.status || title == "" ||
		textOf(element(root, "h1", "", "")) != title {
		t.Errorf("%d %q", w.Code, textOf(element(root, "h1", "", "")))
	}
	if got := textOf(element(root, "p", "class", "fault")); got != c.fault {
		t.Errorf("beside the field: %q", got)
	}
	if faulty := strings.HasPrefix(textOf(element(root, "title", "", "")), "Please check:"); faulty != (c.fault != "") {
		t.Errorf("title %q", textOf(element(root, "title", "", "")))
	}
	checkForms(t, w.Body.String())
	checkHeaders(t, w)
}

// checkForms checks what assistive technology and password managers need, and that no form
// contains a password that was typed.
func checkForms(t *testing.T, body string) {
	t.Helper()
	root := parse(t, body)
	if strings.Contains(body, "Tr0ub4dor3") || strings.Contains(body, "<script") {
		t.Error("the page has a password or a script")
	}
	for n := range root.Descendants() {
		switch id, _ := attribute(n, "id"); {
		case n.Data == "input" && id == "":
			if kind, _ := attribute(n, "type"); kind != "hidden" {
				t.Errorf("an input without id: %v", n.Attr)
			}
		case n.Data == "input":
			described, _ := attribute(n, "aria-describedby")
			for name := range strings.FieldsSeq(described) {
				if element(root, "p", "id", name) == nil {
					t.Errorf("%s is described by %q, which is not there", id, name)
				}
			}
			_, focused := attribute(n, "autofocus")
			if _, invalid := attribute(n, "aria-invalid"); invalid &&
				(!focused || !strings.Contains(described, id+"-fault")) {
				t.Errorf("%s is invalid: focused %t, described by %q", id, focused, described)
			}
			if complete, _ := attribute(n, "autocomplete"); element(root, "label", "for", id) == nil || complete == "" {
				t.Errorf("%s has no label or no autocomplete", id)
			}
		}
		for _, key := range []string{"action", "href"} {
			if where, ok := attribute(n, key); ok && !strings.HasPrefix(where, "/ui/") && where != "data:," &&
				!strings.HasPrefix(where, "?") { // the page itself
				t.Errorf("%s leads to %q", n.Data, where)
			}
		}
	}
}

func TestWhatUsersIsAsked(t *testing.T) {
	t.Parallel()
	h, u, _ := world(t)
	for _, j := range journeys {
		secret := ""
		if j.password {
			secret = " p w "
		}
		for _, test := range []struct {
			name, uri string
			form      url.Values
			want      proto.Message
		}{
			{"open", j.link("code", "guter kxd"), nil, &usersv1.CheckCodeRequest{
				Kind: j.kind, UserId: "u1", Code: "GUTERKXD",
			}},
			{"complete", j.path, linked("password", " p w ", "confirmation", " p w "), &usersv1.CompleteCodeRequest{
				Kind: j.kind, UserId: "u1", Code: "GUTERKXD", Password: secret,
			}},
			{"no code", j.path, j.filled("code", ""), nil},
			{"no user", j.path, j.filled("userID", ""), nil},
			{"unknown page", j.path + "/x", nil, nil},
		} {
			before := len(u.requests())
			call(t, h, test.uri, test.form)
			if got := u.requests()[before:]; len(got) > 1 || len(got) == 0 != (test.want == nil) ||
				len(got) == 1 && !proto.Equal(got[0], test.want) {
				t.Errorf("%s %s: users was asked %v, want %v", j.kind, test.name, got, test.want)
			}
		}
		// Different passwords do not reach users, which is only asked again whose code it is.
		before := len(u.requests())
		call(t, h, j.path, linked("password", "a", "confirmation", "b"))
		asked := u.requests()[before:]
		want := proto.Message(&usersv1.CompleteCodeRequest{Kind: j.kind, UserId: "u1", Code: "GUTERKXD"})
		if j.password {
			want = &usersv1.CheckCodeRequest{Kind: j.kind, UserId: "u1", Code: "GUTERKXD"}
		}
		if len(asked) != 1 || !proto.Equal(asked[0], want) {
			t.Errorf("%s: after different passwords users was asked %v, want %v", j.kind, asked, want)
		}
	}
}

func TestDoneNamesTheLogin(t *testing.T) {
	t.Parallel()
	h, _, _ := world(t)
	for _, j := range journeys {
		w := call(t, h, j.path, j.filled())
		if got := textOf(element(parse(t, w.Body.String()), "strong", "class", "name")); got != "ada@example.com" {
			t.Errorf("%s: login name %q", j.kind, got)
		}
	}
}

// A form asks for a password if its kind of mail needs one or users says that one is missing.
func TestPasswordIsAskedWhereItIsMissing(t *testing.T) {
	t.Parallel()
	h, _, _ := world(t)
	verify, reset := journeys[1], journeys[2]
	for _, test := range []struct {
		uri  string
		form url.Values
		want bool
	}{
		{initialize.link(), nil, true},
		{initialize.link("passwordset", "false"), nil, true},
		{initialize.link("passwordset", "yes please"), nil, true},
		{initialize.link("passwordset", "true"), nil, false},
		{initialize.path, linked("passwordset", "true", "code", "WRONG222"), false},
		{initialize.path, linked("passwordset", "true"), true},
		{verify.link(), nil, false},
		{verify.link("passwordset", "false"), nil, false},
		{verify.path, linked("code", "WRONG222"), false},
		{reset.link(), nil, true},
		{reset.link("passwordset", "true"), nil, true},
		{reset.path, linked("passwordset", "true", "code", "WRONG222"), true},
	} {
		root := parse(t, call(t, h, test.uri, test.form).Body.String())
		if got := element(root, "input", "name", "password") != nil; got != test.want {
			t.Errorf("%s %v asks for a password: %t", test.uri, test.form, got)
		}
	}
	// The next form has the values of the link, until users returns others.
	for form, want := range map[string]bool{"WRONG222": true, "NEEDSPW2": false} {
		root := parse(t, call(t, h, initialize.path, linked("passwordset", "true", "code", form)).Body.String())
		if got := element(root, "input", "name", "passwordset") != nil; got != want {
			t.Errorf("after %s the form says that there is a password: %t", form, got)
		}
	}
}

// The link to try again has all the values of the link in the mail.
func TestLinkToTryAgainHasAllValues(t *testing.T) {
	t.Parallel()
	h := open(t, testkit.Ground(t), public) // the service users is not running
	for _, j := range journeys {
		for uri, form := range map[string]url.Values{
			j.link("passwordset", "true"): nil,
			j.path:                        linked("passwordset", "true", "password", "x", "confirmation", "x"),
		} {
			w := call(t, h, uri, form)
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
				t.Errorf("%s: %d, Retry-After %q", uri, w.Code, w.Header().Get("Retry-After"))
			}
			back, _ := attribute(element(parse(t, w.Body.String()), "a", "class", "button"), "href")
			again, err := url.Parse(back)
			if err != nil || again.Path != j.path {
				t.Fatalf("leads back to %q", back)
			}
			if got, want := again.Query(), linked("passwordset", "true"); !reflect.DeepEqual(got, want) {
				t.Errorf("leads back with %v, want %v", got, want)
			}
		}
	}
}

// The links that mails carry lead to these pages.
func TestLinksOfMails(t *testing.T) {
	t.Parallel()
	h, u, _ := world(t)
	for _, j := range journeys {
		m, err := mailer.Mail{PublicURL: public, Kind: mail.Kind(j.kind), UserID: "u/1&a=b",
			Reader: &usersv1.PrepareMailResponse{OrgId: "o1"}}.Render()
		if err != nil {
			t.Fatal(err)
		}
		if m, err = m.Fill("GUTERKXD"); err != nil {
			t.Fatal(err)
		}
		link, ok := strings.CutPrefix(strings.Fields(m.Text)[0], public)
		if !ok || !strings.HasPrefix(link, j.path+"?") {
			t.Fatalf("the mail %s leads to %s", j.kind, m.Text)
		}
		checkPage(t, h, pageCase{j.kind, link, nil, 200, j.form, ""})
		asked := u.requests()
		if want := (&usersv1.CheckCodeRequest{Kind: j.kind, UserId: "u/1&a=b", Code: "GUTERKXD"}); !proto.Equal(
			asked[len(asked)-1], want) {
			t.Errorf("%s asks users %v", link, asked[len(asked)-1])
		}
	}
}
