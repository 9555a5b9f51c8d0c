package frame

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"herald/services/auth/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

// maxTag is how many bytes the tag of a language has at most.
const maxTag = 35

// Visit is a request of a browser for a page.
type Visit struct {
	*http.Request
	// Values are the values of the form for a POST, and the values of the address for any other request. They are never
	// mixed, because a password must not be in an address.
	Values url.Values
	// Picked is the language that the values name. It is empty if they name none in which pages are written.
	Picked string
}

// Visited returns a handler that reads a request, bounds the time for its answer, and calls next. A request that cannot
// be read is answered with a page.
func (f *Frame) Visited(timeout time.Duration, next func(http.ResponseWriter, Visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		v := Visit{Request: r.WithContext(ctx)}
		err := v.ParseForm()
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			f.Notice(w, r, http.StatusRequestEntityTooLarge, "malformed", "")
			return
		}
		if err != nil {
			f.Malformed(w, r)
			return
		}
		if v.Values = v.Form; r.Method == http.MethodPost {
			v.Values = v.PostForm
		}
		if tag := v.Text("lang", maxTag); tag != "" {
			v.Picked = f.Wanted(ctx, []string{tag})
		}
		next(w, v)
	}
}

// Malformed writes the page for a request with values that no page of Herald sends.
func (f *Frame) Malformed(w http.ResponseWriter, r *http.Request) {
	f.Notice(w, r, http.StatusBadRequest, "malformed", "")
}

// Text returns a value. It returns "" for one that has more bytes than most, or that is not plain text.
func (v Visit) Text(name string, most int) string {
	value := v.Values.Get(name)
	if len(value) > most || !domain.Plain(value) {
		return ""
	}
	return value
}

// Wrong is a field of a form with a value that must be corrected.
type Wrong struct {
	Field string
	// Key is the key of the text that says why. Otherwise is shown if there is no such text.
	Key, Otherwise string
}

// NewPassword returns the new password of a form that has it twice, and what is wrong with it.
func (v Visit) NewPassword() (typed string, faulty Wrong) {
	switch typed = v.Values.Get("password"); {
	case typed == "":
		faulty = Wrong{Field: "password", Key: usersfault.ErrPasswordRequired.ID}
	case !utf8.ValidString(typed):
		faulty = Wrong{Field: "password", Key: usersfault.ErrPasswordNotText.ID}
	case typed != v.Values.Get("confirmation"):
		faulty = Wrong{Field: "confirmation", Key: "PASSWORD_MISMATCH"}
	}
	return typed, faulty
}

// WrongCode returns the key of the text for the fault of a code. It returns "" for another error.
func WrongCode(err error) string {
	switch id := fault.From(err).ID; id {
	case usersfault.ErrCodeWrong.ID:
		return id
	case usersfault.ErrCodeExpired.ID:
		return "expired.title"
	case usersfault.ErrCodeLocked.ID:
		return "locked.text"
	}
	return ""
}

// Address returns the address of a page. The parameters are names and values in turn; empty values are left out.
func Address(path string, parameters ...string) string {
	query := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			query.Set(parameters[i], parameters[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}
