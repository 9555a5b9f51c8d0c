package account

import (
	"context"
	"net/http"
	"strings"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
)

// Destination is the key of these pages in login.Destinations.
const Destination = "account"

// requestOf returns the parameter "request" of a login that leads back to a page. It also contains the id of the page's
// object. If that is too long, the login leads to the parent page.
func requestOf(name, id string) string {
	whole := Destination + "." + name + "." + id
	switch {
	case id == "":
		return Destination + "." + name
	case len(whole) > domain.MaxRequest:
		return Destination + "." + parent(name)
	}
	return whole
}

// Request returns what a page of the account needs of a login: a fresh one, if the page changes how the person logs in.
// It returns domain.ErrRequestGone for a page that does not exist, so that a login leads to no other address.
func (p *Pages) Request(_ context.Context, id string) (domain.AuthRequest, domain.Client, error) {
	name, _, _ := strings.Cut(id, ".")
	to, there := p.places[name]
	if !there {
		return domain.AuthRequest{}, domain.Client{}, domain.ErrRequestGone
	}
	asked := domain.AuthRequest{MaxAge: -1, CreatedAt: p.Now()}
	if to.fresh {
		asked.MaxAge = domain.FreshLogin
	}
	return asked, domain.Client{}, nil
}

// Finish leads back to the page.
func (p *Pages) Finish(ctx context.Context, w http.ResponseWriter, r *http.Request, id string, _ domain.Session) {
	name, object, _ := strings.Cut(id, ".")
	language := p.Frame.Wanted(ctx, []string{r.FormValue("lang")})
	http.Redirect(w, r, frame.Address(path(p.places[name].name), "lang", language, "id", object), http.StatusSeeOther)
}
