package store_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
	"herald/shared/gen/fault/textfault"
	"herald/shared/testkit"
)

// asked is a method about an organization's texts. It returns those that it found.
type asked struct {
	name   string
	absent error // the error if there are none; nil if the answer is empty texts
	ask    func(context.Context, store.Store, store.Key) (domain.Custom, error)
}

// everything has a call of every method about an organization's texts. The removal is last.
var everything = []asked{
	{"Custom", nil, func(ctx context.Context, s store.Store, k store.Key) (domain.Custom, error) {
		return s.Custom(ctx, k)
	}},
	{"SetCustom", nil, func(ctx context.Context, s store.Store, k store.Key) (domain.Custom, error) {
		return s.SetCustom(ctx, k, func(*domain.Custom) (proto.Message, error) { return nil, nil })
	}},
	{"ResetCustom", textfault.ErrCustomTextNotFound,
		func(ctx context.Context, s store.Store, k store.Key) (domain.Custom, error) {
			return s.ResetCustom(ctx, k, kept)
		}},
}

// elsewhere lists the methods that need not have an organization as a condition, with the reason.
var elsewhere = map[string]string{
	"Beginning": "is the instance's", "SomeCustom": "reads for a removed organization",
	"Languages": "are the instance's", "ChangeLanguages": "are the instance's",
}

// No method finds or changes a text of another organization, message or language. Each finds the
// text with its own key.
func TestQueriesFindOnlyObjectsOfTheirOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(mine, "Hallo")
	w.write(store.Key{OrganizationID: "org-b", Kind: "verifyemail", Language: "fr"}, "Salut")
	before := testkit.Rows(t, w.db, "events")
	for where, k := range map[string]store.Key{
		"another organization": {OrganizationID: "org-b", Kind: mine.Kind, Language: mine.Language},
		"no organization":      {Kind: mine.Kind, Language: mine.Language},
		"another message":      {OrganizationID: mine.OrganizationID, Kind: "verifyemail", Language: mine.Language},
		"another language":     {OrganizationID: mine.OrganizationID, Kind: mine.Kind, Language: "fr"},
	} {
		for _, m := range everything {
			t.Run(m.name+" in "+where, func(t *testing.T) {
				c, err := m.ask(t.Context(), w.Store, k)
				if c.Subject != "" || c.Sequence != 0 || !errors.Is(err, m.absent) {
					t.Errorf("%+v, %v", c, err)
				}
			})
		}
	}
	if testkit.Rows(t, w.db, "events") != before || testkit.Rows(t, w.db, "custom_texts") != 2 {
		t.Error("something was written")
	}
	for _, m := range everything {
		t.Run(m.name, func(t *testing.T) {
			if c, err := m.ask(t.Context(), w.Store, mine); c.Subject != "Hallo" || c.Sequence == 0 || err != nil {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	if testkit.Rows(t, w.db, "custom_texts where org_id = 'org-b'") != 1 {
		t.Error("another organization's texts were removed too")
	}
}

func TestEveryMethodIsCalledForAForeignOrganization(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range everything {
		names = append(names, m.name)
	}
	for _, m := range brandings {
		names = append(names, m.name)
	}
	testkit.Listed[store.Store](t, names, elsewhere)
}
