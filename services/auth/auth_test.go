package auth

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

const (
	formTitle    = "Activate your account"
	expiredTitle = "This code has expired"
	lockedTitle  = "Too many attempts"
	resentTitle  = "Check your inbox"
	doneTitle    = "Your account is active"
	awayTitle    = "One moment, please"
	failedTitle  = "Something went wrong"
	brokenLink   = "This link is incomplete"
	unknownTitle = "Page not found"
)

func TestPages(t *testing.T) {
	t.Parallel()
	h, _ := world(t)
	long := strings.Repeat("x", 201)
	for _, test := range []struct {
		name   string
		uri    string
		form   url.Values
		status int
		title  string
		fault  string // the text beside the field
	}{
		{"form", initPath + "?" + mailed().Encode(), nil, 200, formTitle, ""},
		{"form without code", initPath + "?userID=u1", nil, 200, formTitle, ""},
		{"form for a user with a password", initPath + "?" + mailed("passwordset", "true").Encode(), nil, 200, formTitle, ""},
		{"expired on opening", initPath + "?" + mailed("code", "expired2").Encode(), nil, 400, expiredTitle, ""},
		{"wrong on opening looks like right", initPath + "?" + mailed("code", "WRONG222").Encode(), nil, 200, formTitle, ""},
		{"users away on opening", initPath + "?" + mailed("code", "AWAY2222").Encode(), nil, 503, awayTitle, ""},
		{"no user", initPath + "?code=GUTERKXD", nil, 400, brokenLink, ""},
		{"impossible user", initPath + "?userID=" + long, nil, 400, brokenLink, ""},
		{"NUL in the user", initPath + "?userID=a%00", nil, 400, brokenLink, ""},
		{"user not UTF-8", initPath + "?userID=a%ff", nil, 400, brokenLink, ""},
		{"broken query", initPath + "?userID=u1&code=%zz", nil, 400, brokenLink, ""},
		{"semicolons", initPath + "?userID=u1;code=GUTERKXD", nil, 400, brokenLink, ""},

		{"done", initPath, filled(), 200, doneTitle, ""},
		{"code typed freely", initPath, filled("code", " guter-ｋｘｄ "), 200, doneTitle, ""},
		{"done without a new password", initPath, mailed("userID", "has-one", "passwordset", "true"), 200, doneTitle, ""},
		{"no code", initPath, filled("code", " - "), 400, formTitle, "Enter the code from the email."},
		{"no password", initPath, filled("password", ""), 400, formTitle, "Choose a password."},
		{"password that only the link says is there", initPath, mailed("passwordset", "true"), 400, formTitle, "Choose a password."},
		{"different passwords", initPath, filled("confirmation", "Tr0ub4dor4"), 400, formTitle, "The two passwords are different."},
		{"no confirmation", initPath, filled("confirmation", ""), 400, formTitle, "The two passwords are different."},
		{"password not UTF-8", initPath, filled("password", "\xff", "confirmation", "\xff"), 400, formTitle, "This password contains characters that cannot be used."},
		{"password refused", initPath, filled("password", "short", "confirmation", "short"), 400, formTitle, "This password is too short. Use at least 8 characters."},
		{"password refused for a new reason", initPath, filled("password", "odd", "confirmation", "odd"), 400, formTitle, `No <b>odd</b> passwords & the "like"`},
		{"wrong code", initPath, filled("code", "WRONG222"), 400, formTitle, "This code is wrong or was already used. If you have just activated your account, you can simply sign in."},
		{"expired while typing", initPath, filled("code", "OVERDUE2"), 400, expiredTitle, ""},
		{"too many tries", initPath, filled("code", "LOCKED22"), 429, lockedTitle, ""},
		{"users busy", initPath, filled("code", "BUSY2222"), 429, awayTitle, ""},
		{"users away", initPath, filled("code", "AWAY2222"), 503, awayTitle, ""},
		{"users slow", initPath, filled("code", "SLOW2222"), 504, awayTitle, ""},
		{"users broken", initPath, filled("code", "BROKEN22"), 500, failedTitle, ""},
		{"not allowed to call users", initPath, filled("code", "DENIED22"), 500, failedTitle, ""},
		{"form without user", initPath, filled("userID", ""), 400, brokenLink, ""},
		{"parameters of a form in the address", initPath + "?" + filled().Encode(), url.Values{}, 400, brokenLink, ""},

		{"resend", initPath + "/resend", mailed(), 200, resentTitle, ""},
		{"resend for nobody", initPath + "/resend", mailed("userID", "nobody"), 200, resentTitle, ""},
		{"resend without user", initPath + "/resend", mailed("userID", ""), 400, brokenLink, ""},
		{"resend when users is busy", initPath + "/resend", mailed("userID", "busy"), 429, awayTitle, ""},
		{"resend is no link", initPath + "/resend?" + mailed().Encode(), nil, 404, unknownTitle, ""},

		{"unknown", "/ui/", nil, 404, unknownTitle, ""},
		{"unknown below", initPath + "/x", nil, 404, unknownTitle, ""},
		{"upper case", strings.ToUpper(initPath), nil, 404, unknownTitle, ""},
		{"unknown form", "/ui/login/user", filled(), 404, unknownTitle, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := call(t, h, test.uri, test.form)
			root := parse(t, w.Body.String())
			if w.Code != test.status || text(element(root, "h1", "", "")) != test.title {
				t.Errorf("%d %q", w.Code, text(element(root, "h1", "", "")))
			}
			if got := text(element(root, "p", "class", "fault")); got != test.fault {
				t.Errorf("beside the field: %q", got)
			}
			if faulty := strings.HasPrefix(text(element(root, "title", "", "")), "Please check:"); faulty != (test.fault != "") {
				t.Errorf("title %q", text(element(root, "title", "", "")))
			}
			checkForms(t, w.Body.String())
			checkHeaders(t, w)
		})
	}
}

// checkForms holds what assistive technology and password managers need, and that no
// password comes back.
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
			if _, invalid := attribute(n, "aria-invalid"); invalid && (!focused || !strings.Contains(described, id+"-fault")) {
				t.Errorf("%s is invalid: focused %t, described by %q", id, focused, described)
			}
			if complete, _ := attribute(n, "autocomplete"); element(root, "label", "for", id) == nil || complete == "" {
				t.Errorf("%s has no label or no autocomplete", id)
			}
		}
		for _, key := range []string{"action", "href"} {
			if where, ok := attribute(n, key); ok && !strings.HasPrefix(where, "/ui/") && where != "data:," {
				t.Errorf("%s leads to %q", n.Data, where)
			}
		}
	}
}

func TestWhatUsersIsAsked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, uri string
		form      url.Values
		want      proto.Message
	}{
		{"open", initPath + "?" + mailed("code", "guter kxd").Encode(), nil, &usersv1.CheckCodeRequest{Kind: "init", UserId: "u1", Code: "GUTERKXD"}},
		{"complete", initPath, filled("password", " p w ", "confirmation", " p w "), &usersv1.CompleteCodeRequest{Kind: "init", UserId: "u1", Code: "GUTERKXD", Password: " p w "}},
		{"resend", initPath + "/resend", mailed(), &usersv1.RequestCodeRequest{Kind: "init", UserId: "u1"}},
		{"different passwords", initPath, filled("confirmation", "x"), nil},
		{"no code", initPath, filled("code", ""), nil},
		{"no user", initPath, filled("userID", ""), nil},
		{"unknown page", "/ui/x", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h, u := world(t)
			call(t, h, test.uri, test.form)
			if got := u.requests(); len(got) > 1 || len(got) == 0 != (test.want == nil) || len(got) == 1 && !proto.Equal(got[0], test.want) {
				t.Errorf("users was asked %v, want %v", got, test.want)
			}
		})
	}
}

func TestDoneNamesTheLogin(t *testing.T) {
	t.Parallel()
	h, _ := world(t)
	w := call(t, h, initPath, filled())
	if got := text(element(parse(t, w.Body.String()), "strong", "class", "name")); got != "ada@example.com" {
		t.Errorf("login name %q", got)
	}
}

// A page for a user who has a password asks for none, unless users says that one is missing.
func TestPasswordIsAskedWhereItIsMissing(t *testing.T) {
	t.Parallel()
	h, _ := world(t)
	for _, test := range []struct {
		uri  string
		form url.Values
		want bool
	}{
		{initPath + "?" + mailed().Encode(), nil, true},
		{initPath + "?" + mailed("passwordset", "yes please").Encode(), nil, true},
		{initPath + "?" + mailed("passwordset", "true").Encode(), nil, false},
		{initPath, mailed("passwordset", "true", "code", "WRONG222"), false},
		{initPath, mailed("passwordset", "true"), true},
	} {
		root := parse(t, call(t, h, test.uri, test.form).Body.String())
		if got := element(root, "input", "name", "password") != nil; got != test.want {
			t.Errorf("%s %v asks for a password: %t", test.uri, test.form, got)
		}
		if kept, _ := attribute(element(root, "input", "name", "passwordset"), "value"); kept != fmt.Sprint(!test.want) {
			t.Errorf("%s %v goes on with passwordset=%s", test.uri, test.form, kept)
		}
	}
}

// Retrying leads back to where the reader came from, with all that the mail said.
func TestRetry(t *testing.T) {
	t.Parallel()
	h := open(t, testkit.Ground(t), public) // nobody answers for users
	for uri, form := range map[string]url.Values{initPath + "?" + mailed().Encode(): nil, initPath: filled(), initPath + "/resend": mailed()} {
		w := call(t, h, uri, form)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: %d, Retry-After %q", uri, w.Code, w.Header().Get("Retry-After"))
		}
		back, _ := attribute(element(parse(t, w.Body.String()), "a", "class", "button"), "href")
		again, err := url.Parse(back)
		if err != nil || again.Path != initPath {
			t.Fatalf("leads back to %q", back)
		}
		if got, want := again.Query(), mailed(); uri != initPath+"/resend" && !reflect.DeepEqual(got, want) {
			t.Errorf("leads back with %v, want %v", got, want)
		}
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{
		{DefaultLanguage: "tlh"}, {},
	} {
		s := kit.Open(t, testkit.Ground(t))
		if err := New(t.Context(), s, c); err == nil {
			t.Errorf("starts with %+v", c)
		}
		s.Close()
	}
}
