package federated

import (
	"context"
	"sync"
	"time"

	idpv1 "herald/shared/gen/herald/idp/v1"
)

const (
	// offered is the greatest age of a cached list of providers, so that not every page asks the service idp.
	offered = 2 * time.Second
	// mostOffers is how many organizations' lists are cached.
	mostOffers = 10_000
)

// offers caches the providers that login pages offer.
type offers struct {
	mu  sync.Mutex
	all map[string]offer
}

// Offer is a provider as the login page shows it.
type Offer struct {
	ID, Name string
	// Linking reports that people may link accounts of the provider.
	Linking bool
}

type offer struct {
	idps   []Offer
	readAt time.Time
}

// Names returns the names of providers of an organization by their ids, also of those that are not offered.
func (l *Logins) Names(ctx context.Context, orgID string, ids []string) (map[string]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := l.Idps.ResolveIdps(ctx, &idpv1.ResolveIdpsRequest{OrgId: orgID, IdpIds: ids})
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, i := range found.Idps {
		names[i.Id] = i.Name
	}
	return names, nil
}

// Offered returns the providers that the login page of an organization offers. It returns none for no organization.
func (l *Logins) Offered(ctx context.Context, orgID string) ([]Offer, error) {
	if orgID == "" {
		return nil, nil
	}
	l.offers.mu.Lock()
	o, there := l.offers.all[orgID]
	l.offers.mu.Unlock()
	if there && l.Now().Sub(o.readAt) < offered {
		return o.idps, nil
	}
	found, err := l.Idps.ListOfferedIdps(ctx, &idpv1.ListOfferedIdpsRequest{OrgId: orgID})
	if err != nil {
		return nil, err
	}
	l.offers.mu.Lock()
	defer l.offers.mu.Unlock()
	if l.offers.all == nil || len(l.offers.all) >= mostOffers {
		l.offers.all = map[string]offer{}
	}
	o = offer{readAt: l.Now()}
	for _, i := range found.Idps {
		o.idps = append(o.idps, Offer{i.Id, i.Name, i.IsLinkingAllowed})
	}
	l.offers.all[orgID] = o
	return o.idps, nil
}
