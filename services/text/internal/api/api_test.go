package api_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/text"
	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

var kit = testkit.New("text", text.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// world is a running service with its callers.
type world struct {
	testkit.World
	gateway, mailer, pages textv1.TextClient
}

// open starts two replicas, which share the requests.
func open(t *testing.T) world {
	t.Helper()
	g, database := testkit.Ground(t), kit.Database(t)
	testkit.Run(t, start(t, g, database, "fr"))
	s := start(t, g, database, "fr")
	testkit.Run(t, s)
	return newWorld(t, g, s)
}

// start opens a replica with a default language.
func start(t *testing.T, g boot.Ground, database secret.Text, language string) *boot.Service {
	t.Helper()
	s, err := g.Open(t.Context(), "text", database, text.Migrations)
	if err != nil {
		t.Fatal(err)
	}
	if err := text.New(t.Context(), s, text.Config{DefaultLanguage: language}); err != nil {
		t.Fatal(err)
	}
	return s
}

func newWorld(t *testing.T, g boot.Ground, s *boot.Service) world {
	t.Helper()
	client := func(service string) textv1.TextClient { return textv1.NewTextClient(testkit.Calls(t, g, service)) }
	return world{testkit.World{TB: t, Ground: g, Service: s}, client("gateway"), client("notification"), client("auth")}
}

// inInstance returns the context of a user with roles on the instance.
func (w world) inInstance(roles ...string) context.Context {
	return testkit.As(w.Context(), w.Ground, caller.Caller{
		UserID: "admin", OrganizationID: "o1", HomeOrganizationID: "o1",
		Memberships: []caller.Membership{{Roles: roles}},
	})
}

// event is the part of an event that tests compare.
type event struct{ Aggregate, AggregateID, Name, OrganizationID, Actor, Data string }

// events returns the service's events, the oldest first.
func (w world) events() []event {
	w.Helper()
	rows, err := w.Service.DB.Query(w.Context(), `select aggregate, aggregate_id, name, organization_id, actor, `+
		`data::text as data from events order by position`)
	w.Must(nil, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[event])
	w.Must(nil, err)
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

func (w world) exec(sql string, args ...any) {
	w.Helper()
	w.Must(w.Service.DB.Exec(w.Context(), sql, args...))
}

// unchanged returns the details of an object of an owner that was never changed.
func (w world) unchanged(owner string) *heraldv1.ObjectDetails {
	w.Helper()
	var at time.Time
	w.Must(nil, w.Service.DB.QueryRow(w.Context(), `select time from first_start`).Scan(&at))
	return &heraldv1.ObjectDetails{
		CreationDate: timestamppb.New(at), ChangeDate: timestamppb.New(at), ResourceOwner: owner,
	}
}

// later fails the test unless a change was made after another one of the same object.
func later(t *testing.T, change, before *heraldv1.ObjectDetails) {
	t.Helper()
	if change.Sequence <= before.Sequence {
		t.Errorf("the change %v has no later sequence than %v", change, before)
	}
	testkit.Equal(t, change, &heraldv1.ObjectDetails{
		Sequence: change.Sequence, ChangeDate: change.ChangeDate, ResourceOwner: before.ResourceOwner,
	})
}

// since returns the details of an object whose first and last change had these details.
func since(first, last *heraldv1.ObjectDetails) *heraldv1.ObjectDetails {
	details := proto.CloneOf(last)
	details.CreationDate = first.ChangeDate
	return details
}

func (w world) read(organizationID, language string) *textv1.CustomText {
	w.Helper()
	r, err := w.gateway.GetMessageText(w.As(organizationID, "ORG_OWNER_VIEWER"),
		&textv1.GetMessageTextRequest{Kind: "init", Language: language})
	w.Must(r, err)
	return r.CustomText
}

func TestEveryCallerWithATokenListsLanguages(t *testing.T) {
	t.Parallel()
	w := open(t)
	r, err := w.gateway.ListLanguages(w.As("o1"), &textv1.ListLanguagesRequest{})
	w.Must(r, err)
	if !slices.IsSorted(r.Languages) {
		t.Errorf("%v is not sorted", r.Languages)
	}
	for _, tag := range []string{"de", "en", "fr", "ja"} {
		if !slices.Contains(r.Languages, tag) {
			t.Errorf("no %s in %v", tag, r.Languages)
		}
	}
	_, err = w.gateway.ListLanguages(t.Context(), &textv1.ListLanguagesRequest{})
	refused(t, err, fault.ErrUnauthenticated)
}

func TestTextIsDefaultSinceTheFirstStart(t *testing.T) {
	t.Parallel()
	w := open(t)
	got := w.read("o1", "de-CH")
	testkit.Equal(t, got.Details, w.unchanged("o1"))
	if !got.IsDefault || got.Subject != "Ihr neues Konto bei {{.OrgName}}" {
		t.Errorf("text %v", got)
	}
}

func TestOwnTextReplacesTheDefaultFieldByField(t *testing.T) {
	t.Parallel()
	w := open(t)
	made, changed := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), time.Date(2026, 2, 3, 4, 5, 6, 7000, time.UTC)
	w.exec(`insert into custom_texts (org_id, kind, language, subject, button_text, sequence, created_at, changed_at)
		values ('o1', 'init', 'de', 'Servus', 'Los', 41, $1, $2)`, made, changed)
	standard := w.read("o2", "de")
	want := proto.CloneOf(standard)
	want.Subject, want.ButtonText, want.IsDefault = "Servus", "Los", false
	want.Details = &heraldv1.ObjectDetails{
		Sequence: 41, CreationDate: timestamppb.New(made), ChangeDate: timestamppb.New(changed), ResourceOwner: "o1",
	}
	testkit.Equal(t, w.read("o1", "DE_at"), want)
	if !standard.IsDefault || !w.read("o1", "en").IsDefault {
		t.Error("the text of another organization or language changed")
	}
}

func TestRowWithoutTextsIsDefault(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.exec(`insert into custom_texts (org_id, kind, language, sequence, created_at, changed_at) values ('o1', ` +
		`'init', 'en', 7, now(), now())`)
	if got := w.read("o1", "en"); !got.IsDefault || got.Details.Sequence != 7 {
		t.Errorf("got %v", got)
	}
}

func TestContentLanguageIsThatOfTheText(t *testing.T) {
	t.Parallel()
	w := open(t)
	gateway := testkit.Calls(t, w.Ground, "gateway")
	for asked, want := range map[string]string{"ja": "ja", "EN-us": "en", "tlh": "fr", "xx-DE": "fr"} {
		request, err := proto.Marshal(&textv1.GetMessageTextRequest{Kind: "init", Language: asked})
		w.Must(request, err)
		for _, method := range []string{
			textv1.Text_GetMessageText_FullMethodName, textv1.Text_GetDefaultMessageText_FullMethodName,
		} {
			t.Run(method+" in "+asked, func(t *testing.T) {
				answer, err := gateway.Forward(w.As("o1", "ORG_OWNER"), method, request)
				w.Must(answer, err)
				if got := answer.Header.Get("Content-Language"); got != want {
					t.Errorf("answered in %q, want %q", got, want)
				}
			})
		}
	}
}

func TestWrongRequestForATextIsRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, test := range []struct {
		name, kind, language string
		roles                []string
		want                 *fault.Fault
		fields               []string
	}{
		{"no permission", "init", "en", []string{"ORG_USER_MANAGER"}, fault.ErrPermissionDenied, nil},
		{"permission first", "nope", "!", nil, fault.ErrPermissionDenied, nil},
		{"no language", "init", "not a tag", []string{"ORG_SETTINGS_MANAGER"}, textfault.ErrLanguageInvalid,
			[]string{"language"}},
		{"kind before language", "nope", "!", []string{"ORG_OWNER"}, textfault.ErrMessageKindNotFound, nil},
		{"no kind", "nope", "en", []string{"ORG_OWNER"}, textfault.ErrMessageKindNotFound, nil},
		{"impossible language", "init", strings.Repeat("a", 201), []string{"ORG_OWNER"}, fault.ErrNotFound, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := w.gateway.GetMessageText(w.As("o1", test.roles...), &textv1.GetMessageTextRequest{
				Kind: test.kind, Language: test.language,
			})
			refused(t, err, test.want, test.fields...)
		})
	}
}

func TestMailIsInTheLanguageOfItsReader(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.exec(`insert into custom_texts (org_id, kind, language, greeting, sequence, created_at, changed_at) values ` +
		`('o1', 'init', 'fr', 'Salut', 3, now(), now())`)
	w.Must(w.gateway.SetBranding(w.As("o1", "ORG_OWNER"), &textv1.SetBrandingRequest{
		PrimaryColor: "#00aaff", SupportEmail: " help@example.com ",
	}))
	for preferred, want := range map[string]string{
		"ja": "ja", "de-LI": "de", "": "fr", "tlh": "fr", "not a tag": "fr",
	} {
		t.Run(preferred, func(t *testing.T) {
			r, err := w.mailer.ResolveMessageText(t.Context(), &textv1.ResolveMessageTextRequest{OrgId: "o1",
				Kind: "init", PreferredLanguage: preferred})
			w.Must(r, err)
			testkit.Equal(t, r, &textv1.ResolveMessageTextResponse{Language: want, CustomText: w.read("o1", want),
				Branding: &textv1.ResolveBrandingResponse{PrimaryColor: "#00aaff", SupportEmail: "help@example.com"}})
		})
	}
	_, err := w.mailer.ResolveMessageText(t.Context(), &textv1.ResolveMessageTextRequest{OrgId: "o1", Kind: "nope"})
	refused(t, err, textfault.ErrMessageKindNotFound)
}

func TestUsersCannotCallMethodsOfServices(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, err := w.mailer.ResolveMessageText(w.As("o1", "ORG_OWNER"),
		&textv1.ResolveMessageTextRequest{OrgId: "o1", Kind: "init"})
	refused(t, err, fault.ErrPermissionDenied)
	_, err = w.pages.ResolveLanguages(w.inInstance("IAM_OWNER"), &textv1.ResolveLanguagesRequest{})
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
