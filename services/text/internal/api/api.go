// Package api answers the methods of herald.text.v1: languages, and the texts of
// messages as an organization sends them.
package api

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
	"herald/shared/caller"
	textv1 "herald/shared/gen/herald/text/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

type api struct {
	textv1.UnimplementedTextServer
	catalog domain.Catalog
	store   store.Store
}

// New returns the service's methods.
func New(c domain.Catalog, s store.Store) textv1.TextServer {
	return &api{catalog: c, store: s}
}

// ListLanguages answers from memory.
func (a *api) ListLanguages(context.Context, *textv1.ListLanguagesRequest) (*textv1.ListLanguagesResponse, error) {
	return &textv1.ListLanguagesResponse{Languages: a.catalog.Languages()}, nil
}

// GetMessageText names the language that it used in the header content-language, since
// the one asked for may have no texts.
func (a *api) GetMessageText(ctx context.Context, r *textv1.GetMessageTextRequest) (*textv1.GetMessageTextResponse, error) {
	language, err := a.catalog.Language(r.Language)
	if err != nil {
		return nil, err
	}
	text, err := a.text(ctx, store.Key{OrganizationID: caller.From(ctx).OrganizationID, Kind: r.Kind, Language: language})
	if err != nil {
		return nil, err
	}
	if err := grpc.SetHeader(ctx, metadata.Pairs("content-language", language)); err != nil {
		return nil, err
	}
	return &textv1.GetMessageTextResponse{CustomText: text}, nil
}

// ResolveMessageText takes any preferred language: what is none gives way to the
// instance's default.
func (a *api) ResolveMessageText(ctx context.Context, r *textv1.ResolveMessageTextRequest) (*textv1.ResolveMessageTextResponse, error) {
	language, _ := a.catalog.Language(r.PreferredLanguage)
	text, err := a.text(ctx, store.Key{OrganizationID: r.OrgId, Kind: r.Kind, Language: language})
	if err != nil {
		return nil, err
	}
	return &textv1.ResolveMessageTextResponse{CustomText: text, Language: language}, nil
}

func (a *api) text(ctx context.Context, k store.Key) (*textv1.CustomText, error) {
	standard, err := a.catalog.Default(k.Kind, k.Language)
	if err != nil {
		return nil, err
	}
	custom, err := a.store.Custom(ctx, k)
	if err != nil {
		return nil, err
	}
	t := custom.Or(standard)
	return &textv1.CustomText{
		Details: &heraldv1.ObjectDetails{
			Sequence:      uint64(custom.Sequence),
			CreationDate:  timestamppb.New(custom.CreatedAt),
			ChangeDate:    timestamppb.New(custom.ChangedAt),
			ResourceOwner: k.OrganizationID,
		},
		Title: t.Title, PreHeader: t.PreHeader, Subject: t.Subject, Greeting: t.Greeting,
		Text: t.Text, ButtonText: t.ButtonText, FooterText: t.FooterText,
		IsDefault: custom.IsDefault(),
	}, nil
}
