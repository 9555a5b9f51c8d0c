package login

import (
	"context"
	"net/http"
	"strings"

	"herald/services/auth/internal/domain"
)

// Destination is where logins of one kind lead.
type Destination interface {
	// Request returns what the login is for, with the client that asked for it, if a client did. It returns
	// domain.ErrRequestGone if nothing waits for a login with that id.
	Request(ctx context.Context, id string) (domain.AuthRequest, domain.Client, error)
	// Finish answers the browser of a person who has logged in.
	Finish(ctx context.Context, w http.ResponseWriter, r *http.Request, id string, s domain.Session)
}

// Destinations is the table of all destinations. The parameter "request" of a login page is a key of the table, a dot
// and the id at that destination. The ids of clients' requests have no dot: the key of their destination is "".
type Destinations map[string]Destination

// Request calls the destination of a parameter.
func (d Destinations) Request(ctx context.Context, request string) (domain.AuthRequest, domain.Client, error) {
	to, id := d.find(request)
	if to == nil {
		return domain.AuthRequest{}, domain.Client{}, domain.ErrRequestGone
	}
	return to.Request(ctx, id)
}

// Finish calls the destination of a parameter for which Request returned no domain.ErrRequestGone.
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
