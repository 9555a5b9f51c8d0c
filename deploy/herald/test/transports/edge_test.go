package transports_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/deploy/herald/test/whole"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// refusals are imports that must be refused: the change of a valid one (a JSON merge patch, RFC
// 7396), the id of the error, and a part of its message.
var refusals = []struct{ patch, id, says string }{
	{`{"userName":null}`, "INVALID_ARGUMENT", "userName"},
	{`{"userName":" "}`, "INVALID_ARGUMENT", "userName"},
	{`{"userName":"a\u0000b"}`, "INVALID_ARGUMENT", "userName"},
	{`{"userName":"` + strings.Repeat("x", 201) + `"}`, "INVALID_ARGUMENT", "userName"},
	{`{"profile":null}`, "INVALID_ARGUMENT", "profile"},
	{`{"profile":{"firstName":""}}`, "INVALID_ARGUMENT", "profile.firstName"},
	{`{"profile":{"lastName":"a\r\nb"}}`, "INVALID_ARGUMENT", "profile.lastName"},
	{`{"profile":{"preferredLanguage":"!"}}`, "PREFERRED_LANGUAGE_INVALID", "profile.preferredLanguage"},
	{`{"email":null}`, "INVALID_ARGUMENT", "email"},
	{`{"email":{"email":"Mini <mini@example.com>"}}`, "EMAIL_INVALID", "email.email"},
	{`{"email":{"email":"a@b.ch\r\nBcc: c@d.ch"}}`, "INVALID_ARGUMENT", "email.email"},
	{`{"email":{"email":"a@b.ch,c@d.ch"}}`, "EMAIL_INVALID", "email.email"},
	{`{"phone":{"phone":"0791234567"}}`, "INVALID_ARGUMENT", "phone.phone"},
	{`{"password":"1234567"}`, "PASSWORD_TOO_SHORT", "8"},
	{`{"password":"password1"}`, "PASSWORD_TOO_COMMON", ""},
	{`{"password":"correct horse","hashedPassword":{"value":"` + whole.Hash + `"}}`, "PASSWORD_AND_HASH", ""},
	{`{"otpCode":"0189"}`, "OTP_CODE_INVALID", "otpCode"},
	{`{"idps":[{"configId":"nowhere","externalUserId":"1"}]}`, "IDP_UNKNOWN", "nowhere"},
	{`{"userId":"a/b"}`, "USER_ID_INVALID", "userId"},
	{`{"userId":"me"}`, "USER_ID_INVALID", "userId"},
	{`{"dataOrgs":{"orgs":[]}}`, "IMPORT_IS_BULK", "/admin/v1/import"},
	{`{"user":{"userName":"b","profile":{"firstName":"a","lastName":"b"},"email":{"email":"a@b.ch"}}}`,
		"IMPORT_MIXED", ""},
	{hashed("hunter2"), "PASSWORD_HASH_INVALID", "hashedPassword.value"},
	{hashed(strings.Replace(whole.Hash, "6400", "0", 1)), "PASSWORD_HASH_INVALID", "pbkdf2-sha256"},
	{hashed(strings.Replace(whole.Hash, "6400", "-1", 1)), "PASSWORD_HASH_INVALID", "pbkdf2-sha256"},
	{hashed(strings.Replace(whole.Hash, "6400", "2000001", 1)), "PASSWORD_HASH_INVALID", "pbkdf2-sha256"},
	{hashed(strings.Replace(whole.Hash, "6400", "9223372036854775808", 1)), "PASSWORD_HASH_INVALID", "pbkdf2-sha256"},
	{hashed("$2b$15$" + strings.Repeat("a", 53)), "PASSWORD_HASH_INVALID", "bcrypt"},
	{hashed("$argon2id$v=19$m=4194304,t=2,p=1$c2FsdHNhbHQ$" + strings.Repeat("A", 43)), "PASSWORD_HASH_INVALID",
		"argon2id"},
	{hashed("$scrypt$ln=18,r=8,p=1$c2FsdHNhbHQ$" + strings.Repeat("A", 43)), "PASSWORD_HASH_INVALID", "scrypt"},
	{hashed("$6$rounds=1000001$salt$" + strings.Repeat("a", 86)), "PASSWORD_HASH_INVALID", "sha512"},
	{hashed("{SSHA}AAAA"), "PASSWORD_HASH_INVALID", "ssha"},
	{hashed("$P$Z" + strings.Repeat("a", 30)), "PASSWORD_HASH_INVALID", "phpass"},
}

func hashed(value string) string {
	return fmt.Sprintf(`{"hashedPassword":{"value":%q}}`, value)
}

// Every refusal is the same over REST and gRPC. No user is written and no mail sent.
func TestRefusalsAreAlike(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	client := usersv1.NewImportsClient(i.Dial(t))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+i.Token)
	for n, c := range refusals {
		body := patched(t, fmt.Sprintf(`{"userName":"u%d","profile":{"firstName":"Mini","lastName":"Mouse"},`+
			`"email":{"email":"mini@example.com"}}`, n), c.patch)
		code, answer := i.Call("POST", "/management/v1/users/human/_import", body)
		var rest status.Status
		text, _ := json.Marshal(answer)
		if err := protojson.Unmarshal(text, &rest); err != nil {
			t.Fatalf("%s answered %s: %v", c.patch, text, err)
		}
		f := fault.FromStatus(&rest)
		if f.ID != c.id || !strings.Contains(f.Message, c.says) || code != f.HTTPStatus() {
			t.Errorf("REST: %s answered %d %s, and refusals in edge_test.go wants %s with %q: correct the one that is "+
				"wrong", c.patch, code, text, c.id, c.says)
		}
		var r usersv1.ImportHumanUserRequest
		if err := protojson.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		_, err := client.ImportHumanUser(ctx, &r)
		if got := fault.FromStatus(grpcstatus.Convert(err).Proto()); got.ID != f.ID || got.Message != f.Message ||
			got.Code != f.Code || len(got.Fields) != len(f.Fields) {
			t.Errorf("gRPC: %s answered %v, REST %v", c.patch, got, f)
		}
	}
	if _, err := client.ImportHumanUser(t.Context(), &usersv1.ImportHumanUserRequest{}); !errors.Is(
		fault.FromStatus(grpcstatus.Convert(err).Proto()), fault.ErrUnauthenticated) && grpcstatus.Code(err) != 16 {
		t.Errorf("without a token: %v", err)
	}
	if _, users := i.Call("POST", "/management/v1/users/_search",
		"{}"); users["details"].(map[string]any)["totalResult"] != "1" {
		t.Errorf("something was written: %v", users)
	}
	var mails struct{ Total int }
	if i.Inbox("/api/v1/messages", &mails); mails.Total != 0 {
		t.Errorf("%d mails were sent", mails.Total)
	}
}

// accepted has a hash of each format. The package password tests that they verify.
var accepted = []string{
	"$pbkdf2-sha1$1000$c9qbObsT0fUt.CqE.j2FbA$UoQOM8YvbSrI8/6FcZ.aenSyGl0",
	"$pbkdf2$1000$c9qbObsT0fUt.CqE.j2FbA$UoQOM8YvbSrI8/6FcZ.aenSyGl0",
	"$pbkdf2-sha224$1000$3O2ELUuj.CuRLsTLYzrVqg$dH4CRH.SulIST.LtqrlW5of25NkqAiX1DXn0/Q",
	"$pbkdf2-sha256$1000$t9VoYrHe/lIBGZrV1sBSQA==$kukw2BtEEzzn+RnwftAUJENYxwd6CuG+Hs38lG/mJ1Q=",
	"$pbkdf2-sha384$1000$9oYHCV/mxylimkMe5TyYEw$vO6b95Mk10pBMprP95Wo5OF8qgM6440ka0vHwqbZAeDk0ra4VfsR6miU2xeTnWod",
	"$pbkdf2-sha512$1000$YRdp.F6eVKElkdjqGrhCuQ$" +
		"UAetA/RPRISu67lzshDnNiux576SZ0yXL9K/iu4xckJ6hbGIacdp7R.baK4BJ7/6DCjRCG/TRhZ/vxCzTNz7gg",
	"$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
	"$2b$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2",
	"$2y$05$EElRo6bjzXZ29/zd8YIwBu1EkilFiqqUnbos9Tuxqe4ePA2D11176",
	"$argon2i$v=19$m=256,t=2,p=2$c29tZXNhbHQ4$L9paAfbYp97iC6VXCvr7GNcS5aQdmfSyxVi+8UjF7zs",
	"$argon2id$v=19$t=2,p=2,m=256$c29tZXNhbHQ4$DuYtAW5V8E5sq0JboAXqZ4zigYxOxYw3gYBQMwjp7IU",
	"$scrypt$ln=5,r=8,p=2$PLTnMmMfR+brlh80VUt83g$tPyjKL9J2RafDw1wzWW4qkz1HC3E6EKfBeKXvFaXr28",
	"$scrypt$ln=14,r=8,p=5$PLTnMmMfR+brlh80VUt83g$tPyjKL9J2RafDw1wzWW4qkz1HC3E6EKfBeKXvFaXr28",
	"$1$Sa1tSa1t$QGjzyiNvn1GRFDelzj2ww0",
	"$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
	"$6$rounds=10000$saltstringsaltst$" +
		"OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
	"$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0",
	"$H$6E95FNZhYRu86qAn/GHzxciTgHkctn1",
	"{SSHA}tUxWqoWlgF6ODL0fj7A+SoQ1Rqg8tOcyYx9H5g==",
}

// A person with a verified e-mail address and a hash of any format is active and gets no mail.
func TestAcceptedHashes(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	for n, hash := range accepted {
		body := fmt.Sprintf(`{"userName":"u%d","profile":{"firstName":"Mini","lastName":"Mouse"},`+
			`"email":{"email":"mini@example.com","isEmailVerified":true},"hashedPassword":{"value":%q}}`, n, hash)
		code, answer := i.Call("POST", "/management/v1/users/human/_import", body)
		if code != http.StatusOK || answer["initMail"] != "INIT_MAIL_NOT_NEEDED" {
			t.Errorf("%s: %d %v", hash, code, answer)
		} else if id, _ := answer["userId"].(string); i.State(id) != "USER_STATE_ACTIVE" {
			t.Errorf("%s: not active", hash)
		}
	}
}

// The gateway refuses malformed requests of every caller.
func TestMalformedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	for body, says := range map[string]string{
		`{`:                               "",
		`[]`:                              "",
		`{"userName":1}`:                  "userName",
		`{"userName":"a","userName":"b"}`: "userName",
		`{"profile":{"gender":"NOBODY"}}`: "gender",
		"{\"userName\":\"\xff\"}":         "",
		strings.Repeat(`{"x":`, 40) + "1" + strings.Repeat("}", 40): "",
		`{} {}`: "",
	} {
		code, answer := i.Call("POST", "/management/v1/users/human/_import", body)
		if message, _ := answer["message"].(string); code != http.StatusBadRequest || answer["code"] != 3.0 ||
			!strings.Contains(message, says) {
			t.Errorf("%.40s answered %d %v", body, code, answer)
		}
	}
}

func patched(t *testing.T, document, patch string) string {
	t.Helper()
	var d, p map[string]any
	if err := errors.Join(json.Unmarshal([]byte(document), &d), json.Unmarshal([]byte(patch), &p)); err != nil {
		t.Fatal(err)
	}
	merge(d, p)
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func merge(d, p map[string]any) {
	for k, v := range p {
		inner, ok := v.(map[string]any)
		at, there := d[k].(map[string]any)
		switch {
		case v == nil:
			delete(d, k)
		case ok && there:
			merge(at, inner)
		default:
			d[k] = v
		}
	}
}
