package login

import (
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/login/federated"
)

var unlinkedBody = frame.Body(files, "unlinked.html")

// unlinked is the content of the page for an account that is linked to no user, with two links.
type unlinked struct{ Link, Back string }

// askUnlinked explains how to link an account that is not linked. The person must log in with their password, because
// neither the account nor its e-mail address proves which user they are.
func (p Pages) askUnlinked(w http.ResponseWriter, v *visit, a federated.Arrived) {
	p.write(w, v, Path, frame.Page{Status: http.StatusForbidden, Name: "externalunlinked", Body: unlinkedBody,
		Data: unlinked{Link: p.toLink(w, v, a), Back: v.address(Path)}})
}

// toLink returns the address of the page that links an account of the provider. It also stores the client's request in
// the browser, so that link leads back to it.
func (p Pages) toLink(w http.ResponseWriter, v *visit, a federated.Arrived) string {
	p.keepRequest(w, v)
	return frame.Address(domain.LinkPath, "lang", v.Picked, "id", a.IdpID)
}

// link links the account with which a browser came back to its person, and continues with the client's request, if
// there is one.
func (p Pages) link(w http.ResponseWriter, v *visit, a federated.Arrived) error {
	s, _, err := p.Sessions.Session(v.Request)
	if err == nil {
		err = p.Federated.Link(v.Context(), a, s)
	}
	if err != nil {
		return p.refuse(w, v, a, err)
	}
	if v.ID = p.waiting(v); v.ID != "" {
		redirect(w, v, v.address(Path))
		return nil
	}
	redirect(w, v, v.address(domain.LinksPath, "done", "true"))
	return nil
}
