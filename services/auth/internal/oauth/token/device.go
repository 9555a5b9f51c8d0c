package token

import (
	"context"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
	"herald/shared/secret"
)

const deviceUnknown = "the device code is unknown, or was used before"

// device gives the tokens of a person's login for the code of a device, after the person has let the device in (RFC
// 8628 section 3.4). Until then the device repeats its request.
func (e *Endpoint) device(ctx context.Context, f protocol.Form, c domain.Client) (granted, error) {
	text, err := f.Needed("device_code")
	if err != nil {
		return granted{}, err
	}
	hash := secret.Hash(text)
	d, err := e.Store.AskedDevice(ctx, hash)
	if err != nil {
		return granted{}, unknown(err, deviceUnknown)
	}
	if err := d.Redeem(c.ID, e.Now()); err != nil {
		return granted{}, err
	}
	a, err := e.Store.Authorization(ctx, d.AuthorizationID)
	if err != nil {
		return granted{}, unknown(err, deviceUnknown)
	}
	scopes, err := narrowed(f, a, a.Scopes, "")
	if err != nil {
		return granted{}, err
	}
	g, err := e.person(ctx, a, scopes)
	if err != nil {
		return granted{}, err
	}
	g.begins(c, e.Now())
	g.save = func(ctx context.Context, tokens []domain.NewToken) error {
		return unknown(e.Store.RedeemDevice(ctx, g.Authorization, hash, tokens), deviceUnknown)
	}
	return g, nil
}
