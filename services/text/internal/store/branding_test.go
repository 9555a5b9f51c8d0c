package store_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
	"herald/shared/gen/fault/textfault"
	"herald/shared/resource"
	"herald/shared/testkit"
)

// logo returns a logo whose image is a text.
func logo(image string) domain.Logo { return domain.Logo{Image: []byte(image), MediaType: "image/png"} }

// branded is a change that sets a color and a logo.
func branded(color, image string) func(*domain.Branding) (proto.Message, error) {
	return func(b *domain.Branding) (proto.Message, error) {
		b.Set(color, "")
		b.SetLogo(logo(image))
		return happened, nil
	}
}

// brandings has a call of every method about an organization's branding. The removal is last.
var brandings = []struct {
	name   string
	absent error // the error if there is none; nil if the answer is an empty branding
	ask    func(context.Context, store.Store, string) (domain.Branding, error)
}{
	{"Branding", nil, func(ctx context.Context, s store.Store, orgID string) (domain.Branding, error) {
		return s.Branding(ctx, orgID)
	}},
	{"Logo", textfault.ErrLogoNotFound,
		func(ctx context.Context, s store.Store, orgID string) (domain.Branding, error) {
			l, err := s.Logo(ctx, orgID, logo("mine").Hash())
			if err != nil || !bytes.Equal(l.Image, []byte("mine")) || l.MediaType != "image/png" {
				return domain.Branding{}, err
			}
			return s.Branding(ctx, orgID)
		}},
	{"SetBranding", nil, func(ctx context.Context, s store.Store, orgID string) (domain.Branding, error) {
		return s.SetBranding(ctx, orgID, func(*domain.Branding) (proto.Message, error) { return nil, nil })
	}},
	{"ResetBranding", textfault.ErrBrandingNotFound,
		func(ctx context.Context, s store.Store, orgID string) (domain.Branding, error) {
			return s.ResetBranding(ctx, orgID, func(*domain.Branding) (proto.Message, error) { return happened, nil })
		}},
}

// No method finds or changes the branding of another organization.
func TestBrandingOfAnotherOrganizationIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for orgID, image := range map[string]string{"org-a": "mine", "org-b": "theirs"} {
		w.must(w.SetBranding(t.Context(), orgID, branded("#00aaff", image)))
	}
	before := testkit.Rows(t, w.db, "events")
	for _, orgID := range []string{"org-c", ""} {
		for _, m := range brandings {
			t.Run(m.name+" in "+orgID, func(t *testing.T) {
				b, err := m.ask(t.Context(), w.Store, orgID)
				if b.PrimaryColor != "" || b.Sequence != 0 || !errors.Is(err, m.absent) {
					t.Errorf("%+v, %v", b, err)
				}
			})
		}
	}
	if _, err := w.Logo(t.Context(), "org-b", logo("mine").Hash()); !errors.Is(err, textfault.ErrLogoNotFound) {
		t.Errorf("another organization has the logo: %v", err)
	}
	if testkit.Rows(t, w.db, "events") != before || testkit.Rows(t, w.db, "brandings") != 2 {
		t.Error("something was written")
	}
	for _, m := range brandings {
		t.Run(m.name, func(t *testing.T) {
			b, err := m.ask(t.Context(), w.Store, "org-a")
			if b.PrimaryColor != "#00aaff" || b.Sequence == 0 || err != nil {
				t.Errorf("%+v, %v", b, err)
			}
		})
	}
	if testkit.Rows(t, w.db, "brandings where org_id = 'org-b'") != 1 {
		t.Error("another organization's branding was removed too")
	}
}

// A change of the color does not change the logo. A new logo replaces the old one. A branding without color and logo is
// removed.
func TestLogoIsKeptUntilItIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set := func(change func(*domain.Branding)) domain.Branding {
		t.Helper()
		b, err := w.SetBranding(t.Context(), "org-a", func(b *domain.Branding) (proto.Message, error) {
			change(b)
			return happened, nil
		})
		w.must(b, err)
		return b
	}
	has := func(want string) {
		t.Helper()
		l, err := w.Logo(t.Context(), "org-a", logo(want).Hash())
		if w.must(l, err); !reflect.DeepEqual(l, logo(want)) {
			t.Errorf("the logo is %s, %q, want %q", l.MediaType, l.Image, want)
		}
	}
	first := set(func(b *domain.Branding) { b.SetLogo(logo("one")) })
	has("one")
	second := set(func(b *domain.Branding) { b.Set("#00aaff", "") })
	has("one")
	got, err := w.Branding(t.Context(), "org-a")
	w.must(got, err)
	want := resource.Record{Sequence: second.Sequence, CreatedAt: first.ChangedAt, ChangedAt: second.ChangedAt}
	testkit.Equal(t, resource.Details(got.Record, "org-a"), resource.Details(want, "org-a"))
	if second.Sequence <= first.Sequence {
		t.Errorf("the second change has the sequence %d, the first %d", second.Sequence, first.Sequence)
	}
	set(func(b *domain.Branding) { b.SetLogo(logo("two")) })
	has("two")
	if _, err := w.Logo(t.Context(), "org-a", logo("one").Hash()); !errors.Is(err, textfault.ErrLogoNotFound) {
		t.Errorf("the old logo: %v", err)
	}
	set(func(b *domain.Branding) { b.PrimaryColor, b.LogoHash = "", "" })
	if n := testkit.Rows(t, w.db, "brandings"); n != 0 {
		t.Errorf("%d rows without anything", n)
	}
}

// If there is no logo, the empty hash does not find one.
func TestEmptyHashFindsNoLogo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.SetBranding(t.Context(), "org-a", func(b *domain.Branding) (proto.Message, error) {
		b.Set("#00aaff", "")
		return happened, nil
	}))
	if l, err := w.Logo(t.Context(), "org-a", ""); !errors.Is(err, textfault.ErrLogoNotFound) {
		t.Errorf("%+v, %v", l, err)
	}
}

// Twenty calls set the branding for the first time at once: all succeed, one after another. Twenty calls remove it at
// once: one succeeds.
func TestSimultaneousBrandingsAreWrittenOneAfterAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Race(t, 20, func(i int) error {
		_, err := w.SetBranding(t.Context(), "org-a", branded("#00aaff", string(rune('a'+i))))
		return err
	})
	b, err := w.Branding(t.Context(), "org-a")
	w.must(b, err)
	if l, err := w.Logo(t.Context(), "org-a", b.LogoHash); err != nil || l.Hash() != b.LogoHash {
		t.Errorf("the image does not fit its hash: %q, %v", l.Image, err)
	}
	testkit.Once(t, 20, func(int) error {
		_, err := w.ResetBranding(t.Context(), "org-a", func(*domain.Branding) (proto.Message, error) {
			return happened, nil
		})
		return err
	}, textfault.ErrBrandingNotFound.ID)
	if left := testkit.Rows(t, w.db, "brandings"); left != 0 {
		t.Errorf("%d brandings are left", left)
	}
}
