package api

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
	"herald/shared/caller"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/mail"
	"herald/shared/resource"
)

// GetMessageText sets the header content-language to the language of the texts, because the
// requested one may have none.
func (t Text) GetMessageText(
	ctx context.Context, r *textv1.GetMessageTextRequest,
) (*textv1.GetMessageTextResponse, error) {
	k, err := t.asked(ctx, r)
	if err != nil {
		return nil, err
	}
	custom, standard, err := t.texts(ctx, k)
	if err != nil {
		return nil, err
	}
	text := customText(custom.Or(standard), custom.Record, k)
	text.IsDefault = custom.IsDefault()
	return &textv1.GetMessageTextResponse{CustomText: text}, nil
}

// GetDefaultMessageText returns what GetMessageText returns for an organization without texts of
// its own.
func (t Text) GetDefaultMessageText(
	ctx context.Context, r *textv1.GetMessageTextRequest,
) (*textv1.GetMessageTextResponse, error) {
	k, err := t.asked(ctx, r)
	if err != nil {
		return nil, err
	}
	standard, err := t.Catalog.Default(k.Kind, k.Language)
	if err != nil {
		return nil, err
	}
	beginning, err := t.Store.Beginning(ctx)
	if err != nil {
		return nil, err
	}
	text := customText(standard, beginning, k)
	text.IsDefault = true
	return &textv1.GetMessageTextResponse{CustomText: text}, nil
}

// SetMessageText replaces the organization's own text.
func (t Text) SetMessageText(
	ctx context.Context, r *textv1.SetMessageTextRequest,
) (*textv1.SetMessageTextResponse, error) {
	k, err := t.written(ctx, r.Kind, r.Language)
	if err != nil {
		return nil, err
	}
	texts, err := given(r).Accept(mail.Kind(k.Kind))
	if err != nil {
		return nil, err
	}
	c, err := t.Store.SetCustom(ctx, k, func(c *domain.Custom) (proto.Message, error) {
		changed := c.Write(texts)
		if len(changed) == 0 {
			return nil, nil
		}
		return &textv1.MessageTextChanged{Kind: k.Kind, Language: k.Language, Changed: changed}, nil
	})
	if err != nil {
		return nil, err
	}
	return &textv1.SetMessageTextResponse{Details: resource.Changed(c.Record, k.OrganizationID)}, nil
}

// RemoveMessageText removes the organization's own text.
func (t Text) RemoveMessageText(
	ctx context.Context, r *textv1.RemoveMessageTextRequest,
) (*textv1.RemoveMessageTextResponse, error) {
	k, err := t.written(ctx, r.Kind, r.Language)
	if err != nil {
		return nil, err
	}
	c, err := t.Store.ResetCustom(ctx, k, func(c *domain.Custom) (proto.Message, error) {
		return &textv1.MessageTextRemoved{Kind: k.Kind, Language: k.Language}, c.Reset()
	})
	if err != nil {
		return nil, err
	}
	return &textv1.RemoveMessageTextResponse{Details: resource.Changed(c.Record, k.OrganizationID)}, nil
}

// ResolveMessageText accepts any text as the preferred language. If the text is not a language tag, the instance's
// default language is used. An organization's text that breaks a rule is not sent, and the log says so.
func (t Text) ResolveMessageText(
	ctx context.Context, r *textv1.ResolveMessageTextRequest,
) (*textv1.ResolveMessageTextResponse, error) {
	if err := domain.CheckKind(r.Kind); err != nil {
		return nil, err
	}
	l, err := t.Store.Languages(ctx)
	if err != nil {
		return nil, err
	}
	k := store.Key{OrganizationID: r.OrgId, Kind: r.Kind, Language: l.For(t.Catalog, r.PreferredLanguage)}
	custom, standard, err := t.texts(ctx, k)
	if err != nil {
		return nil, err
	}
	own, err := custom.Sendable(mail.Kind(k.Kind))
	if err != nil {
		t.Log.WarnContext(ctx, "a mail has the default text, because its own text breaks a rule: write it again",
			"org", k.OrganizationID, "kind", k.Kind, "language", k.Language, "err", err)
	}
	text := customText(own.Or(standard), custom.Record, k)
	text.IsDefault = own == domain.Texts{}
	branding, err := t.branding(ctx, r.OrgId)
	return &textv1.ResolveMessageTextResponse{CustomText: text, Language: k.Language, Branding: branding}, err
}

// asked returns the key of the texts for a request in any language: in the nearest supported one,
// else in the default. It sets the header content-language.
func (t Text) asked(ctx context.Context, r *textv1.GetMessageTextRequest) (k store.Key, err error) {
	if err := domain.CheckKind(r.Kind); err != nil {
		return k, err
	}
	language, err := t.Catalog.Supported(r.Language)
	if err != nil {
		return k, err
	}
	if language == "" {
		l, err := t.Store.Languages(ctx)
		if err != nil {
			return k, err
		}
		language = l.Default(t.Catalog)
	}
	k = store.Key{OrganizationID: caller.From(ctx).OrganizationID, Kind: r.Kind, Language: language}
	return k, grpc.SetHeader(ctx, metadata.Pairs("content-language", language))
}

// written returns the key of the texts for a request that must name a supported language.
func (t Text) written(ctx context.Context, kind, language string) (k store.Key, err error) {
	if err := domain.CheckKind(kind); err != nil {
		return k, err
	}
	tag, err := t.Catalog.Listed(language)
	return store.Key{OrganizationID: caller.From(ctx).OrganizationID, Kind: kind, Language: tag}, err
}

// texts returns an organization's own text and the default one.
func (t Text) texts(ctx context.Context, k store.Key) (custom domain.Custom, standard domain.Texts, err error) {
	if standard, err = t.Catalog.Default(k.Kind, k.Language); err == nil {
		custom, err = t.Store.Custom(ctx, k)
	}
	return custom, standard, err
}

func customText(t domain.Texts, r resource.Record, k store.Key) *textv1.CustomText {
	return &textv1.CustomText{
		Details: resource.Details(r, k.OrganizationID),
		Title:   t.Title, PreHeader: t.PreHeader, Subject: t.Subject, Greeting: t.Greeting,
		Text: t.Text, ButtonText: t.ButtonText, FooterText: t.FooterText,
	}
}

func given(r *textv1.SetMessageTextRequest) domain.Texts {
	return domain.Texts{
		Title: r.Title, PreHeader: r.PreHeader, Subject: r.Subject, Greeting: r.Greeting,
		Text: r.Text, ButtonText: r.ButtonText, FooterText: r.FooterText,
	}
}
