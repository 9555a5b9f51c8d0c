package api_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/text"
	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("text", text.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// world is a running service with its callers.
type world struct {
	ground  boot.Ground
	service *boot.Service
	gateway textv1.TextClient
	mailer  textv1.TextClient
	pages   textv1.TextClient
}

// open starts two replicas, which share the requests.
func open(t *testing.T) world {
	t.Helper()
	g, database := testkit.Ground(t), kit.Database(t)
	var s *boot.Service
	for range 2 {
		var err error
		if s, err = g.Open(t.Context(), "text", database, text.Migrations); err != nil {
			t.Fatal(err)
		}
		if err := text.New(t.Context(), s, text.Config{DefaultLanguage: "fr"}); err != nil {
			t.Fatal(err)
		}
		testkit.Run(t, s)
	}
	return newWorld(t, g, s)
}

func newWorld(t *testing.T, g boot.Ground, s *boot.Service) world {
	t.Helper()
	return world{
		ground: g, service: s,
		gateway: textv1.NewTextClient(testkit.Calls(t, g, "gateway")),
		mailer:  textv1.NewTextClient(testkit.Calls(t, g, "notification")),
		pages:   textv1.NewTextClient(testkit.Calls(t, g, "auth")),
	}
}

// as returns the context of a user with roles in the organization acted on.
func (w world) as(ctx context.Context, organizationID string, roles ...string) context.Context {
	return testkit.Member(ctx, w.ground, "u1", organizationID, roles...)
}

// inInstance returns the context of a user with roles on the instance.
func (w world) inInstance(ctx context.Context, roles ...string) context.Context {
	return testkit.As(ctx, w.ground, caller.Caller{
		UserID: "admin", OrganizationID: "o1", HomeOrganizationID: "o1",
		Memberships: []caller.Membership{{Roles: roles}},
	})
}

// event is the part of an event that tests compare.
type event struct{ Aggregate, AggregateID, Name, OrganizationID, Actor, Data string }

// events returns the service's events, the oldest first.
func (w world) events(t *testing.T) []event {
	t.Helper()
	rows, err := w.service.DB.Query(t.Context(), `select aggregate, aggregate_id, name, organization_id, actor, `+
		`data::text as data from events order by position`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[event])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// refused fails the test unless err is a fault with that id and status and these fields.
func refused(t *testing.T, err error, want *fault.Fault, fields ...string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok || f.ID != want.ID || f.Code != want.Code {
		t.Errorf("got %v, want %s", err, want.ID)
		return
	}
	var got []string
	for _, field := range f.Fields {
		got = append(got, field.Path)
	}
	if !slices.Equal(got, fields) {
		t.Errorf("%s names %v, want %v", f.ID, got, fields)
	}
}

func (w world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := w.service.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (w world) firstStart(t *testing.T) (at time.Time) {
	t.Helper()
	if err := w.service.DB.QueryRow(t.Context(), `select time from first_start`).Scan(&at); err != nil {
		t.Fatal(err)
	}
	return at
}

func (w world) read(t *testing.T, organizationID, language string) *textv1.CustomText {
	t.Helper()
	r, err := w.gateway.GetMessageText(w.as(t.Context(), organizationID, "ORG_OWNER_VIEWER"),
		&textv1.GetMessageTextRequest{Kind: "init", Language: language})
	if err != nil {
		t.Fatal(err)
	}
	return r.CustomText
}

func TestLanguagesForAnybodyWithAToken(t *testing.T) {
	t.Parallel()
	w := open(t)
	r, err := w.gateway.ListLanguages(w.as(t.Context(), "o1"), &textv1.ListLanguagesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(r.Languages) {
		t.Errorf("%v is not sorted", r.Languages)
	}
	for _, tag := range []string{"de", "en", "fr", "ja"} {
		if !slices.Contains(r.Languages, tag) {
			t.Errorf("no %s in %v", tag, r.Languages)
		}
	}
	if _, err := w.gateway.ListLanguages(t.Context(), &textv1.ListLanguagesRequest{}); !errors.Is(err,
		fault.ErrUnauthenticated) {
		t.Errorf("without a caller: %v", err)
	}
}

func TestTextIsDefaultSinceTheFirstStart(t *testing.T) {
	t.Parallel()
	w := open(t)
	got, began := w.read(t, "o1", "de-CH"), w.firstStart(t)
	if d := got.Details; d.Sequence != 0 || d.ResourceOwner != "o1" || !d.CreationDate.AsTime().Equal(began) ||
		!d.ChangeDate.AsTime().Equal(began) {
		t.Errorf("details %v, first start %v", d, began)
	}
	if !got.IsDefault || got.Subject != "Ihr neues Konto bei {{.OrgName}}" || got.FooterText == "" {
		t.Errorf("text %v", got)
	}
}

func TestOwnTextStandsInFieldByField(t *testing.T) {
	t.Parallel()
	w := open(t)
	made, changed := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), time.Date(2026, 2, 3, 4, 5, 6, 7000, time.UTC)
	w.exec(t, `insert into custom_texts (org_id, kind, language, subject, button_text, sequence, created_at, changed_at)
		values ('o1', 'init', 'de', 'Servus', 'Los', 41, $1, $2)`, made, changed)
	standard, own := w.read(t, "o2", "de"), w.read(t, "o1", "DE_at")
	if d := own.Details; d.Sequence != 41 || !d.CreationDate.AsTime().Equal(made) ||
		!d.ChangeDate.AsTime().Equal(changed) || d.ResourceOwner != "o1" {
		t.Errorf("details %v", d)
	}
	want := proto.CloneOf(standard)
	want.Subject, want.ButtonText, want.IsDefault, want.Details = "Servus", "Los", false, own.Details
	testkit.Equal(t, own, want)
	if !standard.IsDefault || !w.read(t, "o1", "en").IsDefault {
		t.Error("another organization or language is touched")
	}
}

func TestARowWithoutTextIsDefault(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.exec(t, `insert into custom_texts (org_id, kind, language, sequence, created_at, changed_at) values ('o1', `+
		`'init', 'en', 7, now(), now())`)
	if got := w.read(t, "o1", "en"); !got.IsDefault || got.Details.Sequence != 7 {
		t.Errorf("got %v", got)
	}
}

func TestContentLanguageIsThatOfTheText(t *testing.T) {
	t.Parallel()
	w := open(t)
	gateway := testkit.Calls(t, w.ground, "gateway")
	for asked, want := range map[string]string{"ja": "ja", "EN-us": "en", "tlh": "fr", "xx-DE": "fr"} {
		request, err := proto.Marshal(&textv1.GetMessageTextRequest{Kind: "init", Language: asked})
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{
			textv1.Text_GetMessageText_FullMethodName, textv1.Text_GetDefaultMessageText_FullMethodName,
		} {
			t.Run(method+" in "+asked, func(t *testing.T) {
				answer, err := gateway.Forward(w.as(t.Context(), "o1", "ORG_OWNER"), method, request)
				if err != nil {
					t.Fatal(err)
				}
				if got := answer.Header.Get("Content-Language"); got != want {
					t.Errorf("answered in %q, want %q", got, want)
				}
			})
		}
	}
}

func TestTextIsRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, test := range []struct {
		name, kind, language string
		roles                []string
		id                   string
		status               int
	}{
		{"no permission", "init", "en", []string{"ORG_USER_MANAGER"}, "PERMISSION_DENIED", http.StatusForbidden},
		{"permission first", "nope", "!", nil, "PERMISSION_DENIED", http.StatusForbidden},
		{"no language", "init", "not a tag", []string{"ORG_SETTINGS_MANAGER"}, textfault.ErrLanguageInvalid.ID,
			http.StatusBadRequest},
		{"kind before language", "nope", "!", []string{"ORG_OWNER"}, textfault.ErrMessageKindNotFound.ID,
			http.StatusNotFound},
		{"no kind", "nope", "en", []string{"ORG_OWNER"}, textfault.ErrMessageKindNotFound.ID, http.StatusNotFound},
		{"impossible language", "init", strings.Repeat("a", 201), []string{"ORG_OWNER"}, "NOT_FOUND",
			http.StatusNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := w.gateway.GetMessageText(w.as(t.Context(), "o1", test.roles...), &textv1.GetMessageTextRequest{
				Kind: test.kind, Language: test.language,
			})
			f, ok := errors.AsType[*fault.Fault](err)
			if !ok || f.ID != test.id || f.HTTPStatus() != test.status {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNotifierGetsTheReadersLanguage(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.exec(t, `insert into custom_texts (org_id, kind, language, greeting, sequence, created_at, changed_at) values `+
		`('o1', 'init', 'fr', 'Salut', 3, now(), now())`)
	for preferred, want := range map[string]string{
		"ja": "ja", "de-LI": "de", "": "fr", "tlh": "fr", "not a tag": "fr",
	} {
		t.Run(preferred, func(t *testing.T) {
			r, err := w.mailer.ResolveMessageText(t.Context(), &textv1.ResolveMessageTextRequest{OrgId: "o1",
				Kind: "init", PreferredLanguage: preferred})
			if err != nil {
				t.Fatal(err)
			}
			if r.Language != want || r.CustomText.Subject == "" ||
				(r.CustomText.Greeting == "Salut") != (want == "fr") {
				t.Errorf("answered with %v", r)
			}
		})
	}
	_, err := w.mailer.ResolveMessageText(t.Context(), &textv1.ResolveMessageTextRequest{OrgId: "o1", Kind: "nope"})
	if !errors.Is(err, textfault.ErrMessageKindNotFound) {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestNobodyElseResolves(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, err := w.mailer.ResolveMessageText(w.as(t.Context(), "o1", "ORG_OWNER"),
		&textv1.ResolveMessageTextRequest{OrgId: "o1", Kind: "init"})
	refused(t, err, fault.ErrPermissionDenied)
	_, err = w.pages.ResolveLanguages(w.inInstance(t.Context(), "IAM_OWNER"), &textv1.ResolveLanguagesRequest{})
	refused(t, err, fault.ErrPermissionDenied)
}

func TestStartFailsWithoutTextsInTheDefaultLanguage(t *testing.T) {
	t.Parallel()
	s := kit.Open(t, testkit.Ground(t))
	defer s.Close()
	if err := text.New(t.Context(), s, text.Config{DefaultLanguage: "tlh"}); err == nil {
		t.Error("starts with a default language that has no texts")
	}
}
