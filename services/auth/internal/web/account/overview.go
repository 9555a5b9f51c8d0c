package account

import (
	"net/http"

	"herald/services/auth/internal/web/frame"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// overview shows the person's name and links to the other pages.
type overview struct {
	base
	DisplayName, LoginName string
	Links                  []link
	// Pending is the address of the page on which the person answers another organization that has asked to accept
	// roles. It is empty if none has.
	Pending string
}

// link is a link to an address. Its text has that key.
type link struct{ Address, Key string }

func (p *Pages) overview(w http.ResponseWriter, v visit) error {
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	if err != nil {
		return err
	}
	asked, err := p.pendingRows(v)
	o := overview{base: v.base(), LoginName: me.GetUser().GetPreferredLoginName(),
		DisplayName: me.GetUser().GetHuman().GetProfile().GetDisplayName()}
	if len(asked) > 0 {
		o.Pending = v.address("memberships")
	}
	for _, to := range []link{
		{"profile", "profile.title"},
		{"email", "email.title"},
		{"password", "changepassword.title"},
		{"otp", "otp.title"},
		{"sessions", "sessions.title"},
		{"access", "access.title"},
		{"idplinks", "idplinks.title"},
		{"tokens", "tokens.title"},
		{"memberships", "memberships.title"},
	} {
		o.Links = append(o.Links, link{v.address(to.Address), to.Key})
	}
	return p.write(w, v, frame.Page{Name: "account", Body: overviewBody, Data: o}, err)
}
