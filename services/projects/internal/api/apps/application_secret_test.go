package apps_test

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/projects/internal/testworld"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/testkit"
)

// live fails the test unless the last n of the secrets work, and the others do not.
func live(c testworld.Clocked, n int, secrets ...string) {
	c.Helper()
	for i, s := range secrets {
		if want := i >= len(secrets)-n; takes(c.World, c.Web.AppId, s, c.At()) != want {
			c.Errorf("secret %d: not %v", i, want)
		}
	}
}

func TestReplacedSecretWorksUntilTheEndOfTheOverlap(t *testing.T) {
	t.Parallel()
	w := testworld.NewClocked(t)
	first := w.Web.ClientSecret
	second := w.Generate(0)
	live(w, 1, first, second)
	third := w.Generate(24 * time.Hour)
	live(w, 2, first, second, third)
	fourth := w.Generate(time.Hour)
	live(w, 2, second, third, fourth)
	w.Forward(59 * time.Minute)
	live(w, 2, second, third, fourth)
	w.Forward(2 * time.Minute)
	live(w, 1, second, third, fourth)
	if n := w.Rows(`events where name = 'secret_generated' and aggregate_id = $1
		and data = jsonb_build_object('projectId', $2::text)`, w.Web.AppId, w.Shop); n != 3 {
		t.Errorf("%d events", n)
	}
}

func TestWrongRequestForASecretIsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.NewClocked(t)
	before := w.Rows("events")
	longest := 30 * 24 * time.Hour
	for _, overlap := range []time.Duration{-1, longest + 1} {
		t.Run("overlap of "+overlap.String(), func(t *testing.T) {
			_, err := w.GenerateOidcClientSecret(w.InA, &projectsv1.GenerateClientSecretRequest{
				ProjectId: w.Shop, AppId: w.Web.AppId, Overlap: durationpb.New(overlap),
			})
			refused(t, err, "INVALID_ARGUMENT", "overlap")
		})
	}
	for _, method := range []projectsv1.OidcAuthMethodType{3, 4} {
		t.Run(method.String(), func(t *testing.T) {
			made, err := w.CreateOidcApp(w.InA, &projectsv1.CreateOidcAppRequest{
				ProjectId: w.Shop, Name: method.String(), AuthMethodType: method,
			})
			if err != nil || made.ClientSecret != "" ||
				w.Rows("applications where id = $1 and secret_hash is null", made.AppId) != 1 {
				t.Fatalf("%v, %v", made, err)
			}
			_, err = w.GenerateOidcClientSecret(w.InA, &projectsv1.GenerateClientSecretRequest{
				ProjectId: w.Shop, AppId: made.AppId,
			})
			refused(t, err, "APP_USES_NO_SECRET")
			if fault.From(err).Code != fault.Precondition {
				t.Error(err)
			}
		})
	}
	if w.Rows("events") != before+2 {
		t.Error("a refusal wrote an event")
	}
	live(w, 1, w.Web.ClientSecret)
	w.Generate(longest)
}

// A change to a method without a secret removes the secret. A change back needs a new one.
func TestSecretEndsWithItsMethod(t *testing.T) {
	t.Parallel()
	w := testworld.NewClocked(t)
	set := func(method projectsv1.OidcAuthMethodType) {
		t.Helper()
		w.Must(w.UpdateOidcConfig(w.InA, &projectsv1.UpdateOidcConfigRequest{ProjectId: w.Shop, AppId: w.Web.AppId,
			AuthMethodType: method}))
	}
	set(2)
	live(w, 1, w.Web.ClientSecret)
	for _, method := range []projectsv1.OidcAuthMethodType{3, 0} {
		set(method)
		live(w, 0, w.Web.ClientSecret)
	}
	live(w, 1, w.Web.ClientSecret, w.Generate(time.Hour))
}

// Each of many simultaneous requests returns a secret, and two of these work.
func TestTwoOfManySecretsWork(t *testing.T) {
	t.Parallel()
	w := testworld.NewClocked(t)
	secrets := make([]string, 10)
	if n := race(t, len(secrets), func(i int) error {
		r, err := w.GenerateOidcClientSecret(w.InA, &projectsv1.GenerateClientSecretRequest{
			ProjectId: w.Shop, AppId: w.Web.AppId, Overlap: durationpb.New(time.Hour),
		})
		secrets[i] = r.GetClientSecret()
		return err
	}); n != len(secrets) {
		t.Errorf("%d succeeded", n)
	}
	working := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool {
		return !takes(w.World, w.Web.AppId, s, w.At())
	})
	if len(working) != 2 || len(slices.Compact(slices.Sorted(slices.Values(secrets)))) != len(secrets) {
		t.Errorf("%d of them work", len(working))
	}
}

// Secrets and keys are only in the answers that return them.
func TestSecretsAreInTheirAnswersOnly(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	log := &testkit.Lines{}
	g.Log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := testworld.NewOn(t, g)
	p := w.Project(w.InA, "Shop")
	web := w.WebApp(w.InA, p, "Web")
	renewed, err := w.GenerateOidcClientSecret(w.InA, &projectsv1.GenerateClientSecretRequest{
		ProjectId: p, AppId: web.AppId, Overlap: durationpb.New(time.Hour),
	})
	w.Must(renewed, err)
	key, err := w.AddAppKey(w.InA, &projectsv1.AddAppKeyRequest{ProjectId: p, AppId: web.AppId})
	w.Must(key, err)
	// A failed statement is logged with the database's error.
	w.Must(w.Service.DB.Exec(t.Context(), `alter table applications add constraint broken check (false) not valid`))
	_, err = w.GenerateOidcClientSecret(w.InA, &projectsv1.GenerateClientSecretRequest{ProjectId: p, AppId: web.AppId})
	refused(t, err, "INTERNAL")
	_, err = w.CreateApiApp(w.InA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "API"})
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
			if w.Rows(table+` x where position($1 in x::text) > 0 or position(encode($1::bytea, 'hex') in x::text) > 0`,
				planted) > 0 {
				t.Errorf("%s has the %s", table, label)
			}
		}
	}
	if text := log.String(); strings.Count(text, "broken") != 2 ||
		regexp.MustCompile(`[a-zA-Z0-9]{64}`).MatchString(text) {
		t.Errorf("the log lacks the failures, or has a secret:\n%s", text)
	}
}
