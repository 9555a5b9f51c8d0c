package api

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/shared/caller"
	textv1 "herald/shared/gen/herald/text/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
)

// GetBranding reads the organization's branding.
func (t Text) GetBranding(ctx context.Context, _ *textv1.GetBrandingRequest) (*textv1.GetBrandingResponse, error) {
	orgID := caller.From(ctx).OrganizationID
	b, err := t.Store.Branding(ctx, orgID)
	if err != nil {
		return nil, err
	}
	got := &textv1.Branding{
		Details: resource.Details(b.Record, orgID), PrimaryColor: b.PrimaryColor, SupportEmail: b.SupportEmail,
		IsDefault: b.IsDefault(),
	}
	if path := logoPath(orgID, b.LogoHash); path != "" {
		got.LogoUrl = t.PublicURL + path
	}
	return &textv1.GetBrandingResponse{Branding: got}, nil
}

// SetBranding replaces the organization's color and its address for help.
func (t Text) SetBranding(ctx context.Context, r *textv1.SetBrandingRequest) (*textv1.SetBrandingResponse, error) {
	if err := domain.CheckSupportEmail(r.SupportEmail); err != nil {
		return nil, err
	}
	details, err := t.setBranding(ctx, func(b *domain.Branding) []string {
		return b.Set(r.PrimaryColor, r.SupportEmail)
	})
	return &textv1.SetBrandingResponse{Details: details}, err
}

// SetBrandingLogo replaces the organization's logo.
func (t Text) SetBrandingLogo(
	ctx context.Context, r *textv1.SetBrandingLogoRequest,
) (*textv1.SetBrandingLogoResponse, error) {
	logo, err := domain.ReadLogo(r.Logo)
	if err != nil {
		return nil, err
	}
	details, err := t.setBranding(ctx, func(b *domain.Branding) []string { return b.SetLogo(logo) })
	return &textv1.SetBrandingLogoResponse{Details: details}, err
}

// RemoveBranding removes the organization's branding.
func (t Text) RemoveBranding(
	ctx context.Context, _ *textv1.RemoveBrandingRequest,
) (*textv1.RemoveBrandingResponse, error) {
	orgID := caller.From(ctx).OrganizationID
	b, err := t.Store.ResetBranding(ctx, orgID, func(b *domain.Branding) (proto.Message, error) {
		return &textv1.BrandingRemoved{}, b.Reset()
	})
	if err != nil {
		return nil, err
	}
	return &textv1.RemoveBrandingResponse{Details: resource.Changed(b.Record, orgID)}, nil
}

// ResolveBranding returns an organization's branding for a page.
func (t Text) ResolveBranding(
	ctx context.Context, r *textv1.ResolveBrandingRequest,
) (*textv1.ResolveBrandingResponse, error) {
	return t.branding(ctx, r.OrgId)
}

func (t Text) branding(ctx context.Context, orgID string) (*textv1.ResolveBrandingResponse, error) {
	b, err := t.Store.Branding(ctx, orgID)
	return &textv1.ResolveBrandingResponse{
		PrimaryColor: b.PrimaryColor, LogoPath: logoPath(orgID, b.LogoHash), SupportEmail: b.SupportEmail,
	}, err
}

// ResolveLogo returns the image of a logo.
func (t Text) ResolveLogo(ctx context.Context, r *textv1.ResolveLogoRequest) (*textv1.ResolveLogoResponse, error) {
	l, err := t.Store.Logo(ctx, r.OrgId, r.Hash)
	return &textv1.ResolveLogoResponse{Logo: l.Image, MediaType: l.MediaType}, err
}

// setBranding changes the organization's branding with a function that returns the names of the changed fields.
func (t Text) setBranding(
	ctx context.Context, change func(*domain.Branding) []string,
) (details *heraldv1.ObjectDetails, err error) {
	orgID := caller.From(ctx).OrganizationID
	b, err := t.Store.SetBranding(ctx, orgID, func(b *domain.Branding) (proto.Message, error) {
		changed := change(b)
		if len(changed) == 0 {
			return nil, nil
		}
		return &textv1.BrandingChanged{Changed: changed}, nil
	})
	return resource.Changed(b.Record, orgID), err
}

// logoPath returns the path at which the service auth serves a logo, or "" if there is no hash. A new logo has another
// path, so browsers can cache a logo without a time limit.
func logoPath(orgID, hash string) string {
	if hash == "" {
		return ""
	}
	return "/ui/logo/" + orgID + "/" + hash
}
