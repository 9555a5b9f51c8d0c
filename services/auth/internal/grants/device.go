package grants

import (
	"context"
	"errors"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth"
	"herald/shared/secret"
)

// device gives the tokens of a person's login for the code of a device that the person has let in (RFC 8628 section
// 3.4). The device asks again and again until then.
func (e *Endpoint) device(ctx context.Context, f oauth.Form, c domain.Client) (given, error) {
	text, err := f.Needed("device_code")
	if err != nil {
		return given{}, err
	}
	unknown := domain.ErrInvalidGrant.Say("the device code is unknown, or was used before")
	hash := secret.Hash(text)
	d, err := e.Store.AskedDevice(ctx, hash)
	if errors.Is(err, domain.ErrUnknown) {
		return given{}, unknown
	}
	if err != nil {
		return given{}, err
	}
	if err := d.Redeem(c.ID, e.Now()); err != nil {
		return given{}, err
	}
	a, err := e.Store.Authorization(ctx, d.AuthorizationID)
	if errors.Is(err, domain.ErrUnknown) {
		return given{}, unknown
	}
	if err != nil {
		return given{}, err
	}
	g, err := e.person(ctx, a, a.Scopes)
	if err != nil {
		return given{}, err
	}
	g.begins(c, e.Now())
	g.save = func(ctx context.Context, tokens []domain.NewToken) error {
		err := e.Store.RedeemDevice(ctx, g.Authorization, hash, tokens)
		if errors.Is(err, domain.ErrUnknown) {
			return unknown
		}
		return err
	}
	return g, nil
}
