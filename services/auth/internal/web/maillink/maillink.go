// Package maillink serves the pages to which links with a code in mails lead: to activate an account, to confirm an
// e-mail address, to set a new password. Opening a link changes nothing, because mail scanners open it too; only
// posting the form does. The pages do not show whether a user exists. They name the organization and the login name
// only if the code is right.
package maillink

import (
	"embed"
	"net/http"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
)

// timeout bounds the answer of a page: a call of users may wait until a password is hashed.
const timeout = 10 * time.Second

var (
	//go:embed *.html
	files embed.FS

	formBody   = frame.Body(files, "form.html", "link.html")
	resendBody = frame.Body(files, "resend.html", "link.html")
	goneBody   = frame.Body(files, "gone.html", "link.html")
	doneBody   = frame.Body(files, "done.html")
)

// Pages serves the paths to which the links of mails lead.
type Pages struct {
	Users usersv1.InternalClient
	// Later sends the requests for mails to users.
	Later *Later
	// Posts counts the posts of a client that fail or ask for a mail.
	Posts frame.Posts
	Frame *frame.Frame
}

// Mount adds the pages' paths.
func (p Pages) Mount(mux *http.ServeMux) {
	for _, known := range mail.CodedKinds() {
		k := kind(known)
		mux.HandleFunc("GET "+k.path(), p.withLink(k, p.open))
		mux.HandleFunc("POST "+k.path(), p.Posts.Limited(p.withLink(k, p.complete)))
		mux.HandleFunc("POST "+k.resendPath(), p.Posts.Limited(p.withLink(k, p.resend)))
	}
}

// request is a request for a page: the values of the link or, on a post, of the form.
type request struct {
	frame.Visit
	kind
	link
	// holder is the user whose code it is; nil before the code was checked.
	holder *usersv1.CodeHolder
}

// of returns the request for pages with the branding of the organization in the link, if the code is right. Otherwise
// the pages have Herald's own branding, because anybody can make a link with any organization.
func (r request) of(holder *usersv1.CodeHolder) request {
	if r.holder = holder; holder != nil {
		r.Request = frame.Branded(r.Request, r.OrgID)
	}
	return r
}

// in returns the address of the form in another language.
func (r request) in(tag string) string {
	l := r.link
	l.Language = tag
	return l.address(r.path())
}

func (p Pages) withLink(k kind, next func(http.ResponseWriter, request)) http.HandlerFunc {
	return p.Frame.Visited(timeout, func(w http.ResponseWriter, v frame.Visit) {
		l, ok := readLink(v.Values)
		if !ok {
			p.Frame.Malformed(w, v.Request)
			return
		}
		next(w, request{Visit: v, kind: k, link: l})
	})
}

// open writes the form, in the mail's language until the reader picks another. It checks the code first, so that before
// choosing a password a person sees whose code it is, or that it was used or has expired. A user who does not exist is
// answered like a wrong code.
func (p Pages) open(w http.ResponseWriter, r request) {
	checked, err := p.check(r)
	if r = r.of(checked.GetHolder()); r.holder != nil && r.Language == "" {
		r.Language = p.Frame.Mailed(r.Context(), r.holder.PreferredLanguage)
	}
	switch {
	case err != nil:
		p.refused(w, r, err)
	case checked.Expired:
		p.offerMail(w, r, http.StatusBadRequest, "expired")
	case r.Code != "" && r.holder == nil: // the person did not type the code
		p.write(w, r, frame.Page{Status: http.StatusBadRequest, Name: "linkgone", Body: goneBody, InLanguage: r.in,
			Data: gone{form: form{link: r.link, ResendPath: r.resendPath()},
				Next: frame.Address(domain.BackPath, "lang", r.Language)}})
	default:
		p.form(w, r, http.StatusOK, frame.Wrong{})
	}
}

func (p Pages) check(r request) (*usersv1.CheckCodeResponse, error) {
	return p.Users.CheckCode(r.Context(), &usersv1.CheckCodeRequest{
		Kind: string(r.kind), UserId: r.UserID, Code: r.Code,
	})
}

func (p Pages) complete(w http.ResponseWriter, r request) {
	if faulty := r.mistake(); faulty != (frame.Wrong{}) {
		p.again(w, r, http.StatusBadRequest, faulty)
		return
	}
	asked := &usersv1.CompleteCodeRequest{Kind: string(r.kind), UserId: r.UserID, Code: r.Code}
	if r.asksPassword(r.link) { // a password is ignored if the form did not ask for one
		asked.Password = r.Values.Get("password")
	}
	done, err := p.Users.CompleteCode(r.Context(), asked)
	if err != nil {
		p.refused(w, r, err)
		return
	}
	p.Posts.Return(r.RemoteAddr)
	r.Request = frame.Branded(r.Request, r.OrgID)
	p.write(w, r, frame.Page{Name: r.text("done"), Body: doneBody,
		Data: map[string]string{"LoginName": done.LoginName, "Next": r.next()}})
}

// next returns the address of the next page after the code was used.
func (r request) next() string {
	activated := ""
	if mail.Kind(r.kind) == mail.Init {
		activated = "true"
	}
	return frame.Address(domain.BackPath, "lang", r.Language, "new", activated)
}

// mistake returns the wrong field of a form.
func (r request) mistake() (faulty frame.Wrong) {
	switch {
	case r.Code == "":
		return frame.Wrong{Field: "code", Key: "CODE_REQUIRED"}
	case r.asksPassword(r.link):
		_, faulty = r.NewPassword()
	}
	return faulty
}

// resend asks for a new mail. The page and its time are the same for a user who does not exist.
func (p Pages) resend(w http.ResponseWriter, r request) {
	if !p.Later.Ask(mail.Kind(r.kind), r.UserID, r.RemoteAddr) {
		p.refused(w, r, fault.ErrOverloaded.After(time.Second))
		return
	}
	p.write(w, r, frame.Page{Name: r.text("resent"), Body: frame.NoticeBody, Data: ""})
}
