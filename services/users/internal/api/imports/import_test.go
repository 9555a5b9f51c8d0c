package imports_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"herald/services/users"
	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// The table that decides on the initialize-user mail: e-mail verified or not, with a password, a
// hash or neither.
func TestImportDecidesStateAndMail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	for name, c := range map[string]struct {
		verified       bool
		password, hash string
		state          usersv1.UserState
		mail           usersv1.InitMail
	}{
		"neither": {false, "", "", usersv1.UserState_USER_STATE_INITIAL, usersv1.InitMail_INIT_MAIL_QUEUED},
		"password only": {false, "correct horse", "", usersv1.UserState_USER_STATE_INITIAL,
			usersv1.InitMail_INIT_MAIL_QUEUED},
		"hash only": {false, "", testworld.SomeHash, usersv1.UserState_USER_STATE_INITIAL,
			usersv1.InitMail_INIT_MAIL_QUEUED},
		"verified only": {true, "", "", usersv1.UserState_USER_STATE_INITIAL, usersv1.InitMail_INIT_MAIL_QUEUED},
		"verified, password": {true, "correct horse", "", usersv1.UserState_USER_STATE_ACTIVE,
			usersv1.InitMail_INIT_MAIL_NOT_NEEDED},
		"verified, hash": {true, "", testworld.SomeHash, usersv1.UserState_USER_STATE_ACTIVE,
			usersv1.InitMail_INIT_MAIL_NOT_NEEDED},
	} {
		t.Run(name, func(t *testing.T) {
			r := testworld.Minimal(name)
			r.Email.IsEmailVerified, r.Password, r.HashedPassword = c.verified, c.password,
				&usersv1.HashedPassword{Value: c.hash}
			got := w.Import(w.Admin, r)
			u := w.User(got.UserId)
			if u.State != c.state || got.InitMail != c.mail {
				t.Errorf("state %v, mail %v; want %v, %v", u.State, got.InitMail, c.state, c.mail)
			}
			testkit.Equal(t, u.Details, got.Details)
			if codes := w.Rows("codes where user_id = $1",
				got.UserId); (codes == 1) != (c.mail == usersv1.InitMail_INIT_MAIL_QUEUED) {
				t.Errorf("%d codes", codes)
			}
		})
	}
}

// importRefusal is a change with which an import is refused, the fault's id, and a part of its
// message.
type importRefusal struct {
	id, says string
	change   func(*usersv1.ImportHumanUserRequest)
}

func TestImportRefusesPeople(t *testing.T) {
	t.Parallel()
	type request = usersv1.ImportHumanUserRequest
	long := strings.Repeat("ü", 201)
	importRefuses(t, map[string]importRefusal{
		"no user name":      {"INVALID_ARGUMENT", "userName", func(r *request) { r.UserName = "" }},
		"blank user name":   {"INVALID_ARGUMENT", "userName", func(r *request) { r.UserName = " \u2003" }},
		"long user name":    {"INVALID_ARGUMENT", "userName", func(r *request) { r.UserName = long }},
		"control character": {"INVALID_ARGUMENT", "userName", func(r *request) { r.UserName = "a\x00b" }},
		"line break":        {"INVALID_ARGUMENT", "userName", func(r *request) { r.UserName = "a\nb" }},
		"no profile":        {"INVALID_ARGUMENT", "profile", func(r *request) { r.Profile = nil }},
		"no first name": {"INVALID_ARGUMENT", "profile.firstName", func(r *request) {
			r.Profile.FirstName = ""
		}},
		"long first name": {"INVALID_ARGUMENT", "profile.firstName", func(r *request) {
			r.Profile.FirstName = long
		}},
		"no last name": {"INVALID_ARGUMENT", "profile.lastName", func(r *request) { r.Profile.LastName = " " }},
		"CR in last name": {"INVALID_ARGUMENT", "profile.lastName", func(r *request) {
			r.Profile.LastName = "a\rb"
		}},
		"long nick name": {"INVALID_ARGUMENT", "profile.nickName", func(r *request) {
			r.Profile.NickName = long
		}},
		"long display name": {"INVALID_ARGUMENT", "profile.displayName", func(r *request) {
			r.Profile.DisplayName = long
		}},
		"unknown gender": {"INVALID_ARGUMENT", "profile.gender", func(r *request) { r.Profile.Gender = 9 }},
		"long language": {"INVALID_ARGUMENT", "profile.preferredLanguage", func(r *request) {
			r.Profile.PreferredLanguage = "de-x" + strings.Repeat("-abcd", 7)
		}},
		"language": {"PREFERRED_LANGUAGE_INVALID", "profile.preferredLanguage", func(r *request) {
			r.Profile.PreferredLanguage = "de;drop"
		}},
		"no email":    {"INVALID_ARGUMENT", "email", func(r *request) { r.Email = nil }},
		"empty email": {"EMAIL_INVALID", "email.email", func(r *request) { r.Email.Email = "" }},
		"display name": {"EMAIL_INVALID", "email.email", func(r *request) {
			r.Email.Email = "Mini <mini@example.com>"
		}},
		"two addresses": {"EMAIL_INVALID", "email.email", func(r *request) {
			r.Email.Email = "a@example.com,b@example.com"
		}},
		"CR LF in email": {"INVALID_ARGUMENT", "email.email", func(r *request) {
			r.Email.Email = "a@example.com\r\nBcc: b@example.com"
		}},
		"quoted local part": {"EMAIL_INVALID", "email.email", func(r *request) {
			r.Email.Email = `"a b"@example.com`
		}},
		"no at": {"EMAIL_INVALID", "email.email", func(r *request) { r.Email.Email = "example.com" }},
		"long email": {"EMAIL_INVALID", "254", func(r *request) {
			r.Email.Email = strings.Repeat("a", 250) + "@b.ch"
		}},
		"phone": {"INVALID_ARGUMENT", "phone.phone", func(r *request) {
			r.Phone = &usersv1.Phone{Phone: "079 123 45 67"}
		}},
		"long phone": {"INVALID_ARGUMENT", "phone.phone", func(r *request) {
			r.Phone = &usersv1.Phone{Phone: "+1234567890123456"}
		}},
	})
}

func TestImportRefusesCredentials(t *testing.T) {
	t.Parallel()
	type request = usersv1.ImportHumanUserRequest
	importRefuses(t, map[string]importRefusal{
		"password and hash": {"PASSWORD_AND_HASH", "", func(r *request) {
			r.Password, r.HashedPassword = "correct horse", testworld.Hashed(testworld.SomeHash)
		}},
		"short password": {"PASSWORD_TOO_SHORT", "8", func(r *request) { r.Password = "1234567" }},
		"long password": {"PASSWORD_TOO_LONG", "128", func(r *request) {
			r.Password = strings.Repeat("a", 129)
		}},
		"common password": {"PASSWORD_TOO_COMMON", "", func(r *request) { r.Password = "password1" }},
		"unknown hash": {"PASSWORD_HASH_INVALID", "hashedPassword.value", func(r *request) {
			r.HashedPassword = testworld.Hashed("$foo$1$a$b")
		}},
		"plain text as hash": {"PASSWORD_HASH_INVALID", "hashedPassword.value", func(r *request) {
			r.HashedPassword = testworld.Hashed("hunter2")
		}},
		"costly hash": {"PASSWORD_HASH_INVALID", "pbkdf2-sha256", func(r *request) {
			r.HashedPassword = testworld.Hashed(strings.Replace(testworld.SomeHash, "6400", "1000000000", 1))
		}},
		"no rounds": {"PASSWORD_HASH_INVALID", "pbkdf2-sha256", func(r *request) {
			r.HashedPassword = testworld.Hashed(strings.Replace(testworld.SomeHash, "6400", "0", 1))
		}},
		"otp":       {"OTP_CODE_INVALID", "otpCode", func(r *request) { r.OtpCode = "not base 32!" }},
		"short otp": {"OTP_CODE_INVALID", "otpCode", func(r *request) { r.OtpCode = "JBSWY3DP" }},
		"a key of metadata twice": {"METADATA_KEY_TWICE", "metadata[1].key", func(r *request) {
			r.Metadata = []*usersv1.Metadata{{Key: "x", Value: []byte("1")}, {Key: "x", Value: []byte("1")}}
		}},
		"metadata without key": {"INVALID_ARGUMENT", "metadata[0].key", func(r *request) {
			r.Metadata = []*usersv1.Metadata{{Value: []byte("x")}}
		}},
	})
}

// importRefuses imports each case in the flat and in the wrapped shape. The fault must have the id
// and name the field, and nothing may be written.
func importRefuses(t *testing.T, cases map[string]importRefusal) {
	t.Helper()
	w := testworld.New(t)
	before := w.Rows("events")
	for name, c := range cases {
		for shape, wrap := range map[string]func(*usersv1.ImportHumanUserRequest) *usersv1.ImportHumanUserRequest{
			"flat": testworld.Flat, "wrapped": testworld.Wrapped,
		} {
			t.Run(name+" "+shape, func(t *testing.T) {
				r := testworld.Minimal("refused")
				c.change(r)
				_, err := w.Gateway.ImportHumanUser(w.Admin, wrap(r))
				testkit.Refused(t, err, c.id, c.says)
			})
		}
	}
	if after := w.Rows("events"); after != before {
		t.Errorf("%d events were written", after-before)
	}
}

func TestImportRefusesShapesAndIDs(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	type request = usersv1.ImportHumanUserRequest
	before := w.Rows("events")
	for name, c := range map[string]struct {
		id     string
		change func(*request)
	}{
		"bulk":  {"IMPORT_IS_BULK", func(r *request) { r.DataOrgs = structpb.NewBoolValue(true) }},
		"mixed": {"IMPORT_MIXED", func(r *request) { r.User = testworld.Wrapped(r).User }},
	} {
		t.Run(name, func(t *testing.T) {
			r := testworld.Minimal(name)
			c.change(r)
			_, err := w.Gateway.ImportHumanUser(w.Admin, r)
			testkit.Refused(t, err, c.id)
		})
	}
	r := testworld.Minimal("id")
	r.UserId = "a/b"
	_, err := w.Gateway.ImportHumanUser(w.Admin, r)
	testkit.Refused(t, err, "USER_ID_INVALID", "userId")
	if after := w.Rows("events"); after != before {
		t.Errorf("%d events were written", after-before)
	}
}

func TestImportKeepsEverything(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	r := testworld.Wrapped(&usersv1.ImportHumanUserRequest{
		UserId: "mini-1", UserName: "  Mini ",
		Profile: &usersv1.Profile{FirstName: " Mini", LastName: "Mouse ", NickName: "Mimi", PreferredLanguage: "de_CH",
			Gender: usersv1.Gender_GENDER_FEMALE},
		Email: &usersv1.Email{Email: " mini@example.com "}, Phone: &usersv1.Phone{
			Phone: "+41791234567", IsPhoneVerified: true,
		},
		HashedPassword: testworld.Hashed(testworld.SomeHash), PasswordChangeRequired: true,
		OtpCode:  "jbsw y3dp ehpk 3pxp jbsw y3dp ehpk 3pxp",
		Metadata: []*usersv1.Metadata{{Key: "shoe", Value: []byte{0, 255}}, {Key: "hat"}},
	})
	w.Must(w.Gateway.ImportHumanUser(w.Admin, r))
	want := w.User("mini-1")
	want.UserName, want.PreferredLoginName = "Mini", "Mini"
	want.Type = &usersv1.User_Human{Human: &usersv1.Human{
		Profile: &usersv1.Profile{FirstName: "Mini", LastName: "Mouse", NickName: "Mimi", DisplayName: "Mini Mouse",
			PreferredLanguage: "de-CH", Gender: usersv1.Gender_GENDER_FEMALE},
		Email: &usersv1.Email{Email: "mini@example.com"}, Phone: &usersv1.Phone{
			Phone: "+41791234567", IsPhoneVerified: true,
		},
	}}
	testkit.Equal(t, w.User("mini-1"), want)
	metadata := "user_metadata where user_id = 'mini-1' and (key, value) in (('shoe', '\\x00ff'), ('hat', ''))"
	if n := w.Rows(metadata); n != 2 {
		t.Errorf("%d metadata", n)
	}
	var sealed []byte
	w.Must(nil, w.Service.DB.QueryRow(t.Context(), "select secret from otp_factors where user_id = 'mini-1' and state "+
		"= 2").Scan(&sealed))
	otp, err := w.Ground.Keys.Open(sealed, users.Sealed[0], "mini-1")
	if err != nil || string(otp) != "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP" {
		t.Errorf("OTP secret %q, %v", otp, err)
	}
	if _, err := w.Gateway.ImportHumanUser(w.Admin, testworld.Minimal("mINI")); err == nil {
		t.Error("a user name is taken whatever its case")
	}
}

func TestImportRepeated(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, elsewhere := w.Org("Elsewhere")
	first := testworld.Minimal("mini")
	first.UserId, first.PasswordChangeRequired = "m1", true // without a password it says nothing
	first.Profile.PreferredLanguage, first.OtpCode = "de_ch", "jbsw y3dp ehpk 3pxp jbsw y3dp ehpk 3pxp"
	a := w.Import(w.Admin, first)
	events := w.Rows("events")
	b, err := w.Gateway.ImportHumanUser(w.Admin, testworld.Wrapped(first))
	if err != nil || !proto.Equal(a, b) {
		t.Errorf("the repeat answered %v, %v; the import %v", b, err, a)
	}
	written := proto.CloneOf(first)
	written.Profile.DisplayName, written.PasswordChangeRequired = "Mini Mouse", false
	written.Profile.PreferredLanguage, written.OtpCode = "de-CH", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
	if b, err := w.Gateway.ImportHumanUser(w.Admin, written); err != nil || !proto.Equal(a, b) {
		t.Errorf("with its defaults written out it answered %v, %v", b, err)
	}
	other := proto.CloneOf(first)
	other.UserName, other.Password, other.Profile.NickName = "maxi", "another horse", "M"
	_, err = w.Gateway.ImportHumanUser(w.Admin, other)
	testkit.Refused(t, err, "IMPORT_DIFFERS", "credential", "profile.nickName", "userName")
	_, err = w.Gateway.ImportHumanUser(elsewhere, first)
	testkit.Refused(t, err, "USER_ID_TAKEN")
	nameless := testworld.Minimal("mini")
	_, err = w.Gateway.ImportHumanUser(w.Admin, nameless)
	testkit.Refused(t, err, "USER_NAME_TAKEN")
	_, err = w.Gateway.ImportHumanUser(elsewhere, nameless)
	testkit.Refused(t, err, "USER_NAME_TAKEN")
	if n := w.Rows("events"); n != events {
		t.Errorf("%d events for imports that wrote nothing", n-events)
	}
}

// Of twenty equal imports at once one is written, and all have the same answer.
func TestImportAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	var wait sync.WaitGroup
	answers := make([]*usersv1.ImportHumanUserResponse, 20)
	for i := range answers {
		wait.Go(func() {
			r := testworld.Minimal("mini")
			r.UserId = "m1"
			var err error
			if answers[i], err = w.Gateway.ImportHumanUser(w.Admin, r); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, a := range answers[1:] {
		if !proto.Equal(a, answers[0]) {
			t.Errorf("%v differs from %v", a, answers[0])
		}
	}
	if n := w.Rows("events where name = 'imported'"); n != 1 {
		t.Errorf("%d imports written", n)
	}
}

// Nobody can log in with what the database contains, and events contain no personal values.
func TestImportLeaksNothing(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	r := testworld.Minimal("canary-name")
	r.UserId, r.OtpCode, r.Password = "c1", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "canary horse"
	r.Profile.FirstName, r.Email.Email = "CanaryFirst", "canary@example.com"
	got := w.Import(w.Admin, r)
	mail := w.Mail(got.UserId)
	dump := func(table string) (text string) {
		w.Must(nil, w.Service.DB.QueryRow(context.Background(),
			"select coalesce(string_agg(x::text, E'\\n'), '') from "+table+" x").Scan(&text))
		return text
	}
	for _, table := range []string{"users", "codes", "password_tries", "otp_factors", "personal_access_tokens",
		"events", "user_metadata"} {
		for _, canary := range []string{
			mail.Code, "JBSWY3DPEHPK3PXP", "canary horse", w.AdminToken, string(secret.Hash("x")),
		} {
			if strings.Contains(dump(table), canary) {
				t.Errorf("table %s holds a secret", table)
			}
		}
	}
	for _, canary := range []string{"canary", "Canary"} {
		if strings.Contains(dump("events"), canary) {
			t.Errorf("events hold %q", canary)
		}
	}
}
