package store_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("text", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// happened is the event of every change, because the store does not look at events. It may have no organization.
var happened = &textv1.DefaultLanguageChanged{}

// world is a database with the store on it.
type world struct {
	testing.TB
	store.Store
	db *pgxpool.Pool
}

func newWorld(t testing.TB) world {
	t.Helper()
	j := kit.Journal(t)
	return world{t, store.New(j), j.DB}
}

// written is a change that gives texts another subject.
func written(subject string) func(*domain.Custom) (proto.Message, error) {
	return func(c *domain.Custom) (proto.Message, error) {
		c.Subject = subject
		return happened, nil
	}
}

// kept changes no text, but is written like a change because it returns an event.
func kept(*domain.Custom) (proto.Message, error) { return happened, nil }

// mine are texts that org-a wrote.
var mine = store.Key{OrganizationID: "org-a", Kind: "init", Language: "de"}

func (w world) write(k store.Key, subject string) {
	w.Helper()
	w.must(w.SetCustom(w.Context(), k, written(subject)))
}

func (w world) must(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Twenty calls write the same texts for the first time at once. They are executed one after another. There is one row,
// with the words and the sequence of the last call.
func TestSimultaneousFirstTextsAreWrittenOneAfterAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sequences := make([]int64, 20)
	testkit.Race(t, len(sequences), func(i int) error {
		c, err := w.SetCustom(t.Context(), mine, written(string(rune('a'+i))))
		sequences[i] = c.Sequence
		return err
	})
	last := 0
	for i, n := range sequences {
		if n > sequences[last] {
			last = i
		}
	}
	c, err := w.Custom(t.Context(), mine)
	if err != nil || c.Subject != string(rune('a'+last)) || c.Sequence != sequences[last] {
		t.Errorf("%+v, %v; the last has the number %d and says %c", c, err, sequences[last], 'a'+last)
	}
	if n := testkit.Rows(t, w.db, "custom_texts t join events e on e.time = t.created_at and e.position = "+
		"(select min(position) from events where aggregate_id = 'org-a/init/de')"); n != 1 {
		t.Error("the texts are not as old as the first change of them")
	}
}

// If twenty calls remove an organization's texts at once, one succeeds.
func TestTextsAreRemovedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(mine, "Hallo")
	testkit.Once(t, 20, func(int) error {
		_, err := w.ResetCustom(t.Context(), mine, kept)
		return err
	}, textfault.ErrCustomTextNotFound.ID)
	if left := testkit.Rows(t, w.db, "custom_texts"); left != 0 {
		t.Errorf("%d texts are left", left)
	}
}

// Changes of the default language and of the allowed languages are executed one after another, so that each sees the
// other. The table refuses a default language that is not allowed.
func TestChangesOfLanguagesAreMadeOneAfterAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	change := func(f func(*domain.Languages)) error {
		_, err := w.ChangeLanguages(t.Context(), func(l *domain.Languages) (proto.Message, error) {
			f(l)
			return happened, nil
		})
		return err
	}
	allow := func(language string) error {
		return change(func(l *domain.Languages) {
			l.DefaultLanguage, l.AllowedLanguages = "en", append(l.AllowedLanguages, language)
		})
	}
	w.must(nil, allow("en"))
	testkit.Race(t, 20, func(i int) error { return allow(string(rune('a' + i))) })
	l, err := w.Languages(t.Context())
	if err != nil || len(l.AllowedLanguages) != 21 {
		t.Errorf("twenty allowed one more each: %v, %v", l.AllowedLanguages, err)
	}
	if err := change(func(l *domain.Languages) { l.DefaultLanguage = "z" }); err == nil {
		t.Error("a default language that is not allowed is saved")
	}
}

func TestNoRequestViolatesAConstraint(t *testing.T) {
	t.Parallel()
	testkit.Constrained(t, kit.Pool(t), nil, map[string]bool{}, map[string]string{
		"brandings_pkey":            "no insert of a branding that exists fails",
		"custom_texts_pkey":         "no insert of texts that exist fails",
		"languages_pkey":            "no statement inserts another row",
		"languages_single_check":    "no statement changes the column",
		"languages_default_allowed": "the domain refuses a default language that is not allowed",
	})
}
