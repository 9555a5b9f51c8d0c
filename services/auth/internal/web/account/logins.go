package account

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"herald/services/auth/internal/domain"
)

// request begins the ids of logins for a page of the account: those of clients have no dot.
const request = "account."

// requestOf returns the id of a login that leads back to a page, and to what the page is about if that fits in.
func requestOf(name, id string) string {
	whole := request + name + "." + id
	switch {
	case id == "":
		return request + name
	case len(whole) > domain.MaxRequest:
		return request + parent(name)
	}
	return whole
}

// Logins is the logins for pages of the account and others, for the login pages.
type Logins struct {
	Others interface {
		Request(ctx context.Context, id string) (domain.AuthRequest, domain.Client, error)
		Finish(ctx context.Context, w http.ResponseWriter, r *http.Request, id string, s domain.Session)
	}
	Pages *Pages
}

// Request returns what a page of the account needs of a login: one that is fresh, if it changes how the person logs in.
// It returns domain.ErrRequestGone for a page that is not there. A browser is led to one of these pages and nowhere
// else.
func (l Logins) Request(ctx context.Context, id string) (domain.AuthRequest, domain.Client, error) {
	rest, ok := strings.CutPrefix(id, request)
	if !ok {
		return l.Others.Request(ctx, id)
	}
	name, _, _ := strings.Cut(rest, ".")
	to, there := l.Pages.places[name]
	if !there {
		return domain.AuthRequest{}, domain.Client{}, domain.ErrRequestGone
	}
	asked := domain.AuthRequest{ID: id, MaxAge: -1, CreatedAt: l.Pages.Now()}
	if to.fresh {
		asked.MaxAge = domain.FreshLogin
	}
	return asked, domain.Client{}, nil
}

// Finish goes on after a login.
func (l Logins) Finish(ctx context.Context, w http.ResponseWriter, r *http.Request, id string, s domain.Session) {
	rest, ok := strings.CutPrefix(id, request)
	if !ok {
		l.Others.Finish(ctx, w, r, id, s)
		return
	}
	name, object, _ := strings.Cut(rest, ".")
	to := l.Pages.places[name]
	v := visit{Request: r, Language: l.Pages.Frame.Wanted(ctx, []string{r.FormValue("lang")}), values: url.Values{}}
	if object == "" {
		http.Redirect(w, r, v.address(to.name), http.StatusSeeOther)
		return
	}
	http.Redirect(w, r, v.address(to.name, "id", object), http.StatusSeeOther)
}
