package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/png"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/testkit"
)

func (w world) setColor(t *testing.T, orgID, color string) *textv1.SetBrandingResponse {
	t.Helper()
	r, err := w.gateway.SetBranding(w.as(t.Context(), orgID, "ORG_SETTINGS_MANAGER"),
		&textv1.SetBrandingRequest{PrimaryColor: color})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w world) branding(t *testing.T, orgID string) *textv1.Branding {
	t.Helper()
	r, err := w.gateway.GetBranding(w.as(t.Context(), orgID, "ORG_OWNER_VIEWER"), &textv1.GetBrandingRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Branding
}

func drawn(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An organization chooses a color and a logo, changes them, and removes both.
func TestBrandingIsChosenChangedAndRemoved(t *testing.T) {
	t.Parallel()
	w := open(t)
	settings := w.as(t.Context(), "o1", "ORG_SETTINGS_MANAGER")
	none := w.branding(t, "o1")
	if d := none.Details; !none.IsDefault || none.PrimaryColor != "" || none.LogoUrl != "" || d.Sequence != 0 ||
		d.ResourceOwner != "o1" || !d.CreationDate.AsTime().Equal(w.firstStart(t)) ||
		!d.ChangeDate.AsTime().Equal(w.firstStart(t)) {
		t.Errorf("nothing chosen: %v", none)
	}
	first := w.setColor(t, "o1", "#00AAff")
	testkit.Equal(t, w.setColor(t, "o1", "#00aaFF"), first)
	picture := drawn(t, 3)
	logo := &textv1.SetBrandingLogoRequest{Logo: picture}
	second, err := w.gateway.SetBrandingLogo(settings, logo)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.gateway.SetBrandingLogo(settings, logo); err != nil || !proto.Equal(again, second) {
		t.Errorf("the same logo answers %v, %v, want %v", again, err, second)
	}
	sum := sha256.Sum256(picture)
	hash := hex.EncodeToString(sum[:])
	got := w.branding(t, "o1")
	address := w.service.PublicURL.String() + "/ui/logo/o1/" + hash
	if got.PrimaryColor != "#00aaff" || got.LogoUrl != address || got.IsDefault ||
		got.Details.Sequence != second.Details.Sequence || second.Details.Sequence <= first.Details.Sequence ||
		!proto.Equal(got.Details.CreationDate, first.Details.ChangeDate) ||
		!proto.Equal(got.Details.ChangeDate, second.Details.ChangeDate) {
		t.Errorf("after %v and %v it is %v", first, second, got)
	}
	w.setColor(t, "o1", "")
	if got := w.branding(t, "o1"); got.PrimaryColor != "" || got.LogoUrl == "" || got.IsDefault {
		t.Errorf("without a color it is %v", got)
	}

	owner := w.as(t.Context(), "o1", "ORG_OWNER")
	gone, err := w.gateway.RemoveBranding(owner, &textv1.RemoveBrandingRequest{})
	if err != nil || gone.Details.Sequence <= second.Details.Sequence || gone.Details.ResourceOwner != "o1" {
		t.Errorf("%v, %v", gone, err)
	}
	testkit.Equal(t, w.branding(t, "o1"), none)
	_, err = w.gateway.RemoveBranding(owner, &textv1.RemoveBrandingRequest{})
	refused(t, err, textfault.ErrBrandingNotFound)

	about := event{Aggregate: "branding", AggregateID: "o1", OrganizationID: "o1", Actor: "u1"}
	events := w.events(t)
	for i, want := range []struct{ name, data string }{
		{"changed", `{"changed": ["primaryColor"]}`}, {"changed", `{"changed": ["logo"]}`},
		{"changed", `{"changed": ["primaryColor"]}`}, {"removed", `{}`},
	} {
		about.Name, about.Data = want.name, want.data
		if len(events) != 4 || events[i] != about {
			t.Fatalf("event %d of %+v\nwant %+v", i, events, about)
		}
	}
}

// To remove a color that is not set changes nothing. When the last part of a branding is removed, the branding is
// removed.
func TestNothingInsteadOfNothingIsNoChange(t *testing.T) {
	t.Parallel()
	w := open(t)
	if r := w.setColor(t, "o1", ""); r.Details.Sequence != 0 || len(w.events(t)) != 0 {
		t.Errorf("nothing instead of nothing: %v, %v", r, w.events(t))
	}
	w.setColor(t, "o1", "#00aaff")
	w.setColor(t, "o1", "")
	if got := w.branding(t, "o1"); !got.IsDefault || got.Details.Sequence != 0 {
		t.Errorf("it is %v", got)
	}
}

// A text that is not a color and a file that is not a logo are refused, and nothing is written.
func TestWrongBrandingIsRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	settings := w.as(t.Context(), "o1", "ORG_SETTINGS_MANAGER")
	for _, color := range []string{
		"red", "#fff", "#00aaff00", "00aaff", "#00aafg", " #00aaff", "#00aaff\n", "rgb(0,0,0)",
		"#00aaff;}body{display:none",
	} {
		t.Run(color, func(t *testing.T) {
			_, err := w.gateway.SetBranding(settings, &textv1.SetBrandingRequest{PrimaryColor: color})
			refused(t, err, fault.ErrInvalidArgument, "primaryColor")
		})
	}
	for _, c := range []struct {
		logo []byte
		want *fault.Fault
	}{{nil, textfault.ErrLogoInvalid}, {[]byte("<svg/>"), textfault.ErrLogoInvalid},
		{make([]byte, 256<<10+1), fault.ErrInvalidArgument}} {
		_, err := w.gateway.SetBrandingLogo(settings, &textv1.SetBrandingLogoRequest{Logo: c.logo})
		refused(t, err, c.want, "logo")
	}
	if got := w.branding(t, "o1"); !got.IsDefault || len(w.events(t)) != 0 {
		t.Errorf("it is %v, %v", got, w.events(t))
	}
}

// Pages get each organization's own branding, and a logo by its hash.
func TestPagesGetEachOrganizationsBranding(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.setColor(t, "o1", "#00aaff")
	pictures := map[string][]byte{"o1": drawn(t, 3), "o2": drawn(t, 4)}
	paths := map[string]string{}
	for orgID, picture := range pictures {
		if _, err := w.gateway.SetBrandingLogo(w.as(t.Context(), orgID, "ORG_SETTINGS_MANAGER"),
			&textv1.SetBrandingLogoRequest{Logo: picture}); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(picture)
		paths[orgID] = hex.EncodeToString(sum[:])
	}
	for orgID, want := range map[string]*textv1.ResolveBrandingResponse{
		"o1": {PrimaryColor: "#00aaff", LogoPath: "/ui/logo/o1/" + paths["o1"]},
		"o2": {LogoPath: "/ui/logo/o2/" + paths["o2"]}, "o3": {},
	} {
		t.Run(orgID, func(t *testing.T) {
			got, err := w.pages.ResolveBranding(t.Context(), &textv1.ResolveBrandingRequest{OrgId: orgID})
			if err != nil {
				t.Fatal(err)
			}
			testkit.Equal(t, got, want)
		})
	}
	for orgID, picture := range pictures {
		got, err := w.pages.ResolveLogo(t.Context(), &textv1.ResolveLogoRequest{OrgId: orgID, Hash: paths[orgID]})
		if err != nil || !bytes.Equal(got.Logo, picture) || got.MediaType != "image/png" {
			t.Errorf("%s: %v, %v", orgID, got.GetMediaType(), err)
		}
	}
	for _, ask := range []*textv1.ResolveLogoRequest{{OrgId: "o1", Hash: paths["o2"]}, {OrgId: "o1"}, {OrgId: "o3"}} {
		_, err := w.pages.ResolveLogo(t.Context(), ask)
		refused(t, err, textfault.ErrLogoNotFound)
	}
}
