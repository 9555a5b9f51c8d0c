package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/png"
	"slices"
	"testing"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/testkit"
)

func (w world) setColor(orgID, color string) *textv1.SetBrandingResponse {
	w.Helper()
	r, err := w.gateway.SetBranding(w.As(orgID, "ORG_SETTINGS_MANAGER"),
		&textv1.SetBrandingRequest{PrimaryColor: color})
	w.Must(r, err)
	return r
}

func (w world) branding(orgID string) *textv1.Branding {
	w.Helper()
	r, err := w.gateway.GetBranding(w.As(orgID, "ORG_OWNER_VIEWER"), &textv1.GetBrandingRequest{})
	w.Must(r, err)
	return r.Branding
}

// hash returns the hash of a logo in its path.
func hash(picture []byte) string {
	sum := sha256.Sum256(picture)
	return hex.EncodeToString(sum[:])
}

// drawn returns an image.
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
	settings, owner := w.As("o1", "ORG_SETTINGS_MANAGER"), w.As("o1", "ORG_OWNER")
	nothing := &textv1.Branding{Details: w.unchanged("o1"), IsDefault: true}
	testkit.Equal(t, w.branding("o1"), nothing)

	first := w.setColor("o1", "#00AAff")
	later(t, first.Details, nothing.Details)
	testkit.Equal(t, w.setColor("o1", "#00aaFF"), first)
	picture := drawn(t, 3)
	second, err := w.gateway.SetBrandingLogo(settings, &textv1.SetBrandingLogoRequest{Logo: picture})
	w.Must(second, err)
	later(t, second.Details, first.Details)
	again, err := w.gateway.SetBrandingLogo(settings, &textv1.SetBrandingLogoRequest{Logo: picture})
	w.Must(again, err)
	testkit.Equal(t, again, second)
	both := &textv1.Branding{
		Details: since(first.Details, second.Details), PrimaryColor: "#00aaff",
		LogoUrl: w.Service.PublicURL.String() + "/ui/logo/o1/" + hash(picture),
	}
	testkit.Equal(t, w.branding("o1"), both)
	third := w.setColor("o1", "")
	both.Details, both.PrimaryColor = since(first.Details, third.Details), ""
	testkit.Equal(t, w.branding("o1"), both)

	removed, err := w.gateway.RemoveBranding(owner, &textv1.RemoveBrandingRequest{})
	w.Must(removed, err)
	later(t, removed.Details, third.Details)
	testkit.Equal(t, w.branding("o1"), nothing)
	_, err = w.gateway.RemoveBranding(owner, &textv1.RemoveBrandingRequest{})
	refused(t, err, textfault.ErrBrandingNotFound)
	want := []event{
		{"branding", "o1", "changed", "o1", "user-o1", `{"changed": ["primaryColor"]}`},
		{"branding", "o1", "changed", "o1", "user-o1", `{"changed": ["logo"]}`},
		{"branding", "o1", "changed", "o1", "user-o1", `{"changed": ["primaryColor"]}`},
		{"branding", "o1", "removed", "o1", "user-o1", `{}`},
	}
	if got := w.events(); !slices.Equal(got, want) {
		t.Errorf("events %+v\nwant %+v", got, want)
	}
}

// Removing a color that is not set changes nothing. When the last part of a branding is removed, the branding is
// removed.
func TestBrandingWithoutPartsIsDefault(t *testing.T) {
	t.Parallel()
	w := open(t)
	if r := w.setColor("o1", ""); r.Details.Sequence != 0 || len(w.events()) != 0 {
		t.Errorf("no color was removed: %v, %v", r, w.events())
	}
	w.setColor("o1", "#00aaff")
	w.setColor("o1", "")
	testkit.Equal(t, w.branding("o1"), &textv1.Branding{Details: w.unchanged("o1"), IsDefault: true})
}

// A text that is not a color and a file that is not a logo are refused, and nothing is written.
func TestWrongBrandingIsRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	settings := w.As("o1", "ORG_SETTINGS_MANAGER")
	for _, color := range []string{
		"red", "#fff", "#00aaff00", "00aaff", "#00aafg", " #00aaff", "#00aaff\n", "rgb(0,0,0)",
		"#00aaff;}body{display:none",
	} {
		t.Run(color, func(t *testing.T) {
			_, err := w.gateway.SetBranding(settings, &textv1.SetBrandingRequest{PrimaryColor: color})
			refused(t, err, fault.ErrInvalidArgument, "primaryColor")
		})
	}
	_, err := w.gateway.SetBranding(settings, &textv1.SetBrandingRequest{SupportEmail: "help"})
	refused(t, err, textfault.ErrSupportEmailInvalid, "supportEmail")
	for name, c := range map[string]struct {
		logo []byte
		want *fault.Fault
	}{
		"no logo":  {nil, textfault.ErrLogoInvalid},
		"SVG":      {[]byte("<svg/>"), textfault.ErrLogoInvalid},
		"too long": {make([]byte, 256<<10+1), fault.ErrInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.gateway.SetBrandingLogo(settings, &textv1.SetBrandingLogoRequest{Logo: c.logo})
			refused(t, err, c.want, "logo")
		})
	}
	if got := w.branding("o1"); !got.IsDefault || len(w.events()) != 0 {
		t.Errorf("it is %v, %v", got, w.events())
	}
}

func TestPagesGetTheBrandingOfTheirOrganization(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.setColor("o1", "#00aaff")
	pictures := map[string][]byte{"o1": drawn(t, 3), "o2": drawn(t, 4)}
	for orgID, picture := range pictures {
		w.Must(w.gateway.SetBrandingLogo(w.As(orgID, "ORG_SETTINGS_MANAGER"),
			&textv1.SetBrandingLogoRequest{Logo: picture}))
	}
	for orgID, want := range map[string]*textv1.ResolveBrandingResponse{
		"o1": {PrimaryColor: "#00aaff", LogoPath: "/ui/logo/o1/" + hash(pictures["o1"])},
		"o2": {LogoPath: "/ui/logo/o2/" + hash(pictures["o2"])}, "o3": {},
	} {
		t.Run(orgID, func(t *testing.T) {
			got, err := w.pages.ResolveBranding(t.Context(), &textv1.ResolveBrandingRequest{OrgId: orgID})
			w.Must(got, err)
			testkit.Equal(t, got, want)
		})
	}
	for orgID, picture := range pictures {
		got, err := w.pages.ResolveLogo(t.Context(), &textv1.ResolveLogoRequest{OrgId: orgID, Hash: hash(picture)})
		w.Must(got, err)
		testkit.Equal(t, got, &textv1.ResolveLogoResponse{Logo: picture, MediaType: "image/png"})
	}
	for _, ask := range []*textv1.ResolveLogoRequest{
		{OrgId: "o1", Hash: hash(pictures["o2"])}, {OrgId: "o1"}, {OrgId: "o3"},
	} {
		_, err := w.pages.ResolveLogo(t.Context(), ask)
		refused(t, err, textfault.ErrLogoNotFound)
	}
}
