package login

import (
	"context"
	"net/http"
	"strings"

	"herald/services/auth/internal/domain"
)

// Destination is what logins of one kind are for, such as a client's request or a page of the account.
type Destination interface {
	// Request returns what the login needs, with the client that asked for it, if there is one. It returns
	// domain.ErrRequestGone if nothing waits for a login with that id.
	Request(ctx context.Context, id string) (domain.AuthRequest, domain.Client, error)
	// Finish answers the browser of a person who has logged in.
	Finish(ctx context.Context, w http.ResponseWriter, r *http.Request, id string, s domain.Session)
}

// Destinations is the table of all destinations. The parameter "request" of a login page consists of a key of the
// table, a dot and an id for that destination. A parameter without a dot is the id of a client's request. The key of
// that destination is "".
type Destinations map[string]Destination

// Request calls the destination of a parameter.
func (d Destinations) Request(ctx context.Context, request string) (domain.AuthRequest, domain.Client, error) {
	to, id := d.find(request)
	if to == nil {
		return domain.AuthRequest{}, domain.Client{}, domain.ErrRequestGone
	}
	return to.Request(ctx, id)
}

// Finish calls the destination of a parameter. Before that, Request must have found the destination.
func (d Destinations) Finish(
	ctx context.Context, w http.ResponseWriter, r *http.Request, request string, s domain.Session,
) {
	to, id := d.find(request)
	to.Finish(ctx, w, r, id, s)
}

func (d Destinations) find(request string) (to Destination, id string) {
	key, id, found := strings.Cut(request, ".")
	if !found {
		key, id = "", request
	}
	return d[key], id
}
