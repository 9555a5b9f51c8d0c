// Package mailpages serves the pages behind the links in mails that carry a code: the one that
// activates an account, the one that confirms an e-mail address, the one that sets a new
// password. Opening a link changes nothing, as mail scanners do it too; posting its form
// does. The pages tell nobody whether a user exists: only a code that was right opens
// more than the form.
package mailpages

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"herald/services/auth/internal/look"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailkind"
)

// patience bounds the calls to users, where hashing a password may have to wait in a queue.
const patience = 10 * time.Second

var (
	//go:embed *.html
	files embed.FS

	formBody   = look.Body(files, "form.html", "link.html")
	resendBody = look.Body(files, "resend.html", "link.html")
	doneBody   = look.Body(files, "done.html")
)

// Pages serves the paths to which the links of mails lead.
type Pages struct {
	Users usersv1.UsersClient
	Look  *look.Look
	Log   *slog.Logger
}

// Mount adds the pages' paths.
func (p Pages) Mount(mux *http.ServeMux) {
	for _, known := range mailkind.All() {
		k := kind(known)
		mux.HandleFunc("GET "+k.path(), p.withLink(k, p.open))
		mux.HandleFunc("POST "+k.path(), p.withLink(k, p.complete))
		mux.HandleFunc("POST "+k.resendPath(), p.withLink(k, p.resend))
	}
}

// request is what a page answers: the link, and on a post the form.
type request struct {
	*http.Request
	kind
	link
	password, confirmation string
}

func (p Pages) withLink(k kind, next func(http.ResponseWriter, request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		values, err := parse(r)
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			p.Look.Notice(w, r, http.StatusRequestEntityTooLarge, "malformed", "")
			return
		}
		l, ok := readLink(values)
		if err != nil || !ok {
			p.Look.Notice(w, r, http.StatusBadRequest, "malformed", "")
			return
		}
		next(w, request{r.WithContext(ctx), k, l, values.Get("password"), values.Get("confirmation")})
	}
}

// parse reads the query of a link and the body of a form, never both: a password has no
// place in an address.
func parse(r *http.Request) (url.Values, error) {
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost {
		return r.PostForm, nil
	}
	return r.Form, nil
}

// open shows the form. It asks users about the code first, as one that has expired is
// better said before somebody thinks of a password.
func (p Pages) open(w http.ResponseWriter, r request) {
	checked, err := p.Users.CheckCode(r.Context(), &usersv1.CheckCodeRequest{
		Kind: string(r.kind), UserId: r.UserID, Code: r.Code,
	})
	switch {
	case err != nil:
		p.refused(w, r, err)
	case checked.Expired:
		p.offerMail(w, r, http.StatusBadRequest, "expired")
	default:
		p.form(w, r, http.StatusOK, wrong{})
	}
}

func (p Pages) complete(w http.ResponseWriter, r request) {
	if faulty := r.mistake(); faulty != (wrong{}) {
		p.form(w, r, http.StatusBadRequest, faulty)
		return
	}
	asked := &usersv1.CompleteCodeRequest{Kind: string(r.kind), UserId: r.UserID, Code: r.Code}
	if r.asksPassword(r.link) { // one that no form of ours asked for goes nowhere
		asked.Password = r.password
	}
	done, err := p.Users.CompleteCode(r.Context(), asked)
	if err != nil {
		p.refused(w, r, err)
		return
	}
	p.Look.Write(w, r.Request, look.Page{
		Status: http.StatusOK, Name: r.text("done"), Body: doneBody, Data: done.LoginName,
	})
}

// mistake returns what is wrong with the form itself. Finding it costs no try of the code.
func (r request) mistake() wrong {
	switch {
	case r.Code == "":
		return wrong{Field: "code", Key: "CODE_REQUIRED"}
	case !r.asksPassword(r.link):
		return wrong{}
	case r.password == "":
		return wrong{Field: "password", Key: passwordRequired}
	case !utf8.ValidString(r.password):
		return wrong{Field: "password", Key: "PASSWORD_NOT_TEXT"}
	case r.password != r.confirmation:
		return wrong{Field: "confirmation", Key: "PASSWORD_MISMATCH"}
	}
	return wrong{}
}

// resend asks for a new mail. The page is the same whether the user exists or not.
func (p Pages) resend(w http.ResponseWriter, r request) {
	if _, err := p.Users.RequestCode(r.Context(), &usersv1.RequestCodeRequest{Kind: string(r.kind),
		UserId: r.UserID}); err != nil {
		p.refused(w, r, err)
		return
	}
	p.Look.Notice(w, r.Request, http.StatusOK, r.text("resent"), "")
}
