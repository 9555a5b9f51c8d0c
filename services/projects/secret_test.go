package projects_test

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/testkit"
)

// clocked is an application in a world whose clock a test can advance.
type clocked struct {
	*world
	shop  string
	web   *projectsv1.CreateOidcAppResponse
	ahead *atomic.Int64
}

func newClocked(t *testing.T) clocked {
	t.Helper()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := newWorldOn(t, g)
	p := w.project(w.inA, "Shop")
	return clocked{w, p, w.webApp(w.inA, p, "Web"), &ahead}
}

func (c clocked) at() string {
	return time.Now().Add(time.Duration(c.ahead.Load())).Format(time.RFC3339Nano)
}

// generate returns a new secret.
func (c clocked) generate(overlap time.Duration) string {
	c.Helper()
	r, err := c.GenerateOidcClientSecret(c.inA, &projectsv1.GenerateClientSecretRequest{
		ProjectId: c.shop, AppId: c.web.AppId, Overlap: durationpb.New(overlap),
	})
	if err != nil || !secretForm.MatchString(r.ClientSecret) {
		c.Fatalf("%v, %v", r, err)
	}
	got := c.app(c.shop, c.web.AppId)
	if got.Details.Sequence != r.Details.Sequence || r.Details.CreationDate != nil {
		c.Errorf("%v, %v", got, r.Details)
	}
	return r.ClientSecret
}

// live returns the secrets that work.
func (c clocked) live(want []bool, secrets ...string) {
	c.Helper()
	for i, s := range secrets {
		if c.takes(c.web.AppId, s, c.at()) != want[i] {
			c.Errorf("secret %d: not %v", i, want[i])
		}
	}
}

func TestAppSecrets(t *testing.T) {
	t.Parallel()
	w := newClocked(t)
	p, web, generate, live := w.shop, w.web, w.generate, w.live
	first := web.ClientSecret
	second := generate(0)
	live([]bool{false, true}, first, second)
	third := generate(24 * time.Hour)
	live([]bool{false, true, true}, first, second, third)
	fourth := generate(time.Hour)
	live([]bool{false, true, true}, second, third, fourth)
	forward := func(to time.Duration) {
		w.ahead.Store(int64(to))
		w.inA = w.as("org-a", "ORG_OWNER") // the signature of a caller expires
	}
	forward(59 * time.Minute)
	live([]bool{false, true, true}, second, third, fourth)
	forward(61 * time.Minute)
	live([]bool{false, false, true}, second, third, fourth)
	fifth := generate(30 * 24 * time.Hour)
	sixth := generate(0)
	live([]bool{false, false, true}, fourth, fifth, sixth)
	if n := w.rows(`events where name = 'secret_generated' and aggregate_id = $1 and data = `+
		`jsonb_build_object('projectId', $2::text)`, web.AppId, p); n != 5 {
		t.Errorf("%d events", n)
	}
}

func TestAppSecretsByMethod(t *testing.T) {
	t.Parallel()
	w := newClocked(t)
	p, web, generate, live := w.shop, w.web, w.generate, w.live
	secret := web.ClientSecret
	before := w.rows("events")
	for _, overlap := range []time.Duration{-1, 30*24*time.Hour + 1} {
		_, err := w.GenerateOidcClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{
			ProjectId: p, AppId: web.AppId, Overlap: durationpb.New(overlap),
		})
		refused(t, err, "INVALID_ARGUMENT", "overlap")
	}
	for _, method := range []projectsv1.OidcAuthMethodType{3, 4} {
		made, err := w.CreateOidcApp(w.inA, &projectsv1.CreateOidcAppRequest{
			ProjectId: p, Name: method.String(), AuthMethodType: method,
		})
		if err != nil || made.ClientSecret != "" ||
			w.rows("applications where id = $1 and secret_hash is null", made.AppId) != 1 {
			t.Errorf("%v, %v", made, err)
		}
		_, err = w.GenerateOidcClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{ProjectId: p,
			AppId: made.AppId})
		refused(t, err, "APP_USES_NO_SECRET")
		if fault.From(err).Code != fault.Precondition {
			t.Error(err)
		}
	}
	if w.rows("events") != before+2 {
		t.Error("a refusal wrote an event")
	}
	live([]bool{true}, secret)

	// Another method removes the secret; the first one then needs a new one.
	for _, method := range []projectsv1.OidcAuthMethodType{2, 3, 2} {
		live([]bool{true}, secret)
		if _, err := w.UpdateOidcConfig(w.inA, &projectsv1.UpdateOidcConfigRequest{ProjectId: p, AppId: web.AppId,
			AuthMethodType: method}); err != nil {
			t.Fatal(err)
		}
		if method == 3 {
			break
		}
	}
	live([]bool{false}, secret)
	if _, err := w.UpdateOidcConfig(w.inA, &projectsv1.UpdateOidcConfigRequest{ProjectId: p,
		AppId: web.AppId}); err != nil {
		t.Fatal(err)
	}
	live([]bool{false}, secret)
	next := generate(time.Hour)
	live([]bool{false, true}, secret, next)

	// Each of many simultaneous requests returns a secret, and two of these work.
	secrets := make([]string, 10)
	if n := race(t, len(secrets), func(i int) error {
		r, err := w.GenerateOidcClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{
			ProjectId: p, AppId: web.AppId, Overlap: durationpb.New(time.Hour),
		})
		secrets[i] = r.GetClientSecret()
		return err
	}); n != len(secrets) {
		t.Errorf("%d succeeded", n)
	}
	working := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return !w.takes(web.AppId, s, w.at()) })
	if len(working) != 2 || len(slices.Compact(slices.Sorted(slices.Values(secrets)))) != len(secrets) {
		t.Errorf("%d of them work", len(working))
	}
}

// Secrets and keys are only in the answers that return them.
func TestAppSecretsStayIn(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	log := &testkit.Lines{}
	g.Log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := newWorldOn(t, g)
	p := w.project(w.inA, "Shop")
	web := w.webApp(w.inA, p, "Web")
	renewed, err := w.GenerateOidcClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{
		ProjectId: p, AppId: web.AppId, Overlap: durationpb.New(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	key, err := w.AddAppKey(w.inA, &projectsv1.AddAppKeyRequest{ProjectId: p, AppId: web.AppId})
	if err != nil {
		t.Fatal(err)
	}
	// A failed statement is logged with the database's error.
	if _, err := w.service.DB.Exec(t.Context(), `alter table applications add constraint broken check (false) not `+
		`valid`); err != nil {
		t.Fatal(err)
	}
	_, err = w.GenerateOidcClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{ProjectId: p, AppId: web.AppId})
	refused(t, err, "INTERNAL")
	_, err = w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "API"})
	refused(t, err, "INTERNAL")
	private := fileOf(t, key.KeyDetails).Key
	_, body, _ := strings.Cut(private, "\n")
	for label, planted := range map[string]string{
		"first secret": web.ClientSecret, "second secret": renewed.ClientSecret, "private key": body[:60],
	} {
		if strings.Contains(log.String(), planted) {
			t.Errorf("the log has the %s", label)
		}
		for _, table := range []string{"applications", "application_keys", "events", "outbox"} {
			if w.rows(table+` x where position($1 in x::text) > 0 or position(encode($1::bytea, 'hex') in x::text) > 0`,
				planted) > 0 {
				t.Errorf("%s has the %s", table, label)
			}
		}
	}
	if text := log.String(); strings.Count(text, "broken") != 2 ||
		regexp.MustCompile(`[a-zA-Z0-9]{64}`).MatchString(text) {
		t.Errorf("the log says nothing of the failures, or a secret:\n%s", text)
	}
}
