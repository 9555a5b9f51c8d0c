package authn_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"herald/gateway/internal/authn"
	"herald/gateway/internal/testworld"
	"herald/shared/contract"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
)

func TestAuthorizationHeader(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	flipped := token[:10] + string(token[10]^1) + token[11:]
	const invalid = `Bearer error="invalid_token"`
	for _, c := range []struct {
		headers   []string
		challenge string // empty if the token is accepted
		asked     bool
	}{
		{nil, "Bearer", false},
		{[]string{""}, "Bearer", false},
		{[]string{"Bearer " + token}, "", true},
		{[]string{"bearer " + token}, "", false},
		{[]string{"BEARER   " + token}, "", false},
		{[]string{"Bearer " + token, "Bearer " + token}, invalid, false},
		{[]string{"Bearer"}, invalid, false},
		{[]string{"Bearer "}, invalid, false},
		{[]string{"Basic " + token}, invalid, false},
		{[]string{"Bearer" + token}, invalid, false},
		{[]string{token}, invalid, false},
		{[]string{"Bearer " + token + " x"}, invalid, false},
		{[]string{"Bearer " + token + "," + token}, invalid, false},
		{[]string{"Bearer " + flipped}, invalid, false},
		{[]string{"Bearer " + strings.ToUpper(token)}, invalid, false},
		{[]string{"Bearer " + token[:len(token)-1]}, invalid, false},
		{[]string{"Bearer " + strings.Repeat("x", 10_000)}, invalid, false},
		{[]string{"Bearer eyJhbGciOiJub25lIn0.e30."}, invalid, false},
		{[]string{"Bearer " + secret.PersonalAccessToken.New().Reveal()}, invalid, true},
		{[]string{"Bearer " + secret.AccessToken.New().Reveal()}, invalid, true},
		{[]string{"Bearer " + strings.ToUpper(secret.AccessToken.New().Reveal())}, invalid, false},
		{[]string{"Bearer " + secret.RefreshToken.New().Reveal()}, invalid, false},
		{[]string{"Bearer " + secret.AuthorizationCode.New().Reveal()}, invalid, false},
		{[]string{"Bearer " + secret.DeviceCode.New().Reveal()}, invalid, false},
		{[]string{"Bearer eyJhbGciOiJub25lIn0.e30.YQ"}, invalid, true},
		{[]string{"Bearer " + strings.Repeat("x", 8<<10-4) + ".y.z"}, invalid, true},
		{[]string{"Bearer " + strings.Repeat("x", 8<<10-3) + ".y.z"}, invalid, false},
		{[]string{"Bearer a.b"}, invalid, false},
		{[]string{"Bearer .b.c"}, invalid, false},
		{[]string{"Bearer a..c"}, invalid, false},
		{[]string{"Bearer a.b.c.d"}, invalid, false},
		{[]string{"Bearer a.b.c.d.e"}, invalid, false}, // as encrypted ones have
		{[]string{"Bearer a.b+.c"}, invalid, false},
		{[]string{"Bearer a.b.c="}, invalid, false},
		{[]string{"Bearer a.\xff.c"}, invalid, false},
	} {
		var pairs []string
		for _, h := range c.headers {
			pairs = append(pairs, "Authorization", h)
		}
		asks := func() int64 { return w.Resolved.Load() + int64(len(w.Auth.Questions())) }
		before := asks()
		got := w.Do(t, "GET", "/management/v1/users/u1?access_token="+token, "", pairs...)
		if got.Header.Get("WWW-Authenticate") != c.challenge {
			t.Errorf("%.40q: challenge %q", c.headers, got.Header.Get("WWW-Authenticate"))
		}
		if c.challenge == "" {
			got.OK(t)
		} else if e := got.Refused(t, 401, "UNAUTHENTICATED"); e.Code != 16 {
			t.Errorf("%.40q: %+v", c.headers, e)
		}
		if asked := asks() > before; asked != c.asked {
			t.Errorf("%.40q: asked %v", c.headers, asked)
		}
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	all := map[string]string{
		"none":     w.Token("u1", []string{"ORG_OWNER"}),
		"openid":   w.Token("u1", []string{"ORG_OWNER"}, "openid"),
		"audience": w.Token("u1", []string{"ORG_OWNER"}, contract.Audience),
		"both":     w.Token("u1", []string{"ORG_OWNER"}, "openid", contract.Audience),
	}
	for _, c := range []struct {
		method, path string
		allowed      string
		challenge    string
	}{
		{"GET", "/auth/v1/users/me", "openid both", "openid"},
		{"POST", "/auth/v1/users/me/pats/_search", "openid both", "openid"},
		{"POST", "/auth/v1/users/me/email/_resend_verification", "both", "openid " + contract.Audience},
		{"GET", "/management/v1/users/u1", "both", "openid " + contract.Audience},
		{"POST", "/management/v1/users/_search", "both", "openid " + contract.Audience},
	} {
		for name, token := range all {
			got := w.Do(t, c.method, c.path, "", testworld.As(token)...)
			if strings.Contains(c.allowed, name) {
				got.OK(t)
				continue
			}
			got.Refused(t, 403, "INSUFFICIENT_SCOPE")
			if want := fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s"`, c.challenge); got.Header.Get(
				"WWW-Authenticate") != want {
				t.Errorf("%s %s with %s: %q", c.method, c.path, name, got.Header.Get("WWW-Authenticate"))
			}
		}
	}
	// The same over gRPC, where there is no path.
	users := usersv1.NewUsersClient(w.Dial(t))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+all["openid"])
	if _, err := users.GetMyUser(ctx, &usersv1.GetMyUserRequest{}); err != nil {
		t.Error(err)
	}
	var header metadata.MD
	_, err := usersv1.NewCredentialsClient(w.Dial(t)).ResendMyEmailVerification(ctx,
		&usersv1.ResendMyEmailVerificationRequest{},
		grpcHeader(&header))
	if status.Code(err) != codes.PermissionDenied || len(header["www-authenticate"]) != 1 {
		t.Error(err, header)
	}
}

func TestOrganizationHeader(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	for _, c := range []struct {
		name   string
		values []string
		status int
		id     string
	}{
		{"absent", nil, 200, ""},
		{"empty", []string{""}, 200, ""},
		{"own", []string{"o1"}, 200, ""},
		{"foreign", []string{"o2"}, 403, "PERMISSION_DENIED"},
		{"two", []string{"o1", "o1"}, 400, "ORG_HEADER_INVALID"},
		{"comma", []string{"o1,o1"}, 400, "ORG_HEADER_INVALID"},
		{"long", []string{strings.Repeat("o", 201)}, 403, "PERMISSION_DENIED"},
		{"not UTF-8", []string{"\xff"}, 403, "PERMISSION_DENIED"},
		{"quotes", []string{`' or "1"="1`}, 403, "PERMISSION_DENIED"},
	} {
		pairs := testworld.As(token)
		for _, v := range c.values {
			pairs = append(pairs, "x-service-orgid", v)
		}
		for _, path := range []string{"/management/v1/users/u1", "/auth/v1/users/me"} {
			got := w.Do(t, "GET", path, "", pairs...)
			if c.status == 200 {
				got.OK(t)
			} else {
				got.Refused(t, c.status, c.id)
			}
		}
	}
}

// For methods on the caller's own data and on the instance, another organization in the header is
// checked but not used.
func TestOrganizationActedOn(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	w.Join(token, "o2")
	for path, acted := range map[string]string{
		"/management/v1/users/_search": "o2", "/auth/v1/users/me/pats/_search": "o1",
	} {
		w.Do(t, "POST", path, "", testworld.As(token, "x-service-orgid", "o2")...).OK(t)
		if w.Caller.OrganizationID != acted {
			t.Errorf("%s acted on %s", path, w.Caller.OrganizationID)
		}
		w.Do(t, "POST", path, "", testworld.As(token, "x-service-orgid", "o3")...).
			Refused(t, 403, "PERMISSION_DENIED")
	}
}

// The first mistake is returned, and no later check runs.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	scopeless := w.Token("u1", []string{"ORG_OWNER"})
	viewer := w.Token("u1", []string{"ORG_OWNER_VIEWER"}, "openid", contract.Audience)
	pairs := []string{"Content-Type", "text/plain", "x-service-orgid", "o1,o2"}
	const path, body = "/management/v1/users/u1/pats", "{"
	w.Do(t, "POST", path+"x", body, pairs...).Refused(t, 404, "NOT_FOUND")
	w.Do(t, "PUT", path, body, pairs...).Refused(t, 405, "VERB_NOT_ALLOWED")
	w.Do(t, "POST", path, body, pairs...).Refused(t, 401, "UNAUTHENTICATED")
	w.Do(t, "POST", path, body, testworld.As(scopeless, pairs...)...).Refused(t, 403, "INSUFFICIENT_SCOPE")
	w.Do(t, "POST", path, body, testworld.As(scopeless, "x-service-orgid", "o2")...).
		Refused(t, 403, "INSUFFICIENT_SCOPE")
	w.Do(t, "POST", path, body, testworld.As(viewer, "Content-Type", "text/plain", "x-service-orgid", "o2")...).
		Refused(t,
			403, "PERMISSION_DENIED")
	w.Do(t, "POST", path, body, testworld.As(viewer, pairs...)...).Refused(t, 400, "ORG_HEADER_INVALID")
	w.Do(t, "POST", path, body, testworld.As(viewer, pairs[:2]...)...).Refused(t, 415, "MEDIA_TYPE_NOT_SUPPORTED")
	w.Do(t, "POST", path, body, testworld.As(viewer)...).Refused(t, 400, "JSON_MALFORMED")
	w.Do(t, "POST", path, "{}", testworld.As(viewer)...).Refused(t, 403, "PERMISSION_DENIED")
}

// Services get only the caller that the gateway signed, whatever headers the client sends.
func TestForgedCallerHeadersAreDropped(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	viewer := w.Token("u9", []string{"ORG_OWNER_VIEWER"}, "openid", contract.Audience)
	w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(viewer, "Herald-Caller", "x.y", "Herald-Request-Id",
		"forged")...).OK(t)
	if w.Caller.UserID != "u9" || w.RequestID == "forged" {
		t.Errorf("%+v %q", w.Caller, w.RequestID)
	}
}

func TestRefusalAfterTheCacheIsAskedAfreshOnce(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Token("u1", []string{"ORG_OWNER_VIEWER"}, "openid", contract.Audience)
	add := func() testworld.Answer {
		return w.Do(t, "POST", "/management/v1/users/u2/pats", "", testworld.As(token)...)
	}
	add().Refused(t, 403, "PERMISSION_DENIED")
	if n := w.Resolved.Load(); n != 1 {
		t.Errorf("a caller who was just asked for was asked for %d times", n)
	}
	add().Refused(t, 403, "PERMISSION_DENIED")
	if n := w.Resolved.Load(); n != 2 {
		t.Errorf("resolved %d times", n)
	}
	w.Grant(token, "u1", []string{"ORG_OWNER"}, "openid", contract.Audience)
	add().OK(t)
	w.FailWith(func(context.Context) error { return fault.ErrUnauthenticated })
	got := add()
	if got.Refused(t, 401, "UNAUTHENTICATED"); got.Header.Get("WWW-Authenticate") != authn.InvalidToken {
		t.Error(got.Header)
	}
	w.Revoke(token)
	if got := add(); got.StatusCode != http.StatusUnauthorized {
		t.Error(got.StatusCode)
	}
}
