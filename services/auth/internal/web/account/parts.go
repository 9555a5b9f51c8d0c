package account

import (
	"net/http"
	"slices"
	"time"

	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
)

// base is the content that all pages have.
type base struct {
	// Back is the address of the page that led here.
	Back string
	// Done reports that a change was made.
	Done bool
	// Language is sent with a form.
	Language string
}

func (v visit) base() base {
	return base{Back: v.address(parent(v.page.name)), Done: v.Values.Get("done") != "", Language: v.Picked}
}

// form is a form with its fields.
type form struct {
	base
	Action string
	// Lines are shown above the fields.
	Lines  []line
	Hidden []hidden
	Fields []field
	// UserName is the login name with which a password manager keeps a new password; empty if the form has none.
	UserName string
	// Submit is the key of the text of the button.
	Submit string
}

type hidden struct{ Name, Value string }

// field is an input of a form. Label, Hint and Wrong are keys of texts; Otherwise is shown if there is no text for
// Wrong.
type field struct {
	Name, Label, Hint, Wrong, Otherwise string
	// Type is that of an input, and Autocomplete what browsers fill in (HTML section 4.10.18.7).
	Type, Autocomplete string
	Value              string
	Most               int
	Required           bool
	// If there are Options, the field is a choice.
	Options []option
	// Focus reports that the page begins with it.
	Focus bool
}

// option is a value of a choice. Key is the key of its text; if it is empty, the page shows Text.
type option struct{ Value, Key, Text string }

// line is a value, a time or both on a page. The text of Key, if there is one, stands before them. Roles are those in
// an organization or a project, which are shown by their names.
type line struct {
	Key, Text string
	At        time.Time
	Roles     []string
}

// row is an element of a list. Actions lead to pages that change it.
type row struct {
	id      string
	Title   string
	Lines   []line
	Actions []link
}

// list is a list with an action for all its elements.
type list struct {
	base
	Rows []row
	// EmptyKey is the key of the text for an empty list.
	EmptyKey  string
	Address   string
	ActionKey string
}

// writeForm writes a form. If a field is wrong, the title of the page says that there is an error.
func (p *Pages) writeForm(w http.ResponseWriter, v visit, name string, f form) error {
	f.base, f.Action = v.base(), path(v.page.name)
	shown, first := frame.Page{Name: name, Body: formBody}, 0
	for i, one := range slices.Backward(f.Fields) {
		if one.Wrong != "" {
			shown.Status, shown.Faulty, first = http.StatusBadRequest, true, i
		}
	}
	if len(f.Fields) > 0 {
		f.Fields[first].Focus = true
	}
	shown.Data = f
	return p.write(w, v, shown, nil)
}

func (p *Pages) writeList(w http.ResponseWriter, v visit, name string, l list, err error) error {
	l.base = v.base()
	return p.write(w, v, frame.Page{Name: name, Body: listBody, Data: l}, err)
}

// confirm asks before something is changed that cannot be taken back.
func (p *Pages) confirm(w http.ResponseWriter, v visit, name, submit string, about ...line) error {
	f := form{Lines: about, Submit: submit}
	for named := v.named(); len(named) > 0; named = named[2:] {
		f.Hidden = append(f.Hidden, hidden{named[0], named[1]})
	}
	return p.writeForm(w, v, name, f)
}

// asks returns a page that only asks for a confirmation.
func (p *Pages) asks(name, submit string) handler {
	return func(w http.ResponseWriter, v visit) error { return p.confirm(w, v, name, submit) }
}

// asksAbout returns a page that asks for a confirmation of an action on a row.
func (p *Pages) asksAbout(name, submit string, rows func(visit) ([]row, error)) handler {
	return func(w http.ResponseWriter, v visit) error {
		all, err := rows(v)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(r row) bool { return r.id == v.id() })
		if i < 0 {
			return fault.ErrNotFound
		}
		about := append([]line{{Text: all[i].Title}}, all[i].Lines...)
		return p.confirm(w, v, name, submit, about...)
	}
}

// failed writes the page for an error.
func (p *Pages) failed(w http.ResponseWriter, v visit, err error) {
	f := fault.From(err)
	switch {
	case f.ID == fault.ErrFreshLoginRequired.ID && v.page.fresh,
		f.Code == fault.Unauthenticated: // on other pages a login would lead back at once
		p.logIn(w, v)
	case f.Code == fault.NotFound: // the object does not exist, or it belongs to somebody else
		_ = p.write(w, v, frame.Page{Status: http.StatusNotFound, Name: "accountgone", Body: goneBody,
			Data: v.base()}, nil)
	default:
		p.Frame.Failed(w, v.Request, err, frame.Retry{Address: v.address(v.page.name), Language: v.Picked})
	}
}
