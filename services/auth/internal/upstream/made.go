package upstream

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"herald/services/auth/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// SetMade sets what each of these applications made in the name of a person. The clients call as that person.
func SetMade(
	ctx context.Context, credentials usersv1.CredentialsClient, factors usersv1.FactorsClient,
	apps []domain.AuthorizedApp,
) error {
	var (
		g      errgroup.Group
		tokens *usersv1.SearchPersonalAccessTokensResponse
		otps   *usersv1.SearchAuthFactorsResponse
	)
	g.Go(func() (err error) {
		tokens, err = credentials.SearchMyPersonalAccessTokens(ctx, &usersv1.SearchMyPersonalAccessTokensRequest{})
		return err
	})
	g.Go(func() (err error) {
		otps, err = factors.SearchMyAuthFactors(ctx, &usersv1.SearchMyAuthFactorsRequest{})
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range apps {
		app := &apps[i]
		for _, t := range tokens.Result {
			if t.ClientId == app.ClientID {
				app.Made = append(app.Made, domain.MadeByApp{
					TokenID: t.Id, Name: t.Name, At: t.Details.GetCreationDate().AsTime(),
				})
			}
		}
		for _, f := range otps.Result {
			if slices.Contains(f.ClientIds, app.ClientID) {
				app.Made = append(app.Made, domain.MadeByApp{
					Prepared: f.State != usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY,
					At:       f.Details.GetCreationDate().AsTime(),
				})
			}
		}
		slices.SortFunc(app.Made, func(a, b domain.MadeByApp) int { return b.At.Compare(a.At) })
	}
	return nil
}
