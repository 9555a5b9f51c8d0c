package domain_test

import (
	"errors"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/fault"
)

// The links of a new user have each account once, at providers of the organization.
func TestCheckIdpLinks(t *testing.T) {
	t.Parallel()
	at := func(idp, external string) domain.IdpLink { return domain.IdpLink{IdpID: idp, ExternalUserID: external} }
	known := map[string]string{"a": "", "b": "tenant"}
	for name, c := range map[string]struct {
		links []domain.IdpLink
		want  *fault.Fault
		path  string
	}{
		"none":          {nil, nil, ""},
		"one":           {[]domain.IdpLink{at("a", "1")}, nil, ""},
		"two accounts":  {[]domain.IdpLink{at("a", "1"), at("a", "2")}, nil, ""},
		"two providers": {[]domain.IdpLink{at("a", "1"), at("b", "1")}, nil, ""},
		"unknown":       {[]domain.IdpLink{at("a", "1"), at("c", "1")}, domain.ErrIdpUnknown, "idps[1].configId"},
		"nowhere":       {[]domain.IdpLink{at("", "1")}, domain.ErrIdpUnknown, "idps[0].configId"},
		"twice": {
			[]domain.IdpLink{at("a", "1"), at("b", "1"), at("a", "1")}, domain.ErrIdpLinkTwice, "idps[2]",
		},
		"twice in one case": {[]domain.IdpLink{at("a", "m"), at("a", "M")}, nil, ""},
	} {
		err := domain.CheckIdpLinks(c.links, known)
		if c.want == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want.ID)
		} else if fields := fault.From(err).Fields; len(fields) != 1 || fields[0].Path != c.path {
			t.Errorf("%s names %v, want %s", name, fields, c.path)
		}
	}
}
