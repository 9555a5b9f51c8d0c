package authorize_test

import (
	"strings"
	"testing"

	"herald/services/auth/internal/domain"
)

// The page that asks a person of another organization has a sentence for each scope that there is.
func TestEveryScopeIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(func() { w.access.OrgHasProject = false })
	id := w.asked(w.ask("scope", strings.Join(domain.ScopesSupported(), " ")))
	page := w.visit("GET", consentPath+"?request="+id, nil).Body.String()
	_, list, _ := strings.Cut(page, `<ul class="told">`)
	list, _, _ = strings.Cut(list, "</ul>")
	if n := strings.Count(list, "<li>"); n != len(domain.ScopesSupported()) || strings.Contains(list, "<li></li>") {
		t.Errorf("%d sentences for %d scopes: %s", n, len(domain.ScopesSupported()), list)
	}
}
