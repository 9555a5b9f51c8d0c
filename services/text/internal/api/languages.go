package api

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/resource"
)

// ofInstance is the resource owner in details: languages belong to the instance, not to an
// organization.
const ofInstance = ""

// ListLanguages returns the languages that have default texts.
func (t Text) ListLanguages(context.Context, *textv1.ListLanguagesRequest) (*textv1.ListLanguagesResponse, error) {
	return &textv1.ListLanguagesResponse{Languages: t.Catalog.Languages()}, nil
}

// GetDefaultLanguage reads the default language.
func (t Text) GetDefaultLanguage(
	ctx context.Context, _ *textv1.GetDefaultLanguageRequest,
) (*textv1.GetDefaultLanguageResponse, error) {
	l, err := t.Store.Languages(ctx)
	if err != nil {
		return nil, err
	}
	return &textv1.GetDefaultLanguageResponse{
		Language: l.Default(t.Catalog), Details: resource.Details(l.Record, ofInstance),
	}, nil
}

// SetDefaultLanguage replaces the default language.
func (t Text) SetDefaultLanguage(
	ctx context.Context, r *textv1.SetDefaultLanguageRequest,
) (*textv1.SetDefaultLanguageResponse, error) {
	language, err := t.Catalog.Listed(r.Language)
	if err != nil {
		return nil, err
	}
	l, err := t.Store.ChangeLanguages(ctx, func(l *domain.Languages) (proto.Message, error) {
		if changed, err := l.SetDefault(t.Catalog, language); !changed {
			return nil, err
		}
		return &textv1.DefaultLanguageChanged{Language: language}, nil
	})
	if err != nil {
		return nil, err
	}
	return &textv1.SetDefaultLanguageResponse{Details: resource.Changed(l.Record, ofInstance)}, nil
}

// GetAllowedLanguages reads the languages of mails and pages.
func (t Text) GetAllowedLanguages(
	ctx context.Context, _ *textv1.GetAllowedLanguagesRequest,
) (*textv1.GetAllowedLanguagesResponse, error) {
	l, err := t.Store.Languages(ctx)
	if err != nil {
		return nil, err
	}
	return &textv1.GetAllowedLanguagesResponse{
		Languages: l.Allowed(t.Catalog), Details: resource.Details(l.Record, ofInstance),
	}, nil
}

// SetAllowedLanguages replaces the languages of mails and pages.
func (t Text) SetAllowedLanguages(
	ctx context.Context, r *textv1.SetAllowedLanguagesRequest,
) (*textv1.SetAllowedLanguagesResponse, error) {
	languages, err := t.Catalog.AllListed(r.Languages)
	if err != nil {
		return nil, err
	}
	l, err := t.Store.ChangeLanguages(ctx, func(l *domain.Languages) (proto.Message, error) {
		if changed, err := l.SetAllowed(t.Catalog, languages); !changed {
			return nil, err
		}
		return &textv1.AllowedLanguagesChanged{Languages: l.Allowed(t.Catalog)}, nil
	})
	if err != nil {
		return nil, err
	}
	return &textv1.SetAllowedLanguagesResponse{Details: resource.Changed(l.Record, ofInstance)}, nil
}

// ResolveLanguages returns the default and the allowed languages from one read, so that they are
// consistent.
func (t Text) ResolveLanguages(
	ctx context.Context, _ *textv1.ResolveLanguagesRequest,
) (*textv1.ResolveLanguagesResponse, error) {
	l, err := t.Store.Languages(ctx)
	if err != nil {
		return nil, err
	}
	return &textv1.ResolveLanguagesResponse{
		DefaultLanguage: l.Default(t.Catalog), AllowedLanguages: l.Allowed(t.Catalog),
	}, nil
}
